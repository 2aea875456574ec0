import type { ConnectionQueue } from './connection-queue.js'

/** Monotonic clock of a run. */
export interface LoadClock {
  nowMs(): number
  /** Resolves after a time, or when the signal aborts. With 0 it lets pending responses be processed. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

interface OpenLoop<Call extends { readonly dueMs: number }> {
  readonly calls: Iterable<Call>
  /** One queue per address; the scheduler assigns calls to the addresses in turn. */
  readonly queues: readonly ConnectionQueue[]
  readonly clock: LoadClock
  readonly signal: AbortSignal
  /** Sends a call. @param dueAt time on the clock at which the call is due @param address index of the queue */
  send(call: Call, dueAt: number, address: number): Promise<void>
  /** Called for each call with the ms by which the generator was late. */
  onDue(call: Call, lateMs: number): void
  /** Called for a call that is not sent because the queue of its address is full. */
  onNotSent(call: Call): void
}

/** Maximum overdue calls to start before responses are read again. */
const OVERDUE_BURST = 64

/**
 * Starts each call when it is due, no matter whether earlier calls have responses (rules/cli.md#load). Resolves when
 * the last response has arrived, or, after an abort, when the calls in flight have ended.
 */
export async function runOpenLoop<Call extends { readonly dueMs: number }>(loop: OpenLoop<Call>): Promise<void> {
  const { calls, queues, clock, signal } = loop
  const startedAt = clock.nowMs()
  const clear = () => {
    for (const it of queues) it.clear()
  }
  signal.addEventListener('abort', clear, { once: true })
  let index = 0
  let burst = 0
  for (const call of calls) {
    const dueAt = startedAt + call.dueMs
    for (let left = dueAt - clock.nowMs(); left > 0 && !signal.aborted; left = dueAt - clock.nowMs()) {
      burst = 0
      await clock.sleep(left, signal)
    }
    burst += 1
    if (burst % OVERDUE_BURST === 0) await clock.sleep(0, signal)
    if (signal.aborted) break
    loop.onDue(call, clock.nowMs() - dueAt)
    const address = index % queues.length
    const isAccepted = queues[address]?.add(() => loop.send(call, dueAt, address))
    if (!isAccepted) loop.onNotSent(call)
    index += 1
  }
  await Promise.all(queues.map((it) => it.idle()))
  signal.removeEventListener('abort', clear)
}
