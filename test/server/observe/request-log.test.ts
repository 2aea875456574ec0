import { expect, it } from 'vitest'
import type { RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { entryOf, RequestLog } from '../../../src/server/observe/request-log.js'

const KEPT = 1_000

const entry = (second: number): RequestLogEntry => ({
  time: new Date(second * 1_000).toISOString(),
  request_id: `req_${second}`,
  endpoint: 'vouchers.verify',
  method: 'POST',
  path: '/',
  status: 200,
  code: null,
  application_id: 'app_1',
  voucher_id: 'vch_1',
  replayed: false,
  duration_ms: 1,
})
const call = { voucherId: 'vch_1', idempotencyKey: null, calledBy: 'tok_1', botId: null, reason: null }

it('log entry has application, voucher, account, bot and fault, and no address', { tags: 'request-log/1' }, () => {
  const caller = { kind: 'jwt', accountId: 'acme', applicationId: 'app_1' }
  const route = { endpoint: { id: 'vouchers.verify', path: '/' } } as const
  const ended = { id: 'req_1', method: 'POST', route, caller, failureCode: null, voucher: call, replayed: false }
  const logged = entryOf({ ...ended, botId: 'bot_1', fault: 'error', startedAt: 0 }, 200, 1_000)
  const expected = { ...entry(1), account_id: 'acme', bot_id: 'bot_1', fault: 'error' }
  expect(logged).toEqual({ ...expected, duration_ms: expect.any(Number) })
})

it('request log begins at the start or, once full, with its oldest request', { tags: 'voucher-history/2' }, () => {
  const log = new RequestLog(0)
  for (let second = 1; second <= KEPT; second++) log.add(entry(second))
  expect(log.since(0)).toBe('1970-01-01T00:00:00.000Z')
  for (let second = KEPT + 1; second <= 2 * KEPT; second++) {
    log.add(entry(second))
    expect(log.since(0)).toBe(new Date((second - KEPT + 1) * 1_000).toISOString())
  }
})

it('request log that was cleared begins with its next request', () => {
  const log = new RequestLog(0)
  log.add(entry(1), call)
  log.clear()
  expect([log.since(2_000), log.ofVoucher('vch_1')]).toEqual([entry(2).time, []])
  log.add(entry(3), call)
  expect(log.since(4_000)).toBe(entry(3).time)
})

it('request log finds calls of a voucher among its latest', { tags: ['request-log/1', 'voucher-history/2'] }, () => {
  const log = new RequestLog(0)
  log.add(entry(1), call)
  log.add(entry(2), { ...call, voucherId: 'vch_2' })
  log.add(entry(3), call)
  expect(log.ofVoucher('vch_1').map((it) => it.entry.request_id)).toEqual(['req_1', 'req_3'])
  for (let second = 4; second <= KEPT + 2; second++) log.add(entry(second))
  expect(log.ofVoucher('vch_1').map((it) => it.entry.request_id)).toEqual(['req_3'])
})

it('request log ends the stream of a follower that comes after its close', async () => {
  const log = new RequestLog(0)
  log.add(entry(1))
  log.close()
  const chunks = await log.stream(true).toArray()
  expect(chunks.join('')).toBe(`${JSON.stringify(entry(1))}\n`)
})
