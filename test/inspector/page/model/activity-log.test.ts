import { expect, test } from 'vitest'
import { ActivityLog, BODIES_MAX, ENTRIES_MAX } from '../../../../src/inspector/page/model/activity-log.js'
import { deliveryLine, exchangeOf, requestLine } from './activity-samples.js'

test('activity log lists a request once although a new connection sends it again', () => {
  const log = new ActivityLog()
  for (const line of [requestLine(), deliveryLine(), requestLine(), deliveryLine()]) log.add(line)
  expect(log.entries.map((it) => it.id)).toEqual(['req_1', 'dlv_1'])
})

test('activity log lists each attempt and each replay of a delivery', () => {
  const log = new ActivityLog()
  log.add(deliveryLine())
  log.add(deliveryLine({ attempt: 2, at: '2026-11-21T10:01:01.000Z' }))
  log.add(deliveryLine({ attempt: null, replay: true, at: '2026-11-21T10:02:01.000Z' }))
  expect(log.entries.map((it) => it.replayed)).toEqual([false, false, true])
})

test('activity log drops the oldest entries beyond its limit and finds the others', () => {
  const log = new ActivityLog()
  for (let n = 0; n < ENTRIES_MAX * 1.2; n++) log.add(requestLine({ request_id: `req_${n}` }))
  expect(log.entries.length).toBeGreaterThanOrEqual(ENTRIES_MAX)
  expect(log.entries.length).toBeLessThanOrEqual(ENTRIES_MAX * 1.1)
  expect([log.request('req_0'), log.request(`req_${ENTRIES_MAX * 1.2 - 1}`)?.status]).toEqual([undefined, 200])
})

test('activity log drops the oldest bodies beyond its limit and keeps their headers', () => {
  const log = new ActivityLog()
  const exchange = exchangeOf('{}', { headers: [['x', 'y']], body: 'A'.repeat(BODIES_MAX / 2) })
  for (const id of ['req_1', 'req_2', 'req_3']) log.add(requestLine({ request_id: id }, exchange))
  const bodies = log.entries.map((it) => it.line.exchange?.request.body === null)
  expect(bodies).toEqual([true, false, false])
  expect(log.request('req_1')?.line.exchange?.request.headers).toEqual([['x', 'y']])
})

test.each(['reset', 'restore'] as const)('activity log counts omitted lines, and is empty after a %s', (what) => {
  const log = new ActivityLog()
  log.add(requestLine())
  log.add({ seq: 3, kind: 'omitted', count: 5 })
  log.add({ seq: 4, kind: 'omitted', count: 2 })
  expect([log.entries.length, log.omitted]).toEqual([1, 7])
  log.add({ seq: 5, kind: 'state', what, at: '2026-11-21T10:00:00.000Z' })
  expect([log.entries.length, log.omitted, log.request('req_1')]).toEqual([0, 0, undefined])
})

test('activity log has the planted fault of a request and of a delivery', () => {
  const log = new ActivityLog()
  for (const line of [requestLine({ fault: 'hold' }), deliveryLine({ fault: 'forged' })]) log.add(line)
  log.add(deliveryLine({ attempt: 2 }))
  expect(log.entries.map((it) => it.fault)).toEqual(['hold', 'forged', undefined])
})
