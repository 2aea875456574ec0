import { expect, test } from 'vitest'
import type { VoucherHistory } from '../../../../src/contract/platform/voucher-history.js'
import { lifeOf } from '../../../../src/inspector/page/model/voucher-life.js'

const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}T10:00:00.000Z`

const historyOf = (status: string, events: object[], validFrom = day(1)) =>
  ({
    voucher: { status, validFrom, validUntil: day(30) },
    events,
    now: day(5),
  }) as unknown as VoucherHistory

const issued = { type: 'issued', at: day(1), endpoint: 'vouchers.issue', reason: null }

test('timeline of an issued voucher ends with a future expiry', () => {
  const life = lifeOf(historyOf('issued', [issued]))
  expect(life.map(({ title, at, event }) => [title, at, event !== null])).toEqual([
    ['Issued', day(1), true],
    ['Expires', day(30), false],
  ])
})

test('timeline of a future voucher shows its start before its expiry', () => {
  const life = lifeOf(historyOf('issued', [issued], day(7)))
  expect(life.map((it) => it.title)).toEqual(['Issued', 'Becomes valid', 'Expires'])
})

test('timeline of a redeemed or expired voucher has no future event', () => {
  const redeemed = { type: 'redeemed', at: day(2), endpoint: 'vouchers.redeem', reason: null }
  expect(lifeOf(historyOf('redeemed', [issued, redeemed])).map((it) => it.title)).toEqual(['Issued', 'Redeemed'])
  expect(lifeOf(historyOf('expired', [issued], day(7))).map((it) => it.title)).toEqual(['Issued'])
})

test('titles of events name the result of a verification and the endpoint of a replay', () => {
  const events = [
    { type: 'verified', at: day(1), endpoint: 'vouchers.verify', reason: null },
    { type: 'verified', at: day(1), endpoint: 'vouchers.verify', reason: 'already_redeemed' },
    { type: 'replayed', at: day(1), endpoint: 'vouchers.redeem', reason: null },
  ]
  expect(lifeOf(historyOf('redeemed', events)).map((it) => it.title)).toEqual([
    'Verified: redeemable',
    'Verified: already redeemed',
    'Replayed: vouchers.redeem',
  ])
})

test('gap of an event is the time since the previous one, and empty within a second', () => {
  const soon = { type: 'replayed', at: '2026-11-01T10:00:00.400Z', endpoint: 'vouchers.issue', reason: null }
  expect(lifeOf(historyOf('issued', [issued, soon])).map((it) => it.gap)).toEqual(['', '', '(29 d later)'])
})
