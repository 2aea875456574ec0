import type { Update } from '../contract/updates.js'
import { pause } from '../files/pause.js'

/** Updates of a poll; or the failure, and whether the server is only temporarily unavailable. */
export type PollOutcome<F> =
  | { readonly ok: true; readonly updates: readonly Update[] }
  | { readonly ok: false; readonly isAway: boolean; readonly failure: F }

/** How long the server should hold a poll open if there is no update. */
export type PollHold = 'none' | 'longest'

export interface PollingOptions<F> {
  /** Requests updates from the id `from` on, which confirms all updates before it to the server. */
  poll(from: number | undefined, hold: PollHold): Promise<PollOutcome<F>>
  notice(text: string): void
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
  /** Id of the next update. A negative -N starts at the latest N updates. */
  next: number | undefined
  /** All updates before this id are confirmed to the server. */
  confirmed: number | undefined
  /** True if the server was unavailable when polling ended. */
  isServerAway: boolean
}

/**
 * Polls until the signal aborts, and yields each update in the order of the ids. Each poll confirms the updates handled
 * before; an update counts as handled when the consumer asks for the next one. Polling ends if a poll fails. If a server
 * that has responded before becomes unavailable, it reconnects; a server that never responded is a failure.
 */
export const pollUpdates = <F>(
  options: PollingOptions<F>,
  position: PollPosition,
): AsyncGenerator<Update, F | undefined> => new Polling(options, position).run()

class Polling<F> {
  readonly #options: PollingOptions<F>
  readonly #position: PollPosition
  #connected = false
  /** Failure that ended the connection; undefined while the server responds. */
  #lost: F | undefined
  #waits = 0
  #emptyPolls = 0
  #isPaced = false

  constructor(options: PollingOptions<F>, position: PollPosition) {
    this.#options = options
    this.#position = position
  }

  async *run(): AsyncGenerator<Update, F | undefined> {
    const { poll, signal } = this.#options
    while (!signal.aborted) {
      // Do not let the server hold the first poll: its response shows whether this bot may poll.
      const hold = this.#connected && this.#lost === undefined ? 'longest' : 'none'
      const startedAt = performance.now()
      const polled = await poll(this.#position.next, hold)
      if (signal.aborted) break
      if (!polled.ok) {
        const failure = polled.isAway ? await this.#waitForServer(polled.failure) : polled.failure
        if (failure !== undefined) return failure
        continue
      }
      this.#noteConnection()
      for (const update of polled.updates) {
        yield update
        this.#position.next = update.update_id + 1
      }
      if (hold === 'longest') await this.#pauseAfter(polled.updates.length, performance.now() - startedAt)
    }
    return undefined
  }

  /** Returns the first failure if waiting is useless: the server never responded, or stays unavailable. */
  async #waitForServer(failure: F): Promise<F | undefined> {
    const { reconnectMs, inWords, notice, signal } = this.#options
    this.#lost ??= failure
    this.#position.isServerAway = true
    const waitMs = this.#connected ? reconnectMs[this.#waits] : undefined
    if (waitMs === undefined) return this.#lost
    if (this.#waits === 0) notice(`${inWords(failure)}. Trying again.`)
    this.#waits += 1
    await pause(waitMs, signal)
    return undefined
  }

  #noteConnection(): void {
    if (this.#lost !== undefined) this.#options.notice('Connected again.')
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
