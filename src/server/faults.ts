import type { ValidationIssue } from '../contract/envelope.js'
import { type FailureCode, failures, isFailureCode, type Refusal, refuse } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import type { Fault, HeldCall } from '../contract/platform/controls.js'
import {
  DELIVERIES,
  deliveryFaults,
  type FaultKind,
  type FaultMatch,
  type HoldPlace,
  type NewFault,
  waitingFaults,
} from '../contract/platform/fault-kinds.js'
import type { RandomBytes } from '../domain/ids.js'
import { formatInstant } from '../domain/time.js'
import { updateSubject } from '../domain/update.js'
import { closest } from '../values/closest.js'
import { hasMembers } from '../values/has-members.js'
import { seededRandom } from '../values/seeded-random.js'
import type { Cut } from './http/api-call.js'
import { type WaitEnd, Waits } from './waits.js'

/** Default of `hold_ms`. */
const HOLD_MS = 60_000

/** Ids of the endpoints that can have faults: all except the operator's. */
const faultable: readonly string[] = endpoints.filter(({ caller }) => caller !== 'operator').map(({ id }) => id)

/** Returns what is wrong with the target of a fault. */
function issueOfTarget({ endpoint, kind }: NewFault): ValidationIssue | undefined {
  const isDelivery = deliveryFaults.includes(kind)
  if (endpoint === DELIVERIES) {
    const message = `must be one of ${deliveryFaults.join(', ')} for ${DELIVERIES}`
    return isDelivery ? undefined : { pointer: '/kind', code: 'enum', message }
  }
  if (isDelivery)
    return { pointer: '/endpoint', code: 'conflict', message: `must be ${DELIVERIES} for the kind ${kind}` }
  if (faultable.includes(endpoint)) return undefined
  const close = closest(endpoint, [...faultable, DELIVERIES])
  const message = 'must be the id of an endpoint such as vouchers.redeem, and not of an operator call'
  const issue = { pointer: '/endpoint', code: 'enum', message }
  return close === undefined ? issue : { ...issue, suggestion: `did you mean ${close}?` }
}

/** Returns what is wrong with a fault whose members are valid alone. */
export function issueOfFault(fault: NewFault): ValidationIssue | undefined {
  const { endpoint, kind, match } = fault
  const isDelivery = endpoint === DELIVERIES
  const has = (member: keyof NewFault) => fault[member] !== undefined
  const onlyOfStatus = (['status', 'code', 'retry_after'] as const).find(has)
  const foreign = (isDelivery ? (['path'] as const) : (['bot', 'type'] as const)).find(
    (it) => match?.[it] !== undefined,
  )
  const rules: readonly (readonly [isWrong: boolean, member: string, code: string, message: string])[] = [
    [has('nth') && has('share'), 'nth', 'conflict', 'cannot be combined with a share'],
    [has('seed') && !has('share'), 'seed', 'conflict', 'is allowed only with a share'],
    [kind === 'delay' && !has('delay_ms'), 'delay_ms', 'required', 'must be a number of ms for the kind delay'],
    [isDelivery && has('delay_ms'), 'delay_ms', 'conflict', 'is allowed only for calls'],
    [kind === 'status' && !has('status'), 'status', 'required', 'is required for the kind status'],
    [
      kind !== 'status' && onlyOfStatus !== undefined,
      onlyOfStatus ?? 'kind',
      'conflict',
      'is allowed only for the kind status',
    ],
    [has('at') && kind !== 'hold', 'at', 'conflict', 'is allowed only for the kind hold'],
    [
      has('hold_ms') && !waitingFaults.includes(kind),
      'hold_ms',
      'conflict',
      `is allowed only for the kinds ${waitingFaults.join(', ')}`,
    ],
    [foreign !== undefined, `match/${foreign}`, 'conflict', `is allowed only for ${isDelivery ? 'calls' : DELIVERIES}`],
    [
      match !== undefined && Object.values({ ...match, body: Object.keys(match.body ?? {})[0] }).every((it) => !it),
      'match',
      'conflict',
      `needs ${isDelivery ? 'a bot, a type' : 'a path'} or members of body`,
    ],
  ]
  const [, member, code = '', message = ''] = rules.find(([isWrong]) => isWrong) ?? []
  return issueOfTarget(fault) ?? (member === undefined ? undefined : { pointer: `/${member}`, code, message })
}

type Work<T> = () => Promise<T | Refusal>
type Enter<T> = (work: Work<T>) => Promise<T | Refusal>

interface FaultSources {
  newId(prefix: 'flt'): string
  /** Time of the server's clock, ms since 1970. */
  now(): number
  /** Waits of delays and holds; default: of real time. */
  readonly waits?: Waits
  readonly random: RandomBytes
}

/** What only the server knows of a fault. */
interface Selection {
  readonly match: FaultMatch | undefined
  /** Draws for a share with a seed. */
  readonly draw: (() => number) | undefined
  /** Calls so far that match. */
  calls: number
}

/** A call or a delivery, for `match`. */
interface Subject {
  readonly path?: string
  readonly bot?: string
  readonly type?: string | null
  readonly body: unknown
}

/** The call that a fault may affect, and what a fault does to it. */
export interface FaultedCall {
  readonly requestId: string
  /** Header Host of the connection's request, which names the port. */
  readonly host: string
  readonly path: string
  readonly body: unknown
  /** Closes the connection now or at a place of the response. */
  cut(at: Cut): void
  /** Holds the response, at its head or after it, until `end` resolves. */
  hold(at: 'head' | 'body', end: () => Promise<unknown>): void
  /** Returns a signal that aborts when the client disconnects. */
  gone(): AbortSignal
  /** Called with the fault that affects the call. */
  note(fault: Fault): void
}

type WaitListener = (requestId: string, kind: FaultKind, end: WaitEnd) => void

/** Injects faults into calls of an endpoint, by contract id, and into deliveries (rules/operator.md#faults). */
export class Faults {
  readonly #waits: Waits
  readonly #calls = new Set<Promise<unknown>>()
  readonly #held = new Map<HeldCall, () => void>()
  /** Active faults, oldest first. */
  #faults: readonly Fault[] = []
  /** Faults at the start, and after a reset or restore. */
  #initial: readonly NewFault[] = []
  readonly #selections = new WeakMap<Fault, Selection>()
  readonly #listeners = new Set<() => void>()
  readonly #waitListeners = new Set<WaitListener>()
  readonly #sources: FaultSources

  constructor(sources: FaultSources) {
    this.#sources = sources
    this.#waits = sources.waits ?? new Waits()
  }

  /** Ends all delays and holds until `resume`: these calls run now. */
  suspend(): void {
    this.#waits.suspend()
  }

  resume(): void {
    this.#waits.resume()
  }

  add({ match, ...added }: NewFault): Fault {
    const { times = added.share === undefined ? 1 : null, share = null, seed, delay_ms = null } = added
    const { body, ...others } = match ?? {}
    const fault: Fault = {
      id: this.#sources.newId('flt'),
      ...(added.kind === 'hold' && { at: 'committed' }),
      ...(waitingFaults.includes(added.kind) && { hold_ms: HOLD_MS }),
      ...added,
      ...{ times, left: times, share, delay_ms },
      // Values of a body may be credentials: show only the names of members.
      ...(match && { match: { ...others, ...(body && { body: Object.keys(body) }) } }),
    }
    const draw = seed === undefined ? undefined : seededRandom(seed)
    this.#selections.set(fault, { match, draw, calls: 0 })
    this.#change([...this.#faults, fault])
    return fault
  }

  /** Leaves only the faults of the start. @param initial faults of the seed */
  restart(initial = this.#initial): void {
    this.clear()
    this.#initial = initial
    for (const fault of initial) this.add(fault)
  }

  /** Calls `listener` after each change, even of a remaining count or of a held call. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls `listener` when a hold, a silence or a hang has ended. Returns a function that removes the listener. */
  onWaitEnd(listener: WaitListener): () => void {
    this.#waitListeners.add(listener)
    return () => this.#waitListeners.delete(listener)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  remove(id: string): Fault | undefined {
    const fault = this.#faults.find((it) => it.id === id)
    if (fault !== undefined) this.#change(this.#faults.filter((it) => it !== fault))
    return fault
  }

  /** Returns the calls that are held now, oldest first. */
  held(): readonly HeldCall[] {
    return [...this.#held.keys()]
  }

  /** Lets held calls go on; returns their number. */
  release(isReleased: (call: HeldCall) => boolean): number {
    const released = this.held().filter(isReleased)
    for (const it of released) this.#held.get(it)?.()
    return released.length
  }

  /**
   * Runs a call with the oldest fault of its endpoint that affects it, if any.
   * @param enter does the idempotency check, then runs what it is given
   */
  run<T>(endpoint: string, enter: Enter<T>, work: Work<T>, call: FaultedCall): Promise<T | Refusal> {
    const fault = this.#faults.length === 0 ? undefined : this.#next(endpoint, call)
    if (fault === undefined) return enter(work)
    const isBeforeCheck = fault.kind === 'hang' || fault.at === 'received'
    const running = isBeforeCheck
      ? this.#apply(fault, () => enter(work), call)
      : enter(() => this.#apply(fault, work, call))
    this.#calls.add(running)
    return running.finally(() => this.#calls.delete(running))
  }

  /** Returns the oldest fault that affects an attempt of a delivery, if any. @param body the update, JSON */
  ofDelivery(bot: string, body: string): Fault | undefined {
    if (!this.#faults.some((it) => it.endpoint === DELIVERIES)) return undefined
    return this.#next(DELIVERIES, { bot, type: updateSubject(body).type, body: JSON.parse(body) })
  }

  async #apply<T>(fault: Fault, work: Work<T>, call: FaultedCall): Promise<T | Refusal> {
    call.note(fault)
    const { kind, at, delay_ms: delay } = fault
    const refusal = { ...refuse('SERVICE_UNAVAILABLE'), retryAfterSeconds: 1 }
    if (delay !== null && (await this.#waits.begin(delay).ended) === 'closed') return refusal
    if (kind === 'error') return refusal
    if (kind === 'status') return plantedRefusal(fault)
    if (kind === 'hang') await this.#wait(fault, call).ended
    if (kind === 'hang' || kind === 'refuse_connection') {
      call.cut('now')
      return refusal
    }
    if (at === 'received' || at === 'before') {
      const end = await this.#hold(fault, at, call)
      // Nothing is done for a client that ended before the work.
      if (end === 'gone' || end === 'closed') return refusal
    }
    const result = await work()
    if (at === 'committed') await this.#hold(fault, at, call)
    if (at === 'answered') call.hold('body', () => this.#hold(fault, at, call))
    if (kind === 'silence') call.hold('head', () => this.#wait(fault, call).ended)
    // Return the result although the connection is closed: request log and metrics record it.
    if (kind === 'drop_response') call.cut('now')
    if (kind === 'cut_connection') call.cut('head')
    if (kind === 'cut_body') call.cut('body')
    return result
  }

  /** Holds a call (rules/operator.md#held-calls) until its release, the end of its client or of the server, or for `hold_ms`. */
  async #hold(fault: Fault, at: HoldPlace, call: FaultedCall): Promise<WaitEnd> {
    const { id, endpoint, hold_ms = HOLD_MS } = fault
    const since = formatInstant(this.#sources.now())
    const held: HeldCall = { request_id: call.requestId, fault_id: id, endpoint, at, since, hold_ms }
    const { ended, release } = this.#wait(fault, call)
    this.#held.set(held, release)
    this.#report()
    try {
      return await ended
    } finally {
      this.#held.delete(held)
      this.#report()
    }
  }

  /** Begins a wait that `hold_ms` limits and the end of the client ends. */
  #wait({ kind, hold_ms = HOLD_MS }: Fault, call: FaultedCall) {
    const wait = this.#waits.begin(hold_ms, call.gone())
    const ended = wait.ended.then((end) => {
      for (const listener of this.#waitListeners) listener(call.requestId, kind, end)
      return end
    })
    return { ...wait, ended }
  }

  /** Finds the fault of a call, decrementing its count. */
  #next(endpoint: string, subject: Subject): Fault | undefined {
    let next: Fault | undefined
    for (const fault of this.#faults) {
      const selection = this.#selections.get(fault)
      if (selection === undefined || fault.endpoint !== endpoint || !fits(subject, selection.match)) continue
      // Count and draw even if an older fault affects the call, so that the choice does not depend on other faults.
      selection.calls += 1
      const drawn = selection.draw?.()
      if (next !== undefined || selection.calls < (fault.nth ?? 1)) continue
      if (fault.share === null || (drawn ?? this.#randomShare()) < fault.share) next = fault
    }
    if (typeof next?.left === 'number') this.#count(next, next.left - 1)
    return next
  }

  #count(fault: Fault, left: number): void {
    const counted = { ...fault, left }
    this.#selections.set(counted, this.#selections.get(fault) as Selection)
    this.#change(this.#faults.flatMap((it) => (it !== fault ? it : left === 0 ? [] : counted)))
  }

  #change(faults: readonly Fault[]): void {
    this.#faults = faults
    this.#report()
  }

  #report(): void {
    for (const listener of this.#listeners) listener()
  }

  /** A random number from 0 to less than 1. */
  #randomShare(): number {
    return Buffer.from(this.#sources.random(4)).readUInt32BE() / 2 ** 32
  }

  /** Ends all delays and holds; resolves when these calls have ended. */
  async end(): Promise<void> {
    this.#waits.close()
    await Promise.allSettled(this.#calls)
  }

  clear(): number {
    const removed = this.#faults.length
    if (removed > 0) this.#change([])
    return removed
  }
}

/** Returns the refusal of a fault with a status. A client may get a code that the failure table lacks. */
function plantedRefusal({ status = 503, code, retry_after }: Fault): Refusal {
  const named = code ?? Object.entries(failures).find(([, it]) => it.status === status)?.[0] ?? `STATUS_${status}`
  const known = isFailureCode(named) ? failures[named] : undefined
  const planted = {
    status,
    message: known?.message ?? 'A fault of the test caused this response',
    retryable: known?.retryable ?? (status === 429 || status >= 500),
  }
  const refusal = { ok: false, code: named as FailureCode, planted } as const
  return retry_after === undefined ? refusal : { ...refusal, retryAfterSeconds: retry_after }
}

function fits({ path = '', bot, type, body }: Subject, match: FaultMatch = {}): boolean {
  return (
    (match.path === undefined || fitsPath(path, match.path)) &&
    (match.bot === undefined || match.bot === bot) &&
    (match.type === undefined || match.type === type) &&
    hasMembers(body ?? {}, match.body ?? {})
  )
}

/** Tests a path without a regular expression, whose time could grow with the square of a pattern. */
function fitsPath(path: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return path === pattern
  if (!path.startsWith(first)) return false
  let at = first.length
  for (const part of parts) {
    const found = path.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return path.length - last.length >= at && path.endsWith(last)
}
