import type { Op, RowLock, Several, Statement, SubjectLock, Value, Wish } from '../operation.js'
import type { Result, Sent } from './batch.js'

/** One operation on its way from statement to statement. */
export class Steps {
  readonly #op: Op<unknown>
  readonly #writes: boolean
  #step: IteratorResult<Wish, unknown>
  /** Whom to tell after the commit. */
  readonly subjects: string[] = []

  constructor(op: () => Op<unknown>, writes: boolean) {
    this.#writes = writes
    this.#op = op()
    this.#step = this.#op.next()
    this.#collect()
  }

  get done(): boolean {
    return this.#step.done === true
  }

  get value(): unknown {
    return this.#step.value
  }

  /** What the operation waits for, and how many answers it takes. */
  next(): readonly Sent[] {
    const wish = this.#step.value as Statement | Several | SubjectLock
    if (wish.kind === 'lock') return [{ sql: LOCK_SUBJECT, params: [wish.subject] }]
    return wish.kind === 'several' ? wish.statements.map((it) => this.#sent(it)) : [this.#sent(wish)]
  }

  /** @param results as many as were sent */
  feed(results: readonly Result[]): void {
    const wish = this.#step.value as Statement | Several | SubjectLock
    const answer =
      wish.kind === 'lock'
        ? undefined
        : wish.kind === 'several'
          ? wish.statements.map((it, index) => answerOf(it, results[index] as Result))
          : answerOf(wish, results[0] as Result)
    this.#step = this.#op.next(answer)
    this.#collect()
  }

  #sent(statement: Statement): Sent {
    const { sql, lock } = statement
    const params = statement.kind === 'run' || statement.changes ? statement.params : statement.params.map(withoutNul)
    const missing = params.indexOf(undefined as never)
    if (missing !== -1) throw new TypeError(`parameter $${missing + 1} is undefined in: ${sql}`)
    return { sql: lock === undefined || !this.#writes ? sql : `${sql} ${clauseOf(lock)}`, params }
  }

  #collect(): void {
    for (;;) {
      if (this.#step.done) return
      const { value } = this.#step
      if (!this.#writes && (value.kind === 'notify' || value.kind === 'lock')) throw new Error('a read changes nothing')
      if (value.kind !== 'notify') return
      this.subjects.push(value.subject)
      this.#step = this.#op.next()
    }
  }
}

function answerOf({ kind }: Statement, { rows, count }: Result): unknown {
  return kind === 'one' ? rows[0] : kind === 'all' ? rows : count
}

/** What PostgreSQL cannot hold no row has: it is looked for as a character that no text has. */
function withoutNul(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uffff') : value
}

const LOCK_SUBJECT = 'select pg_advisory_xact_lock(hashtextextended($1, 0))'

/** `no key`: rows that only refer to a locked one can be made meanwhile. */
function clauseOf(lock: RowLock): string {
  if (lock === 'row') return 'for no key update'
  if (lock === 'skip') return 'for no key update skip locked'
  return `for no key update of ${lock.skipOf} skip locked`
}
