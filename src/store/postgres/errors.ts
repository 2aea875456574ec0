import { StoreUnavailable } from '../store.js'

/** Reaction of the store to a database or connection error. */
export type PostgresProblem =
  /** Serialization failure or deadlock: the store runs the transaction again. */
  | 'conflict'
  /** Violated constraint: the store runs the operation again, which may then see the conflicting row. */
  | 'constraint'
  /** The statement waited too long for a lock, or its result did not arrive in time. */
  | 'busy'
  /** The database is unreachable, full, starting or read-only. */
  | 'unavailable'
  /** The prepared statements of the connection no longer fit the schema: a newer server has migrated it. */
  | 'stale'
  /** An earlier statement of the transaction has failed. */
  | 'aborted'
  /** The statement itself is wrong. */
  | 'statement'

/** Problems by SQLSTATE, either the whole code or its class (PostgreSQL documentation, appendix A). */
const BY_STATE: Readonly<Record<string, PostgresProblem>> = {
  '40001': 'conflict',
  '40P01': 'conflict',
  '23505': 'constraint',
  '23514': 'constraint',
  '55P03': 'busy',
  '57014': 'busy',
  '0A000': 'stale',
  '26000': 'stale',
  '25P02': 'aborted',
  '25006': 'unavailable',
  '25P03': 'unavailable',
  '25P04': 'unavailable',
  '08': 'unavailable',
  '28': 'unavailable',
  '3D': 'unavailable',
  '53': 'unavailable',
  '57': 'unavailable',
  '58': 'unavailable',
  XX: 'unavailable',
}

/** Returns the SQLSTATE of an error; null if PostgreSQL did not send the error. */
function sqlStateOf(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : null
}

/** The passwords of this process in every encoding: PostgreSQL may repeat in an error what it received. */
export const passwords = new Set<string>()

/** Number of successive characters that count as a part of a password. */
const PART_LENGTH = 6

/** Drops case and the characters that PostgreSQL doubles or escapes in a text that it repeats. */
const bareOf = (text: string) => text.toLowerCase().replace(/["'`\\]/g, '')

function repeats(text: string, password: string): boolean {
  const [shown, secret] = [bareOf(text), bareOf(password)]
  const length = Math.min(PART_LENGTH, secret.length)
  const isShown = (_: unknown, at: number) => length > 0 && shown.includes(secret.slice(at, at + length))
  return text.includes(password) || Array.from({ length: secret.length - length + 1 }, isShown).includes(true)
}

/** Hides a whole text with a part of a password: replacing a short one, such as `e`, in words would reveal it. */
export const withoutPasswords = (text: string): string =>
  [...passwords].some((it) => repeats(text, it)) ? '[hidden: it contains the password]' : text

/** The SQLSTATE to show: `?` for a text of another form, or that is a part of a password. */
function shownState(state: string): string {
  const isPart = [...passwords].some((it) => repeats(state, it) || bareOf(it).includes(state.toLowerCase()))
  return isPart || !/^[0-9A-Z]{5}$/.test(state) ? '?' : state
}

/** An error of a statement or connection, without PostgreSQL's `detail`, which may contain values of rows. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'
  readonly problem: PostgresProblem
  /** True if other operations would fail for the same reason. */
  readonly isOutage: boolean
  /** SQLSTATE, or the system's error code of the connection. */
  readonly state: string | null

  /** @param silent true if the client closed the connection because PostgreSQL did not respond */
  constructor(error: unknown, silent = false) {
    const state = sqlStateOf(error)
    const { code, message } = error as { code?: unknown; message?: unknown }
    const text = withoutPasswords(String(state === null ? (code ?? message) : message))
    super(state === null ? `no connection to the database (${text})` : `${shownState(state)}: ${text}`)
    this.state = typeof code === 'string' ? code : null
    // An error without SQLSTATE means that the connection ended or could not be opened.
    this.problem = silent
      ? 'busy'
      : state === null
        ? 'unavailable'
        : (BY_STATE[state] ?? BY_STATE[state.slice(0, 2)] ?? 'statement')
    this.isOutage = silent || this.problem === 'unavailable'
  }
}

/** Wraps a database failure for the store's callers. */
export function unavailable(cause: unknown): StoreUnavailable {
  return cause instanceof StoreUnavailable ? cause : new StoreUnavailable('the database is not available', { cause })
}
