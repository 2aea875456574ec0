import { expect, test } from 'vitest'
import { entryOf } from '../../../../src/inspector/page/model/activity-log.js'
import { type AxisItem, callItem, inOrder } from '../../../../src/inspector/page/model/axis.js'
import { exchangeOf, requestEntry, requestLine } from './activity-samples.js'

const itemAt = (at: string): AxisItem => ({ at, lane: 'platform', title: at })

test('rows are sorted by time, with the time since the previous one in words', () => {
  const times = ['2026-11-30T10:00:00.000Z', '2026-11-01T10:00:00.000Z', '2026-11-01T10:00:00.400Z']
  expect(inOrder(times.map((it) => [itemAt(it)])).map(({ at, gap }) => [at, gap])).toEqual([
    ['2026-11-01T10:00:00.000Z', ''],
    ['2026-11-01T10:00:00.400Z', ''],
    ['2026-11-30T10:00:00.000Z', '(29 d later)'],
  ])
})

test('row has the time of its first item', () => {
  const row = [itemAt('2026-11-01T10:00:00.000Z'), itemAt('2026-11-02T10:00:00.000Z')]
  expect(inOrder([row])).toEqual([{ at: row[0]?.at, row, gap: '' }])
})

test('call of the log has its code, its duration and what was captured', () => {
  const refused = requestEntry({ status: 409, code: 'VOUCHER_EXPIRED' })
  expect(callItem(refused)).toMatchObject({ tone: 'bad', status: 409, note: 'VOUCHER_EXPIRED 2.0 ms', messages: [] })
  const captured = callItem(entryOf(requestLine({}, exchangeOf('{}'))))
  expect([captured.tone, captured.messages?.map((it) => it.title)]).toEqual(['good', ['Request', 'Response']])
})
