import { isDeepStrictEqual } from 'node:util'
import { buildRequest } from '../client/call.js'
import { findMismatch } from '../client/response.js'
import type { CredentialKind, Endpoint, OutputOf } from '../contract/endpoint.js'
import type { Members } from '../values/json.js'
import { escapeInvisible } from './escape-invisible.js'
import { NotApplicable } from './result.js'
import type { RunResources } from './run-resources.js'
import { membersOrNone, type Wire, type WireRequest, type WireResponse } from './wire.js'

/** Who calls: a credential of the profile by its kind, a credential itself, or nobody. */
export type Caller = Exclude<CredentialKind, 'operator'> | 'none' | { readonly credential: string }

export interface CallOptions {
  /** Default: the kind that the endpoint requires. */
  readonly as?: Caller
  /** Idempotency-Key; null sends none. Default: a new key where the endpoint requires one. */
  readonly key?: string | null
  /** More headers, or others, by lower-case name. */
  readonly headers?: WireRequest['headers']
  /** Body in place of the members of the input. */
  readonly body?: string
  readonly timeoutMs?: number
}

/** A response of the platform. `Data` is what the contract promises: a probe checks what it relies on. */
export interface Observed<Data = unknown> extends WireResponse {
  /** Why `data` is not what the contract promises; undefined if the response is a success. */
  readonly fault: string | undefined
  /** Whether it is a success of the envelope, with whatever data. */
  readonly isSuccess: boolean
  /** `data` of the envelope. */
  readonly data: Data
  /** `code` of the envelope, if it is a text. */
  readonly code: string | undefined
  /** `details` of the envelope; empty without them. */
  readonly details: Members
  readonly isReplay: boolean
}

/** Ends a probe: what it observed is not what the rule says. */
export class Difference extends Error {
  constructor(
    readonly expected: string,
    readonly observed: string,
    /** The last request before the difference; what a probe restores afterwards sends others. */
    readonly request: WireRequest | undefined,
  ) {
    super('difference')
  }
}

/** What a probe gets: functions for calls and statements, and the resources of the run. */
export class ProbeContext {
  /** Whether a refusal of the platform had a code. */
  #hasCodes = false

  constructor(
    readonly resources: RunResources,
    readonly wire: Wire,
  ) {}

  /** Calls an endpoint of the contract. Unknown and wrong members of the input are sent as they are. */
  async call<E extends Endpoint>(
    endpoint: E,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<Observed<OutputOf<E>>> {
    const built = buildRequest(endpoint, input)
    if (!built.ok) throw new TypeError(built.message)
    const { as = endpoint.caller as Caller, key, headers, body = built.body, timeoutMs } = options
    const newKey = endpoint.idempotent === true && key === undefined ? this.resources.name() : key
    const response = await this.wire.send({
      method: built.method,
      path: built.path,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...this.#authorization(as),
        ...(newKey === undefined || newKey === null ? {} : { 'idempotency-key': newKey }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    return this.#observed(response, endpoint, input)
  }

  /** Sends any request. Without `as` it has no credential. */
  async send(request: WireRequest & { readonly as?: Caller }): Promise<Observed> {
    const { as = 'none', headers, ...rest } = request
    return this.#observed(await this.wire.send({ ...rest, headers: { ...this.#authorization(as), ...headers } }))
  }

  /** Returns `data` of a success. @throws Difference for another response */
  accepts<Data>(response: Observed<Data>, status?: number): Data {
    if (response.fault !== undefined || (status !== undefined && response.status !== status)) {
      this.#differs(`a success${status === undefined ? '' : ` with status ${status}`}`, inWords(response))
    }
    return response.data
  }

  /** Returns `data` of a response with a status of 2xx: what it lacks is for other rules. @throws Difference otherwise */
  succeeds<Data>({ status, code, data }: Observed<Data>): Data {
    this.holds(status >= 200 && status <= 299, 'a status of 2xx', `status ${status} ${code ?? ''}`.trimEnd())
    return data
  }

  /** @throws Difference unless the response is a refusal with this status and, if given, this code */
  refuses(response: Observed, status: number, code?: string): void {
    const isExpected = response.status === status
    if (isExpected && (code === undefined || response.code === code)) return
    // The rule of the envelope reports a platform without codes; the rules that name one do not repeat it.
    const lacksCode = isExpected && response.code === undefined
    if (lacksCode && !this.#hasCodes) this.notApplicable('Needs a platform whose refusals have a code.')
    this.#differs(
      `status ${status}${code === undefined ? '' : ` ${code}`}`,
      response.isSuccess ? `status ${response.status}, a success` : inWords(response),
    )
  }

  /** @throws Difference unless both are equal, members in any order */
  equals(what: string, observed: unknown, expected: unknown): void {
    if (isDeepStrictEqual(observed, expected)) return
    this.#differs(`${what}: ${shown(expected)}`, `${what}: ${shown(observed)}`)
  }

  /** @throws Difference unless the condition holds */
  holds(condition: boolean, expected: string, observed: unknown): void {
    if (!condition) this.#differs(expected, typeof observed === 'string' ? observed : shown(observed))
  }

  /** Returns `data` of a success on which the probe is built. @throws NotApplicable for another response */
  needs<Data>(response: Observed<Data>, what: string): Data {
    if (response.fault === undefined) return response.data
    throw new NotApplicable(`Needs ${what}: ${this.#cut(inWords(response))}.`)
  }

  /** Ends the probe: the platform lacks what the probe needs. */
  notApplicable(reason: string): never {
    throw new NotApplicable(reason)
  }

  #differs(expected: string, observed: string): never {
    throw new Difference(this.#cut(expected), this.#cut(observed), this.wire.last)
  }

  /** Hides secrets before it cuts the text: a part of one would not be found. */
  #cut(text: string): string {
    const hidden = this.resources.secrets.hide(text)
    return hidden.length > SHOWN_LENGTH ? `${hidden.slice(0, SHOWN_LENGTH)}…` : hidden
  }

  #authorization(as: Caller): Readonly<Record<string, string>> {
    if (as === 'none') return {}
    const credential = typeof as === 'string' ? this.resources.credential(as) : as.credential
    return { authorization: `Bearer ${credential}` }
  }

  #observed<Data>(response: WireResponse, endpoint?: Endpoint, input: Members = {}): Observed<Data> {
    const { success, data, code, details } = membersOrNone(response.json)
    this.resources.secrets.addFrom(response.json)
    const isSuccess = response.status >= 200 && response.status <= 299 && success === true && data !== undefined
    if (success === false && typeof code === 'string') this.#hasCodes = true
    const mismatch = isSuccess && endpoint !== undefined ? findMismatch(endpoint, input, data) : undefined
    return {
      ...response,
      fault: isSuccess ? mismatch : 'no success',
      isSuccess,
      data: data as Data,
      code: typeof code === 'string' ? code : undefined,
      details: membersOrNone(details),
      isReplay: response.headers['idempotent-replayed']?.toLowerCase() === 'true',
    }
  }
}

const SHOWN_LENGTH = 400

/** JSON of a value, in which null is only what the platform sent as null. */
function shown(value: unknown): string {
  if (isNothing(value)) return 'nothing'
  return escapeInvisible(JSON.stringify(value, (_, it) => (isNothing(it) ? 'nothing' : it)))
}

const isNothing = (value: unknown) => value === undefined || Number.isNaN(value)

function inWords({ status, code, fault, text, json }: Observed): string {
  if (code !== undefined) return `status ${status} ${code}`
  if (fault === undefined) return `status ${status}, a success`
  return `status ${status}${fault === 'no success' ? `: ${shown(json ?? text)}` : `, but ${fault}`}`
}
