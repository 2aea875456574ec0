import { expect, test } from 'vitest'
import type { VoucherHistory } from '../../../../src/contract/platform/voucher-history.js'
import { voucherRows } from '../../../../src/inspector/page/model/voucher-rows.js'

const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}T10:00:00.000Z`

const historyOf = (status: string, events: object[], validFrom = day(1)) =>
  ({
    voucher: { status, validFrom, validUntil: day(30) },
    events: events.map((it) => ({ updates: [], reason: null, message: null, ...it })),
    now: day(5),
  }) as unknown as VoucherHistory

const titlesOf = (history: VoucherHistory) => voucherRows(history).map((row) => row.map((it) => it.title))

const issued = { type: 'issued', at: day(1), endpoint: 'vouchers.issue' }

test('rows of an issued voucher end with a future expiry', () => {
  const rows = voucherRows(historyOf('issued', [issued]))
  expect(rows.map(([it]) => [it?.title, it?.at, it?.isFuture])).toEqual([
    ['Issued', day(1), undefined],
    ['Expires', day(30), true],
  ])
})

test('rows of a future voucher show its start before its expiry', () => {
  expect(titlesOf(historyOf('issued', [issued], day(7)))).toEqual([['Issued'], ['Becomes valid'], ['Expires']])
})

test('rows of a redeemed or expired voucher have no future event', () => {
  const redeemed = { type: 'redeemed', at: day(2), endpoint: 'vouchers.redeem' }
  expect(titlesOf(historyOf('redeemed', [issued, redeemed]))).toEqual([['Issued'], ['Redeemed']])
  const expired = { type: 'expired', at: day(4), endpoint: null }
  const rows = voucherRows(historyOf('expired', [issued, expired], day(7)))
  expect(rows.map(([it]) => [it?.title, it?.lane])).toEqual([
    ['Issued', 'call'],
    ['Expired', 'platform'],
  ])
})

test('note of an event names its endpoint, its result and the operator', () => {
  const events = [
    { type: 'verified', at: day(1), endpoint: 'vouchers.verify' },
    { type: 'verified', at: day(1), endpoint: 'vouchers.verify', reason: 'already_redeemed' },
    { type: 'reversed', at: day(1), endpoint: 'vouchers.reverse', reason: 'wrong article', by_operator: true },
  ]
  expect(voucherRows(historyOf('redeemed', events)).map(([it]) => it?.note)).toEqual([
    'vouchers.verify, redeemable',
    'vouchers.verify, already redeemed',
    'vouchers.reverse, wrong article, by the operator',
  ])
})

test('event shares its row with the first update that it caused, polled or delivered', () => {
  const delivery = { id: 'dlv_1', update_id: 8, update_type: 'voucher_issued', created_at: day(1), attempts: [] }
  const updates = [
    { update_id: 7, type: 'voucher_issued', bot_id: 'bot_shop', pending: true, delivery: null },
    { delivery: { ...delivery, status: 'pending', next_attempt_at: null } },
  ]
  const [first, second] = voucherRows(historyOf('redeemed', [{ ...issued, updates }]))
  expect(first?.map((it) => [it.lane, it.title, it.note])).toEqual([
    ['call', 'Issued', 'vouchers.issue'],
    ['platform', 'Update 7 voucher_issued', 'not polled yet, bot_shop'],
  ])
  expect(second).toMatchObject([{ lane: 'platform', title: 'Update 8 voucher_issued', id: 'dlv_1', state: 'pending' }])
})
