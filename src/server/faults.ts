import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { ValidationIssue } from '../contract/envelope.js'
import { type FailureCode, failures, isFailureCode, type Refusal, refuse } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import type { Fault } from '../contract/platform/controls.js'
import type { FaultMatch, NewFault } from '../contract/platform/fault-kinds.js'
import type { RandomBytes } from '../domain/ids.js'
import { closest } from '../values/closest.js'
import { hasMembers } from '../values/has-members.js'
import { seededRandom } from '../values/seeded-random.js'
import type { Cut } from './http/api-call.js'

/** Ids of the endpoints that can have faults: all except the operator's. */
const faultable: readonly string[] = endpoints.filter(({ caller }) => caller !== 'operator').map(({ id }) => id)

/** Returns what is wrong with a fault whose members are valid alone. */
export function issueOfFault(fault: NewFault): ValidationIssue | undefined {
  if (!faultable.includes(fault.endpoint)) {
    const close = closest(fault.endpoint, faultable)
    const message = 'must be the id of an endpoint such as vouchers.redeem, and not of an operator call'
    const issue = { pointer: '/endpoint', code: 'enum', message }
    return close === undefined ? issue : { ...issue, suggestion: `did you mean ${close}?` }
  }
  const { kind, match } = fault
  const has = (member: keyof NewFault) => fault[member] !== undefined
  const onlyOfStatus = (['status', 'code', 'retry_after'] as const).find(has)
  const rules: readonly (readonly [isWrong: boolean, member: keyof NewFault, code: string, message: string])[] = [
    [has('nth') && has('share'), 'nth', 'conflict', 'cannot be combined with a share'],
    [has('seed') && !has('share'), 'seed', 'conflict', 'is allowed only with a share'],
    [kind === 'delay' && !has('delay_ms'), 'delay_ms', 'required', 'must be a number of ms for the kind delay'],
    [kind === 'status' && !has('status'), 'status', 'required', 'is required for the kind status'],
    [
      kind !== 'status' && onlyOfStatus !== undefined,
      onlyOfStatus ?? 'kind',
      'conflict',
      'is allowed only for the kind status',
    ],
    [
      has('match') && !match?.path && Object.keys(match?.body ?? {}).length === 0,
      'match',
      'conflict',
      'needs a path or members of body',
    ],
  ]
  const [, member, code = '', message = ''] = rules.find(([isWrong]) => isWrong) ?? []
  return member && { pointer: `/${member}`, code, message }
}

interface FaultSources {
  newId(prefix: 'flt'): string
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

/** Request of a call, for `match`. */
interface CallRequest {
  readonly path: string
  readonly body: unknown
}

/** Injects faults into calls of an endpoint, by contract id (rules/operator.md#faults). */
export class Faults {
  readonly #ended = new AbortController()
  /** Aborted while a reset or restore waits for delayed calls. */
  #held = new AbortController()
  readonly #calls = new Set<Promise<unknown>>()
  /** Active faults, oldest first. */
  #faults: readonly Fault[] = []
  /** Faults at the start, and after a reset or restore. */
  #initial: readonly NewFault[] = []
  readonly #selections = new WeakMap<Fault, Selection>()
  readonly #listeners = new Set<() => void>()
  readonly #sources: FaultSources

  constructor(sources: FaultSources) {
    this.#sources = sources
    // Each delayed call adds a listener; Node would warn at the eleventh.
    setMaxListeners(0, this.#ended.signal, this.#held.signal)
  }

  /** Ends all delays until `resume`: the delayed calls run now. */
  hold(): void {
    this.#held.abort()
  }

  resume(): void {
    this.#held = new AbortController()
    setMaxListeners(0, this.#held.signal)
  }

  add({ match, ...added }: NewFault): Fault {
    const { times = added.share === undefined ? 1 : null, share = null, seed, delay_ms = null } = added
    const { path, body } = match ?? {}
    // Values of a body may be credentials: show only the names of members.
    const shown = { ...(path && { path }), ...(body && { body: Object.keys(body) }) }
    const fault: Fault = {
      id: this.#sources.newId('flt'),
      ...added,
      ...{ times, left: times, share, delay_ms },
      ...(match && { match: shown }),
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

  /** Calls `listener` after each change, even of a remaining count. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  remove(id: string): Fault | undefined {
    const fault = this.#faults.find((it) => it.id === id)
    if (fault !== undefined) this.#change(this.#faults.filter((it) => it !== fault))
    return fault
  }

  /**
   * Runs a call with the oldest fault of its endpoint that affects it, if any.
   * @param cut closes the connection now or at a place of the response
   * @param note is called with the fault that affects the call
   */
  run<T>(
    endpoint: string,
    call: () => Promise<T>,
    cut: (at: Cut) => void,
    request: CallRequest = { path: '', body: undefined },
    note: (fault: Fault) => void = () => {},
  ): Promise<T | Refusal> {
    const fault = this.#faults.length === 0 ? undefined : this.#next(endpoint, request)
    if (fault === undefined) return call()
    note(fault)
    return this.track(this.#apply(fault, call, cut))
  }

  async #apply<T>(fault: Fault, call: () => Promise<T>, cut: (at: Cut) => void): Promise<T | Refusal> {
    const refusal = { ...refuse('SERVICE_UNAVAILABLE'), retryAfterSeconds: 1 }
    if (fault.delay_ms !== null) {
      try {
        await this.delay(fault.delay_ms)
      } catch {
        return refusal
      }
    }
    if (fault.kind === 'error') return refusal
    if (fault.kind === 'status') return plantedRefusal(fault)
    if (fault.kind === 'refuse_connection') {
      cut('now')
      return refusal
    }
    const result = await call()
    // Return the result although the connection is closed: request log and metrics record it.
    if (fault.kind === 'drop_response') cut('now')
    if (fault.kind === 'cut_connection') cut('head')
    if (fault.kind === 'cut_body') cut('body')
    return result
  }

  /** Finds the fault of a call, decrementing its count. */
  #next(endpoint: string, request: CallRequest): Fault | undefined {
    let next: Fault | undefined
    for (const fault of this.#faults) {
      const selection = this.#selections.get(fault)
      if (selection === undefined || fault.endpoint !== endpoint || !fits(request, selection.match)) continue
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
    for (const listener of this.#listeners) listener()
  }

  /** A random number from 0 to less than 1. */
  #randomShare(): number {
    return Buffer.from(this.#sources.random(4)).readUInt32BE() / 2 ** 32
  }

  /** Delays a call. @throws when the server stops before the delay ends */
  async delay(ms: number): Promise<void> {
    const signal = AbortSignal.any([this.#ended.signal, this.#held.signal])
    await setTimeout(ms, undefined, { signal }).catch(() => this.#ended.signal.throwIfAborted())
  }

  /** Registers a call that a fault delays, so that `end` waits for it. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call)
    return call.finally(() => this.#calls.delete(call))
  }

  /** Ends all delays; resolves when the delayed calls have ended. */
  async end(): Promise<void> {
    this.#ended.abort()
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

function fits({ path, body }: CallRequest, match: FaultMatch | undefined): boolean {
  if (match === undefined) return true
  return (match.path === undefined || fitsPath(path, match.path)) && hasMembers(body ?? {}, match.body ?? {})
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
