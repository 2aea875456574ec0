import type { Update } from '../contract/updates.js'
import { pause } from '../files/pause.js'

/** Updates of a poll; or the failure, and whether the server is only temporarily unavailable. */
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
  /** Milliseconds before each poll of an unavailable server; polling ends after the last one. */
  readonly reconnectMs: readonly number[]
  /** Minimum ms between polls if the server returns no updates without holding the poll; the last repeats. */
  readonly paceMs: readonly [number, ...number[]]
  /** True if polls ask the server to hold them until an update arrives. */
  readonly asksToHold: boolean
}

export interface PollPosition {
  /** Id of the next update; the handler advances it. A negative -N starts at the latest N updates. */
  next: number | undefined
  /** All updates before this id are confirmed to the server. */
  confirmed: number | undefined
  /** True if the server was unavailable when polling ended. */
  isServerAway: boolean
}

/**
 * Polls until the signal aborts, passes each update to the handler in the order of the ids, and yields the handler's
 * output lines. Each poll confirms the updates handled before. Polling ends if a poll or the handler fails. If a server
 * that has responded before becomes unavailable, it reconnects; a server that never responded is a failure.
 */
export function pollUpdates<F, Line>(
  options: PollingOptions<F, Line>,
  position: PollPosition,
  handle: (update: Update) => AsyncGenerator<Line, F | undefined>,
): AsyncGenerator<Line, F | undefined> {
  return new Polling(options, position, handle).run()
}

class Polling<F, Line> {
  readonly #options: PollingOptions<F, Line>
  readonly #position: PollPosition
  readonly #handle: (update: Update) => AsyncGenerator<Line, F | undefined>
  #connected = false
  /** Failure that ended the connection; undefined while the server responds. */
  #lost: F | undefined
  #waits = 0
  #emptyPolls = 0
  #isPaced = false

  constructor(
    options: PollingOptions<F, Line>,
    position: PollPosition,
    handle: (update: Update) => AsyncGenerator<Line, F | undefined>,
  ) {
    this.#options = options
    this.#position = position
    this.#handle = handle
  }

  async *run(): AsyncGenerator<Line, F | undefined> {
    const { poll, signal } = this.#options
    while (!signal.aborted) {
      // Do not let the server hold the first poll: its response shows whether this bot may poll.
      const hold = this.#connected && this.#lost === undefined ? 'longest' : 'none'
      const startedAt = performance.now()
      const polled = await poll(this.#position.next, hold)
      if (signal.aborted) break
      if (!polled.ok) {
        const failure = polled.isAway ? yield* this.#waitForServer(polled.failure) : polled.failure
        if (failure !== undefined) return failure
        continue
      }
      yield* this.#noteConnection()
      const failure = yield* this.#handleAll(polled.updates)
      if (failure !== undefined) return failure
      if (hold === 'longest') await this.#pauseAfter(polled.updates.length, performance.now() - startedAt)
    }
    return undefined
  }

  async *#handleAll(updates: readonly Update[]): AsyncGenerator<Line, F | undefined> {
    for (const update of updates) {
      const failure = yield* this.#handle(update)
      if (failure !== undefined) return failure
    }
    return undefined
  }

  /** Returns the first failure if waiting is useless: the server never responded, or stays unavailable. */
  async *#waitForServer(failure: F): AsyncGenerator<Line, F | undefined> {
    const { reconnectMs, inWords, connectionLine, notice, signal } = this.#options
    this.#lost ??= failure
    this.#position.isServerAway = true
    const waitMs = this.#connected ? reconnectMs[this.#waits] : undefined
    if (waitMs === undefined) return this.#lost
    if (this.#waits === 0) {
      const error = inWords(failure)
      if (connectionLine === undefined) notice(`${error}. Trying again.`)
      else yield connectionLine('disconnected', error)
    }
    this.#waits += 1
    await pause(waitMs, signal)
    return undefined
  }

  async *#noteConnection(): AsyncGenerator<Line, void> {
    const { connectionLine, notice, ready } = this.#options
    if (this.#lost !== undefined) {
      if (connectionLine === undefined) notice('Connected again.')
      else yield connectionLine('reconnected', null)
    }
    if (!this.#connected) ready?.()
    this.#connected = true
    this.#lost = undefined
    this.#waits = 0
    const position = this.#position
    position.isServerAway = false
    // Send a negative offset only once: a second time it would drop newer updates.
    if (position.next !== undefined && position.next < 0) position.next = undefined
    position.confirmed = position.next
  }

  /** Paces empty polls that the server did not hold. */
  async #pauseAfter(updates: number, elapsedMs: number): Promise<void> {
    const { paceMs, asksToHold, notice, signal } = this.#options
    const leastMs = paceMs[Math.min(this.#emptyPolls, paceMs.length - 1)] as number
    const spareMs = updates > 0 ? 0 : leastMs - elapsedMs
    this.#emptyPolls = spareMs > 0 ? this.#emptyPolls + 1 : 0
    if (spareMs <= 0) return
    if (asksToHold && !this.#isPaced) notice('The server does not hold polls: updates may come some seconds late.')
    this.#isPaced = true
    await pause(spareMs, signal)
  }
}
