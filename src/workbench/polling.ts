import type { Update } from '../contract/updates.js'
import { pause } from '../files/pause.js'

/** The updates of a poll; or its failure, and whether the server is only temporarily unavailable. */
export type PollOutcome<F> =
  | { readonly ok: true; readonly updates: readonly Update[] }
  | { readonly ok: false; readonly isAway: boolean; readonly failure: F }

/** How long the server should hold a poll open if there is no update. */
export type PollHold = 'none' | 'longest'

export type ConnectionChange = 'disconnected' | 'reconnected'

export interface PollingOptions<F, Line = never> {
  /** Requests updates from the id `from` on, which confirms all updates before it to the server. */
  poll(from: number | undefined, hold: PollHold): Promise<PollOutcome<F>>
  /** Called after the first successful poll. */
  ready?(): void
  notice(text: string): void
  /** Returns the output line for a lost or restored connection; without it, a notice tells the user. */
  connectionLine?(change: ConnectionChange, error: string | null): Line
  /** Returns the message of a failure without its full stop. */
  inWords(failure: F): string
  readonly signal: AbortSignal
  /** Milliseconds before each poll of an unavailable server; after the last one polling ends. */
  readonly reconnectMs: readonly number[]
  /** Minimum milliseconds between polls if the server returns no updates without holding the poll; the last repeats. */
  readonly paceMs: readonly [number, ...number[]]
  /** True if polls ask the server to hold them until an update arrives. */
  readonly asksToHold: boolean
}

export interface PollPosition {
  /** Id of the next update to handle, which the handler advances. A negative -N starts at the latest N updates. */
  next: number | undefined
  /** The server has got confirmation of all updates before this id. */
  confirmed: number | undefined
  /** True if the server was unavailable when polling ended. */
  isServerAway: boolean
}

/**
 * Polls until the signal aborts, passes each update to the handler in the order of the ids, and yields the handler's
 * output lines. Each poll confirms the updates that were handled before it. It ends if a poll or the handler fails.
 *
 * If a server that has responded before becomes unavailable, it reconnects; a server that never responded is a failure.
 */
export async function* pollUpdates<F, Line>(
  { poll, ready, notice, connectionLine, inWords, signal, reconnectMs, paceMs, asksToHold }: PollingOptions<F, Line>,
  position: PollPosition,
  handle: (update: Update) => AsyncGenerator<Line, F | undefined>,
): AsyncGenerator<Line, F | undefined> {
  let connected = false
  let lost: F | undefined
  let waits = 0
  let emptyPolls = 0
  let isPaced = false
  while (!signal.aborted) {
    // Do not let the server hold the first poll, to learn soon whether it permits this bot to poll.
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
      if (waits === 0) {
        const error = inWords(polled.failure)
        if (connectionLine === undefined) notice(`${error}. Trying again.`)
        else yield connectionLine('disconnected', error)
      }
      waits += 1
      await pause(waitMs, signal)
      continue
    }
    if (lost !== undefined) {
      if (connectionLine === undefined) notice('Connected again.')
      else yield connectionLine('reconnected', null)
    }
    if (!connected) ready?.()
    connected = true
    lost = undefined
    position.isServerAway = false
    waits = 0
    // Send a negative offset only once: sent again, it would drop newer updates.
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
