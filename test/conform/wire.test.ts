import { expect, onTestFinished, test, vi } from 'vitest'
import type { TransportRequest, TransportResponse } from '../../src/client/transport.js'
import { NotReachable } from '../../src/conform/result.js'
import { Wire } from '../../src/conform/wire.js'
import { rawServer } from '../support/listen.js'

const OK: TransportResponse = { status: 200, headers: {}, body: '{}' }
const call = { method: 'GET', path: '/api/v1/open-platform/vouchers/templates', headers: {} }

const failed = (status: number, headers: Readonly<Record<string, string>> = {}): TransportResponse => ({
  ...OK,
  status,
  headers,
})

/** A wire with a clock that only pauses move, over a server with these responses, the last one for all more calls. */
function wireOver(responses: readonly TransportResponse[], { rate = 1_000, maxWaitMs = 10_000 } = {}) {
  let nowMs = 0
  const sentAt: number[] = []
  const requests: TransportRequest[] = []
  const aborting = new AbortController()
  const wire = new Wire({
    baseUrl: 'http://127.0.0.1:1',
    async plain(request) {
      sentAt.push(nowMs)
      requests.push(request)
      return responses[Math.min(sentAt.length, responses.length) - 1] ?? OK
    },
    rate,
    maxWaitMs,
    signal: aborting.signal,
    async pause(ms) {
      nowMs += ms
    },
    now: () => nowMs,
  })
  return { wire, sentAt, requests, interrupt: () => aborting.abort() }
}

test('wire sends calls at the rate that the user allows', async () => {
  const { wire, sentAt } = wireOver([OK], { rate: 10 })
  for (let n = 0; n < 4; n += 1) await wire.send(call)
  expect(sentAt).toEqual([0, 100, 200, 300])
})

test.each([
  ['429 once, after the time of Retry-After', failed(429, { 'retry-after': '3' }), 3_000],
  ['503 once, after one second without Retry-After', failed(503), 1_000],
])('wire repeats a call with status %s', async (_name, first, waitMs) => {
  const { wire, sentAt, requests } = wireOver([first, OK])
  expect((await wire.send(call)).status).toBe(200)
  expect(sentAt).toEqual([0, waitMs])
  expect(requests[1]).toEqual(requests[0])
})

test('wire waits for a rate limit window of a minute even with a shorter --max-wait', async () => {
  const { wire, sentAt } = wireOver([failed(429, { 'retry-after': '60' }), OK])
  expect((await wire.send(call)).status).toBe(200)
  expect(sentAt).toEqual([0, 60_000])
})

test.each([
  [429, '61'],
  [503, '11'],
])('wire does not repeat a call with %d whose Retry-After is %s s', async (status, seconds) => {
  const { wire, sentAt } = wireOver([failed(status, { 'retry-after': seconds })])
  await expect(wire.send(call)).rejects.toThrow(NotReachable)
  expect(sentAt).toHaveLength(1)
})

test('wire waits no longer than --max-wait for a rate limit during the clean-up', async () => {
  const { wire, sentAt } = wireOver([failed(429, { 'retry-after': '60' })])
  wire.isCleaningUp = true
  await expect(wire.send(call)).rejects.toThrow(NotReachable)
  expect(sentAt).toHaveLength(1)
})

test.each([502, 504])('wire reports a platform whose gateway writes %d as not reachable', async (status) => {
  const { wire, sentAt } = wireOver([failed(status)])
  await expect(wire.send(call)).rejects.toThrow(NotReachable)
  expect(sentAt).toHaveLength(1)
})

test('wire waits for the new window after a response that announces no calls left', async () => {
  const { wire, sentAt } = wireOver([{ ...OK, headers: { ratelimit: '"reads";r=0;t=7' } }, OK])
  await wire.send(call)
  await wire.send(call)
  expect(sentAt).toEqual([0, 7_000])
})

test('wire sends no call if the announced window exceeds a minute and --max-wait', async () => {
  const { wire, sentAt } = wireOver([{ ...OK, headers: { ratelimit: '"reads";r=0;t=3600' } }, OK])
  await wire.send(call)
  await expect(wire.send(call)).rejects.toThrow('no call is left for 3600 s')
  expect(sentAt).toEqual([0])
})

test('wire does not wait after a response that announces a call left', async () => {
  const { wire, sentAt } = wireOver([{ ...OK, headers: { ratelimit: '"reads";r=1;t=7' } }, OK])
  await wire.send(call)
  await wire.send(call)
  expect(sentAt).toEqual([0, 1])
})

test.each([429, 503])('wire reports a platform as not reachable after the second %d', async (status) => {
  const { wire, sentAt } = wireOver([failed(status)])
  await expect(wire.send(call)).rejects.toThrow(NotReachable)
  expect(sentAt).toHaveLength(2)
})

test('wire sends nothing after an interruption', async () => {
  const { wire, sentAt, interrupt } = wireOver([OK])
  interrupt()
  await expect(wire.send(call)).rejects.toThrow(NotReachable)
  expect(sentAt).toEqual([])
})

test('wire ends a raw connection at its time limit if the platform trickles bytes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { baseUrl } = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    let sent = 0
    const timer = setInterval(() => {
      socket.write(' ')
      // Between two intervals the wire reads what has arrived.
      if (++sent === 5) vi.advanceTimersByTime(100)
    }, 5)
    socket.on('close', () => clearInterval(timer))
  })
  const signal = new AbortController().signal
  const plain = async () => OK
  const limits = { rate: 1_000, maxWaitMs: 0, timeoutMs: 100 }
  const wire = new Wire({ baseUrl, plain, ...limits, signal, pause: async () => {}, now: () => 0 })
  const reply = await wire.raw('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect([reply.isClosed, reply.text.startsWith('HTTP/1.1 200 OK')]).toEqual([false, true])
})
