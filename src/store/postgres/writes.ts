import { type Op, Superseded } from '../operation.js'
import { type Shared, StoreUnavailable } from '../store.js'
import type { Sent } from './batch.js'
import { DatabaseFailure, type PostgresProblem } from './errors.js'
import { Lanes } from './lanes.js'
import type { Connections, Lent } from './pool.js'
import { Steps } from './steps.js'

/** Transactions at a time: what comes meanwhile gathers, and shares the next commit where it may. */
const TRANSACTIONS_MAX = 6
/** Operations in one transaction. */
const TOGETHER_MAX = 64
/** An operation that meets others again and again is given up after so many runs. */
const RUNS_MAX = 8
/** A constraint that holds again after so many runs is a bug of the operation. */
const RUNS_AGAINST_CONSTRAINT = 3

const BEGIN: Sent = { sql: 'begin', params: [] }
const COMMIT: Sent = { sql: 'commit', params: [] }
const ROLLBACK: Sent = { sql: 'rollback', params: [] }
const NOTIFY = 'select pg_notify($1, $2)'

interface Pending {
  readonly op: () => Op<unknown>
  readonly apart: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Commits that wait for a connection: one operation, or whatever has gathered under a name. */
type Unit = Pending | string

const DONE = Symbol('done')

/** A transaction that was not committed, and why: the operations may run again. */
class NotCommitted extends Error {
  constructor(override readonly cause: unknown) {
    super('not committed')
  }
}

/**
 * Runs operations in transactions: most in one of their own, several at a time; those that say so (store.ts, Shared)
 * together with what gathered while the last commit of their name was under way. Statements of several operations
 * go out side by side, which is what makes many of them take the time of few; where one fails, each runs alone.
 */
export class Writes {
  readonly #connections: Connections
  readonly #channel: string
  readonly #told: (subjects: readonly string[]) => void
  readonly #payloadOf: (subject: string) => string
  readonly #ready: Unit[] = []
  readonly #gathering = new Map<string, Pending[]>()
  readonly #lanes = new Lanes(TRANSACTIONS_MAX, () => this.#next())

  constructor(
    connections: Connections,
    notices: {
      readonly channel: string
      payloadOf(subject: string): string
      told(subjects: readonly string[]): void
    },
  ) {
    this.#connections = connections
    this.#channel = notices.channel
    this.#told = (subjects) => notices.told(subjects)
    this.#payloadOf = (subject) => notices.payloadOf(subject)
  }

  write<T>(op: () => Op<T>, shared: Shared | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pending: Pending = { op, apart: shared?.apart ?? '', resolve: resolve as (value: unknown) => void, reject }
      if (shared === undefined) this.#ready.push(pending)
      else {
        const gathered = this.#gathering.get(shared.commit)
        if (gathered === undefined) {
          this.#gathering.set(shared.commit, [pending])
          this.#ready.push(shared.commit)
        } else gathered.push(pending)
      }
      this.#lanes.schedule()
    })
  }

  /** Resolves when nothing waits or runs any more. */
  drained(): Promise<void> {
    return this.#lanes.drained()
  }

  #next(): Promise<void> | null {
    const unit = this.#ready.shift()
    return unit === undefined ? null : this.#run(unit).then(() => this.#ended(unit))
  }

  #ended(unit: Unit): void {
    if (typeof unit !== 'string') return
    if (!this.#gathering.get(unit)?.length) this.#gathering.delete(unit)
    else this.#ready.push(unit)
  }

  async #run(unit: Unit): Promise<void> {
    const batch = typeof unit === 'string' ? this.#take(unit) : [unit]
    try {
      await this.#commit(batch)
    } catch (cause) {
      for (const { reject } of batch) reject(unavailable(cause))
      if (cause instanceof DatabaseFailure && cause.isOutage) this.#refuseWaiting(cause)
    }
  }

  /** Those of one row never go together; the others lock their rows in one order. */
  #take(name: string): Pending[] {
    const rows = new Set<string>()
    const [taken, left]: [Pending[], Pending[]] = [[], []]
    for (const it of this.#gathering.get(name) ?? []) {
      if (taken.length < TOGETHER_MAX && !rows.has(it.apart)) {
        rows.add(it.apart)
        taken.push(it)
      } else left.push(it)
    }
    this.#gathering.set(name, left)
    return taken.sort((a, b) => (a.apart < b.apart ? -1 : 1))
  }

  /** Settles all of the batch. */
  async #commit(batch: readonly Pending[]): Promise<void> {
    let refused: unknown = batch.length === 1 ? null : await this.#together(batch)
    if (refused === DONE) return
    // A connection that had ended before this: the first of them tries another.
    if (problemOf(refused) === 'away') refused = null
    for (const pending of batch) {
      // Who waits for the same rows or the same database would wait as long in vain.
      refused = isOfEveryone(refused) ? refused : await this.#alone(pending)
      if (isOfEveryone(refused)) pending.reject(unavailable(refused))
    }
    if (refused instanceof DatabaseFailure && refused.isOutage) this.#refuseWaiting(refused)
  }

  /** So that nobody waits for longer than one look at a database that is away. */
  #refuseWaiting(cause: unknown): void {
    for (const unit of this.#ready.splice(0)) {
      for (const { reject } of typeof unit === 'string' ? this.#takeAll(unit) : [unit]) reject(unavailable(cause))
    }
  }

  #takeAll(name: string): readonly Pending[] {
    const all = this.#gathering.get(name) ?? []
    this.#gathering.delete(name)
    return all
  }

  /** Why they have to run one by one, or cannot run at all. @throws when it is not known what was done */
  async #together(batch: readonly Pending[]): Promise<unknown> {
    try {
      await this.#attempt(batch)
      return DONE
    } catch (error) {
      if (!(error instanceof NotCommitted)) throw error
      return error.cause
    }
  }

  /** Settles the operation, unless it answers why nobody's can be done now. */
  async #alone(pending: Pending): Promise<unknown> {
    let elsewhere = false
    for (let run = 1; ; run++) {
      const cause = await this.#together([pending])
      if (cause === DONE) return null
      const problem = problemOf(cause)
      if (problem === 'conflict' && run < RUNS_MAX) continue
      if (problem === 'constraint' && run < RUNS_AGAINST_CONSTRAINT) continue
      // Of the connection, before anything was committed on it: another one may do.
      if ((problem === 'away' || problem === 'stale') && !elsewhere) {
        elsewhere = true
        continue
      }
      if (isOfEveryone(cause)) return cause
      pending.reject(problem === 'conflict' ? unavailable(cause) : cause)
      return null
    }
  }

  /**
   * One transaction for all of the batch, which are answered after its commit.
   * @throws NotCommitted when nothing was done; any other error when that is not known
   */
  async #attempt(batch: readonly Pending[]): Promise<void> {
    const connection = await this.#connections.lend()
    try {
      const all = await this.#beforeCommit(connection, batch)
      const subjects = all.flatMap((it) => it.subjects)
      const notices = subjects.map((it): Sent => ({ sql: NOTIFY, params: [this.#channel, this.#payloadOf(it)] }))
      const answers = await connection.send([...notices, COMMIT])
      // `ROLLBACK` is what the server answers to the commit of a transaction that it has given up.
      if (answers.at(-1)?.tag !== 'COMMIT') throw new Error('the transaction was rolled back')
      for (const [index, { resolve }] of batch.entries()) resolve((all[index] as Steps).value)
      if (subjects.length > 0) this.#told(subjects)
    } finally {
      connection.giveBack()
    }
  }

  async #beforeCommit(connection: Lent, batch: readonly Pending[]): Promise<readonly Steps[]> {
    try {
      const all = batch.map(({ op }) => new Steps(op, true))
      await inStep(connection, BEGIN, all)
      return all
    } catch (cause) {
      if (connection.sound) await connection.send([ROLLBACK]).catch(() => {})
      throw new NotCommitted(cause)
    }
  }
}

/** Every operation's next statements, side by side, until none has any. @param begin before the first */
export async function inStep(connection: Lent, begin: Sent | null, all: readonly Steps[]): Promise<void> {
  let opening = begin === null ? [] : [begin]
  for (let waiting = all.filter((it) => !it.done); opening.length + waiting.length > 0; ) {
    await feedAll(connection, opening, waiting)
    opening = []
    waiting = waiting.filter((it) => !it.done)
  }
}

/** One round trip for all of them. @param before statements whose answers nobody needs */
export async function feedAll(connection: Lent, before: readonly Sent[], asking: readonly Steps[]): Promise<void> {
  const asked = asking.map((it) => it.next())
  const answers = await connection.send([...before, ...asked.flat()])
  let taken = before.length
  for (const [index, it] of asking.entries()) {
    const { length } = asked[index] as readonly Sent[]
    it.feed(answers.slice(taken, taken + length))
    taken += length
  }
}

function problemOf(cause: unknown): PostgresProblem | 'bug' {
  if (cause instanceof Superseded) return 'conflict'
  return cause instanceof DatabaseFailure ? cause.problem : 'bug'
}

function isOfEveryone(refused: unknown): boolean {
  return refused instanceof DatabaseFailure && (refused.problem === 'away' || refused.problem === 'busy')
}

export function unavailable(cause: unknown): StoreUnavailable {
  return cause instanceof StoreUnavailable ? cause : new StoreUnavailable('the database is not available', { cause })
}
