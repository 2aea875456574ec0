import type { Op } from './operation.js'

export interface Store {
  /** `sqlite` or `memory`: what the ready line and the metrics call it. */
  readonly name: string
  /**
   * Runs an operation in a transaction of its own and answers after the commit that holds its work.
   * An operation that throws leaves nothing behind. `op` may be called again when a commit has to be built anew.
   * @throws StoreUnavailable when the commit failed: nothing was acknowledged, the call may be repeated.
   */
  write<T>(op: () => Op<T>): Promise<T>
  /** Runs a read-only operation on committed state. */
  read<T>(op: () => Op<T>): Promise<T>
  /** Calls `listener` with the subject of each notice, after its commit. Answers how to stop. */
  listen(listener: (subject: string) => void): () => void
  /** Finishes what is queued, then closes. */
  close(): Promise<void>
}

/** The database cannot be used right now (busy, full, gone): 503 on the wire. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

export type StoreUnusableCode = 'STORE_UNUSABLE' | 'DATA_FOLDER_IN_USE' | 'SQLITE_MISSING'

/** The database cannot be used at all: the message says what to do. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable'
  readonly code: StoreUnusableCode
  constructor(code: StoreUnusableCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
