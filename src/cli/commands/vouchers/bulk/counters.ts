/** What became of the rows so far. */
export interface Counters {
  /** Known in advance for a file; null for a pipe until it ends. */
  total: number | null
  /** New vouchers. */
  issued: number
  /** Vouchers that were there already, of an earlier call whose answer this run did not have. */
  replayed: number
  /** Rows that an earlier run has in its results. */
  skipped: number
  failed: number
}

export const newCounters = (total: number | null): Counters => ({
  total,
  issued: 0,
  replayed: 0,
  skipped: 0,
  failed: 0,
})

export const doneOf = ({ issued, replayed, skipped, failed }: Counters) => issued + replayed + skipped + failed
