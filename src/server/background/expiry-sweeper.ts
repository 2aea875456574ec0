import { setTimeout } from 'node:timers/promises'
import { DELIVERY_RETENTION_MS } from '../../domain/delivery.js'
import { deleteOldCalls } from '../../store/bots/calls.js'
import { BACKLOG_ROWS_PER_WRITE } from '../../store/delivery/backlog.js'
import { deleteOldDeliveries } from '../../store/delivery/deliveries.js'
import { deleteOldUpdates } from '../../store/delivery/updates.js'
import { deleteExpiredRecords } from '../../store/idempotency.js'
import type { Op } from '../../store/operation.js'
import type { Store } from '../../store/store.js'

/** Maximum rows per write, which block the thread of SQLite for one or two milliseconds. */
export const DELETED_PER_WRITE = BACKLOG_ROWS_PER_WRITE

/** Processes up to DELETED_PER_WRITE rows and returns their number. */
type SweepStep = (now: number) => Op<number>

const expiry: readonly SweepStep[] = [
  (now) => deleteExpiredRecords(now, DELETED_PER_WRITE),
  (now) => deleteOldUpdates(now, DELETED_PER_WRITE),
  (now) => deleteOldDeliveries(now - DELIVERY_RETENTION_MS, DELETED_PER_WRITE),
  (now) => deleteOldCalls(now, DELETED_PER_WRITE),
]

/**
 * Deletes expired rows in small writes. The pause after each write is as long as the write, so that API calls run in
 * between. Processes of one database share the work: each skips rows that another process has locked.
 */
export class ExpirySweeper {
  readonly #store: Store
  readonly #onError: (error: unknown) => void
  readonly #steps: readonly SweepStep[]
  /** `now` of the latest `start` call. */
  #now = 0
  #isWanted = false
  #running: Promise<void> | null = null
  #isPaused = false
  readonly #stop = new AbortController()

  constructor(store: Store, onError: (error: unknown) => void, steps = expiry) {
    this.#store = store
    this.#onError = onError
    this.#steps = steps
  }

  /**
   * Deletes all rows that have expired at `now`; a running sweep starts over. Resolves at the end of the sweep.
   */
  start(now: number): Promise<void> {
    if (this.#stop.signal.aborted || this.#isPaused) return Promise.resolve()
    this.#now = now
    this.#isWanted = true
    this.#running ??= this.#work().catch(this.#onError)
    return this.#running
  }

  /** Abandons the sweep after the current write. Starts no sweep until `resume`. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#running
  }

  resume(): void {
    this.#isPaused = false
  }

  /** Stops after the current write; the next server start deletes the rest. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #work(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isPaused) {
        this.#isWanted = false
        for (const some of this.#steps) await this.#all(some)
      }
    } finally {
      this.#running = null
    }
  }

  async #all(some: SweepStep): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted && !this.#isPaused) {
      const startedAt = performance.now()
      const deleted = await this.#store.write(() => some(this.#now))
      if (deleted < DELETED_PER_WRITE) return
      await this.#store.checkpoint?.()
      await setTimeout(performance.now() - startedAt, undefined, { ref: false, signal }).catch(() => {})
    }
  }
}
