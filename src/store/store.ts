import type { Op } from './operation.js'
import type { StoreSnapshots } from './snapshots.js'

/**
 * Lets operations share one transaction on a server database. Their statements interleave, so every conflict between
 * them must violate a constraint; after a violation each operation runs alone.
 */
export interface GroupCommit {
  /** Operations of one group may share a transaction. */
  readonly group: string
  /** Operations with the same key never share a transaction. Operations lock their rows in the order of their keys. */
  readonly conflictKey: string
}

/** One pool; `waiting` are the transactions and batches of reads that wait for a connection. */
export type PoolSize = Readonly<Record<'connections' | 'connections_idle' | 'connections_max' | 'waiting', number>>

/** Measurements of this process. */
export interface StoreMetrics {
  /** Called with the duration of each commit in seconds; replaced by the code that records it. */
  onCommit: (seconds: number) => void
  /** Returns the pools of connections to a server database by name. */
  readonly pools?: () => Readonly<Record<string, PoolSize>>
}

export interface Store {
  /** `sqlite`, `memory` or `postgres`, for the ready line and the metrics. */
  readonly name: string
  /** `postgres://host:port/database`, without user and password; absent for SQLite. */
  readonly database?: string
  /**
   * Runs an operation atomically and resolves after its commit. An operation that throws changes nothing. The store may
   * call `op` again to retry a transaction.
   * @throws StoreUnavailable when the commit failed; the caller may retry.
   */
  write<T>(op: () => Op<T>, group?: GroupCommit): Promise<T>
  /** Runs a read-only operation on committed state. */
  read<T>(op: () => Op<T>): Promise<T>
  /**
   * Calls `listener` with the subject of each committed notice, from any process of the store. Returns a function that
   * removes the listener.
   * @param missed called when notices of other processes may have been lost
   */
  listen(listener: (subject: string) => void, missed?: () => void): () => void
  /**
   * Tells other processes which credential keys this process has. Absent for a store with one process.
   * @throws StoreUnusable
   */
  holdKeys?(keyIds: readonly string[]): Promise<void>
  readonly snapshots: StoreSnapshots
  /** Absent in stores of tests. */
  readonly metrics?: StoreMetrics
  /** Makes a passive WAL checkpoint. Frequent small checkpoints prevent a large automatic one, which delays calls. */
  checkpoint?(): Promise<void>
  /** Runs the queued operations, then closes the store. */
  close(): Promise<void>
}

/** The database is temporarily unusable (busy, full, unreachable); the response is 503. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

type StoreUnusableCode =
  | 'STORE_UNUSABLE'
  | 'STORE_POOLED'
  | 'STORE_CLOCK_MOVED'
  | 'STORE_ELSEWHERE'
  | 'DATA_FOLDER_IN_USE'
  | 'SQLITE_MISSING'
  | 'DATABASE_UNREACHABLE'

/** The database cannot be opened; the message advises the user. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable'
  readonly code: StoreUnusableCode
  constructor(code: StoreUnusableCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
