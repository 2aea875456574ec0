import type { Update } from '../contract/updates.js'
import { pause } from './pause.js'

/** Updates of a poll, or its failure and whether the server may return. */
export type PollOutcome<F> =
  | { readonly ok: true; readonly updates: readonly Update[] }
  | { readonly ok: false; readonly isAway: boolean; readonly failure: F }

/** How long the server may hold a poll until there is an update. */
export type PollHold = 'none' | 'longest'

export interface PollingOptions<F> {
  /** Reads updates from an id on, which confirms those before it. */
  poll(from: number | undefined, hold: PollHold): Promise<PollOutcome<F>>
  /** Called after the first successful poll. */
  ready?(): void
  /** Reports that the server is away, or is back. */
  notice(text: string): void
  /** The message of a failure without its full stop. */
  inWords(failure: F): string
  readonly signal: AbortSignal
  /** Delays before polls of a server that is away; after the last one the polling ends. */
  readonly reconnectMs: readonly number[]
  /** Minimum milliseconds between successive polls that return empty early; the last value repeats. */
  readonly paceMs: readonly [number, ...number[]]
  /** True if polls ask the server to hold them until there is an update. */
  readonly asksToHold: boolean
}

export interface PollPosition {
  /** Id of the first update to handle, advanced by the handler. A negative number requests that many of the latest. */
  next: number | undefined
  /** Updates before this one are confirmed at the server. */
  confirmed: number | undefined
  /** True if the server was unreachable when polling ended. */
  isServerAway: boolean
}

/**
 * Polls until the signal, handles the updates in the order of their ids, and yields the lines of the handler. A failure
 * of a poll or of the handler ends it. The next poll confirms the handled updates.
 *
 * It reconnects to a server that responded before; a server that never responded is a failure.
 */
export async function* pollUpdates<F, Line>(
  { poll, ready, notice, inWords, signal, reconnectMs, paceMs, asksToHold }: PollingOptions<F>,
  position: PollPosition,
  handle: (update: Update) => AsyncGenerator<Line, F | undefined>,
): AsyncGenerator<Line, F | undefined> {
  let connected = false
  let lost: F | undefined
  let waits = 0
  let emptyPolls = 0
  let isPaced = false
  while (!signal.aborted) {
    // The first poll is not held, to learn soon whether the server lets this bot poll.
    const hold = connected && lost === undefined ? 'longest' : 'none'
    const startedAt = performance.now()
    const polled = await poll(position.next, hold)
    if (signal.aborted) break
    if (!polled.ok) {
      if (!polled.isAway) return polled.failure
      lost ??= polled.failure
      position.isServerAway = true
      const waitMs = connected ? reconnectMs[waits] : undefined
      if (waitMs === undefined) return lost
      if (waits === 0) notice(`${inWords(polled.failure)}. Trying again.`)
      waits += 1
      await pause(waitMs, signal)
      continue
    }
    if (lost !== undefined) notice('Connected again.')
    if (!connected) ready?.()
    connected = true
    lost = undefined
    position.isServerAway = false
    waits = 0
    // Send a negative offset only once: repeated, it would drop newer updates.
    if (position.next !== undefined && position.next < 0) position.next = undefined
    position.confirmed = position.next
    for (const update of polled.updates) {
      const failure = yield* handle(update)
      if (failure !== undefined) return failure
    }
    if (hold === 'none') continue
    const leastMs = paceMs[Math.min(emptyPolls, paceMs.length - 1)] as number
    const spareMs = polled.updates.length > 0 ? 0 : leastMs - (performance.now() - startedAt)
    emptyPolls = spareMs > 0 ? emptyPolls + 1 : 0
    if (spareMs <= 0) continue
    if (asksToHold && !isPaced) notice('The server does not hold polls: updates may come some seconds late.')
    isPaced = true
    await pause(spareMs, signal)
  }
  return undefined
}
