import type { Op, RowLock, Statement, StatementBatch, Step, SubjectLock, Value } from '../operation.js'
import type { PooledConnection } from './pool.js'

/**
 * Runs an operation, statement by statement.
 * @param subjects receives the subjects to notify after the commit; absent for a read, which takes no locks
 * @param steps maximum number of statements; the result is not `done` if the operation yields more statements
 * @param mayPause false ends before a statement at which a read pauses
 */
export async function runOperation<T>(
  op: () => Op<T>,
  connection: PooledConnection,
  subjects?: string[],
  steps = Number.POSITIVE_INFINITY,
  mayPause = true,
): Promise<IteratorResult<Step, T>> {
  const running = op()
  let step = running.next()
  for (let taken = 0; !step.done && taken < steps; ) {
    const { value } = step
    if (subjects === undefined && (value.kind === 'notify' || value.kind === 'lock')) {
      throw new Error('a read changes nothing')
    }
    if (!mayPause && 'pauses' in value && value.pauses) return step
    if (value.kind === 'notify') {
      subjects?.push(value.subject)
      step = running.next()
      continue
    }
    step = running.next(await take(value, connection, subjects !== undefined))
    taken += 1
  }
  return step
}

function take(
  step: Statement | StatementBatch | SubjectLock,
  connection: PooledConnection,
  writes: boolean,
): Promise<unknown> {
  if (step.kind === 'lock') return connection.query(LOCK_SUBJECT, [step.subject])
  if (step.kind !== 'several') return execute(step, connection, writes)
  return Promise.all(step.statements.map((it) => execute(it, connection, writes)))
}

async function execute(statement: Statement, connection: PooledConnection, writes: boolean): Promise<unknown> {
  const { kind, sql, lock } = statement
  const params = kind === 'run' || statement.changes ? statement.params : statement.params.map(withoutNul)
  const missing = (params as readonly (Value | undefined)[]).indexOf(undefined)
  if (missing !== -1) throw new TypeError(`parameter $${missing + 1} is undefined in: ${sql}`)
  const locking = lock === undefined || !writes ? sql : `${sql} ${clauseOf(lock)}`
  const { rows, count } = await connection.query(locking, statement.hasSlice ? withMoreRows(params) : params)
  if (kind === 'run') return count
  return kind === 'one' ? rows[0] : rows
}

/** A long read has its own connection, so a slice may take some milliseconds. */
const withMoreRows = (params: readonly Value[]): Value[] => params.with(-1, Number(params.at(-1)) * 10)

/** Replaces NUL, which PostgreSQL rejects in parameters, with a character that is in no row either. */
function withoutNul(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uffff') : value
}

/** Each schema of a database has its own locks, because its servers are another platform. */
const LOCK_SUBJECT = "select pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))"

/** Returns the locking clause. `no key update` lets other transactions insert rows that refer to the locked row. */
function clauseOf(lock: RowLock): string {
  if (lock === 'row') return 'for no key update'
  if (lock === 'skip') return 'for no key update skip locked'
  return `for no key update of ${lock.skipOf} skip locked`
}
