import type { Op } from './operation.js'

/**
 * Lets a server database commit operations together. Each sends its statements before the results of the others are
 * known, so it is only for operations that break a constraint where two change one row; each then runs alone.
 */
export interface GroupCommit {
  /** Operations of one group may share a transaction. */
  readonly group: string
  /** Operations of one key never share one; the others lock their rows in the order of their keys. */
  readonly conflictKey: string
}

export interface Store {
  /** `sqlite`, `memory` or `postgres`: what the ready line and the metrics call it. */
  readonly name: string
  /**
   * Runs an operation in a transaction of its own and answers after the commit that holds its work.
   * An operation that throws leaves nothing behind. `op` may be called again when a commit has to be built anew.
   * @throws StoreUnavailable when the commit failed: nothing was acknowledged, the call may be repeated.
   */
  write<T>(op: () => Op<T>, group?: GroupCommit): Promise<T>
  /** Runs a read-only operation on committed state. */
  read<T>(op: () => Op<T>): Promise<T>
  /**
   * Calls `listener` with the subject of each notice, after its commit, whichever process of the store it came from.
   * Answers how to stop.
   * @param missed called when notices of other processes may have been lost: anything may have changed
   */
  listen(listener: (subject: string) => void, missed?: () => void): () => void
  /**
   * Shows the other processes of the store, for as long as this one runs, which credential keys it has.
   * Absent where one process owns the store.
   * @throws StoreUnusable
   */
  holdKeys?(keyIds: readonly string[]): Promise<void>
  /** Moves part of a write-ahead log into the database file: an automatic checkpoint of all of it delays calls. */
  checkpoint?(): Promise<void>
  /** Finishes what is queued, then closes. */
  close(): Promise<void>
}

/** The database cannot be used right now (busy, full, gone): 503 on the wire. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

type StoreUnusableCode = 'STORE_UNUSABLE' | 'DATA_FOLDER_IN_USE' | 'SQLITE_MISSING' | 'DATABASE_UNREACHABLE'

/** The database cannot be used at all: the message says what to do. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable'
  readonly code: StoreUnusableCode
  constructor(code: StoreUnusableCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
