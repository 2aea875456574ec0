import { expect, test } from 'vitest'
import { ConnectionQueue } from '../../../src/cli/load/connection-queue.js'
import { runOpenLoop } from '../../../src/cli/load/open-loop.js'
import { VirtualClock } from '../../support/server/virtual-clock.js'

interface Simulation {
  readonly dueMs: readonly number[]
  /** Ms from the start of a call to its response, by the time of its start. */
  serviceMs(startMs: number): number
  readonly connections?: number
  readonly addresses?: number
  /** Ms that this process computes when it starts the call with an index. */
  blockMs?(index: number): number
  readonly abortAtMs?: number
}

/** Runs calls against a simulated server on a virtual clock. */
async function simulate({ dueMs, serviceMs, connections = 1_000, addresses = 1, blockMs, abortAtMs }: Simulation) {
  const clock = new VirtualClock()
  const stop = new AbortController()
  if (abortAtMs !== undefined) void clock.sleep(abortAtMs).then(() => stop.abort())
  const seen = {
    startMs: [] as number[],
    latencyMs: [] as number[],
    lateMs: [] as number[],
    addresses: [] as number[],
    notSent: 0,
  }
  await runOpenLoop({
    calls: dueMs.map((it) => ({ dueMs: it })),
    queues: Array.from({ length: addresses }, () => new ConnectionQueue(connections)),
    clock,
    signal: stop.signal,
    async send(_call, dueAt, address) {
      seen.startMs.push(clock.nowMs())
      seen.addresses.push(address)
      await clock.sleep(serviceMs(clock.nowMs()))
      seen.latencyMs.push(clock.nowMs() - dueAt)
    },
    onDue: (_call, lateMs) => {
      clock.block(blockMs?.(seen.lateMs.length) ?? 0)
      seen.lateMs.push(lateMs)
    },
    onNotSent: () => (seen.notSent += 1),
  })
  return seen
}

const every = (ms: number, count: number) => Array.from({ length: count }, (_, i) => i * ms)

test('open loop starts each call when it is due, also without earlier responses', { tags: 'load/1' }, async () => {
  const dueMs = every(10, 5)
  const { startMs, latencyMs } = await simulate({ dueMs, serviceMs: () => 1_000 })
  expect(startMs).toEqual(dueMs)
  expect(latencyMs).toEqual(Array(5).fill(1_000))
})

test('open loop counts the wait for a connection in the latency from the due time', { tags: 'load/1' }, async () => {
  const { startMs, latencyMs } = await simulate({ dueMs: every(10, 4), serviceMs: () => 25, connections: 1 })
  expect(startMs).toEqual([0, 25, 50, 75])
  expect(latencyMs).toEqual([25, 40, 55, 70])
})

test('open loop shows a stall of the server in every call that was due during the stall', async () => {
  const stallEnd = 100
  const { latencyMs } = await simulate({
    dueMs: every(10, 12),
    serviceMs: (startMs) => (startMs < 20 || startMs >= stallEnd ? 1 : stallEnd - startMs),
  })
  expect(latencyMs.sort((one, other) => one - other)).toEqual([1, 1, 1, 1, 10, 20, 30, 40, 50, 60, 70, 80])
})

test('open loop reports late calls and catches up with overdue ones', async () => {
  const { lateMs, startMs } = await simulate({
    dueMs: every(10, 5),
    serviceMs: () => 1,
    blockMs: (index) => (index === 1 ? 25 : 0),
  })
  expect(lateMs).toEqual([0, 0, 15, 5, 0])
  expect(startMs).toEqual([0, 35, 35, 35, 40])
})

test('open loop calls the addresses in turn', async () => {
  const { addresses } = await simulate({ dueMs: every(1, 5), serviceMs: () => 1, addresses: 2 })
  expect(addresses).toEqual([0, 1, 0, 1, 0])
})

test('open loop does not send calls beyond 10,000 that wait for a connection', { tags: 'load/2' }, async () => {
  const dueMs = Array(10_011).fill(0)
  const { notSent, startMs } = await simulate({ dueMs, serviceMs: () => 1, connections: 100_000 })
  expect([notSent, startMs.length]).toEqual([0, 10_011])
  const stuck = await simulate({ dueMs, serviceMs: () => 1_000, connections: 1, abortAtMs: 1 })
  expect([stuck.notSent, stuck.startMs]).toEqual([10, [0]])
})

test('open loop starts no call after an abort and resolves when those in flight have ended', async () => {
  const { startMs, latencyMs } = await simulate({
    dueMs: every(10, 10),
    serviceMs: () => 50,
    connections: 2,
    abortAtMs: 35,
  })
  expect(startMs).toEqual([0, 10])
  expect(latencyMs).toEqual([50, 50])
})
