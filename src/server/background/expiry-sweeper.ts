import { setTimeout } from 'node:timers/promises'
import { DELIVERY_RETENTION_MS } from '../../domain/delivery.js'
import { forgetOldCalls } from '../../store/bots/calls.js'
import { SETTLED_PER_WRITE } from '../../store/delivery/backlog.js'
import { forget as forgetDeliveries } from '../../store/delivery/deliveries.js'
import { forgetOld } from '../../store/delivery/updates.js'
import { deleteExpiredRecords } from '../../store/idempotency.js'
import type { Op } from '../../store/operation.js'
import type { Store } from '../../store/store.js'

/** Rows that one write takes away: one or two milliseconds of SQLite's only thread. */
export const FORGOTTEN_PER_WRITE = SETTLED_PER_WRITE

/** Processes up to FORGOTTEN_PER_WRITE rows and returns their number. */
type Kind = (now: number) => Op<number>

const expiry: readonly Kind[] = [
  (now) => deleteExpiredRecords(now, FORGOTTEN_PER_WRITE),
  (now) => forgetOld(now, FORGOTTEN_PER_WRITE),
  (now) => forgetDeliveries(now - DELIVERY_RETENTION_MS, FORGOTTEN_PER_WRITE),
  (now) => forgetOldCalls(now, FORGOTTEN_PER_WRITE),
]

/**
 * Deletes expired rows in small writes, each followed by as long a pause, so that calls come between
 * however much has gathered. Processes of one database divide the rows: each passes over those that another holds.
 */
export class ExpirySweeper {
  readonly #store: Store
  readonly #onError: (error: unknown) => void
  readonly #kinds: readonly Kind[]
  /** Of the latest call. */
  #now = 0
  #isWanted = false
  #running: Promise<void> | null = null
  readonly #stop = new AbortController()

  constructor(store: Store, onError: (error: unknown) => void, kinds = expiry) {
    this.#store = store
    this.#onError = onError
    this.#kinds = kinds
  }

  /**
   * Everything whose time is over at `now` will be gone; what is at work goes over all once more. Resolves when it has
   * come to its end.
   */
  start(now: number): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve()
    this.#now = now
    this.#isWanted = true
    this.#running ??= this.#work().catch(this.#onError)
    return this.#running
  }

  /** Resolves when nothing is at work: the rest is left for the next start. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #work(): Promise<void> {
    try {
      while (this.#isWanted) {
        this.#isWanted = false
        for (const some of this.#kinds) await this.#all(some)
      }
    } finally {
      this.#running = null
    }
  }

  async #all(some: Kind): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const startedAt = performance.now()
      const forgotten = await this.#store.write(() => some(this.#now))
      if (forgotten < FORGOTTEN_PER_WRITE) return
      await this.#store.checkpoint?.()
      await setTimeout(performance.now() - startedAt, undefined, { ref: false, signal }).catch(() => {})
    }
  }
}
