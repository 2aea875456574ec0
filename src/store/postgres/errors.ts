/** What follows from an error of the database or of the way to it. */
export type PostgresProblem =
  /** The transaction met another one: it is run again. */
  | 'conflict'
  /** A constraint holds against it: run again it may see why, else it is a bug. */
  | 'constraint'
  /** The statement waited too long for others, or its answer did not come. */
  | 'busy'
  /** The database is away, full, starting or read-only. */
  | 'away'
  /** What the connection has prepared fits the schema no more: a newer version has migrated. */
  | 'stale'
  /** The statement itself is wrong. */
  | 'statement'

/** SQLSTATE, by class or whole (PostgreSQL's Appendix A). */
const BY_STATE: Readonly<Record<string, PostgresProblem>> = {
  '40001': 'conflict',
  '40P01': 'conflict',
  '23505': 'constraint',
  '23514': 'constraint',
  '55P03': 'busy',
  '57014': 'busy',
  '0A000': 'stale',
  '25006': 'away',
  '25P03': 'away',
  '25P04': 'away',
  '08': 'away',
  '28': 'away',
  '3D': 'away',
  '53': 'away',
  '57': 'away',
  '58': 'away',
  XX: 'away',
}

/** SQLSTATE; null for an error that the server did not send. */
function sqlStateOf(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : null
}

/**
 * What the database or the way to it ended a statement with. Without what the server tells beside its message, which
 * may hold values of rows.
 */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'
  readonly problem: PostgresProblem
  /** True where others who wait for the database wait in vain as well. */
  readonly isOutage: boolean
  /** SQLSTATE, or what the system says of the connection; null for neither. */
  readonly state: string | null

  /** @param silent the connection was given up because nothing came */
  constructor(error: unknown, silent = false) {
    const state = sqlStateOf(error)
    const { code, message } = error as { code?: unknown; message?: unknown }
    super(state === null ? `no connection to the database (${code ?? message})` : `${state}: ${message}`)
    this.state = typeof code === 'string' ? code : null
    // No word of the server: the connection has ended, or was never made.
    this.problem = silent
      ? 'busy'
      : state === null
        ? 'away'
        : (BY_STATE[state] ?? BY_STATE[state.slice(0, 2)] ?? 'statement')
    this.isOutage = silent || this.problem === 'away'
  }
}
