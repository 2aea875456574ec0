import { isDeepStrictEqual } from 'node:util'
import { buildRequest } from '../client/call.js'
import { findMismatch } from '../client/response.js'
import type { CredentialKind, Endpoint, OutputOf } from '../contract/endpoint.js'
import { contract } from '../contract/index.js'
import type { Members } from '../values/json.js'
import { escapeInvisible } from './curl.js'
import { type Basis, NotApplicable, NotUsable } from './result.js'
import type { RunResources } from './run-resources.js'
import { membersOrNone, type Wire, type WireRequest, type WireResponse } from './wire.js'

/** Caller: a credential of the profile, by kind; a given credential; or nobody. */
export type Caller = Exclude<CredentialKind, 'operator'> | 'none' | { readonly credential: string }

export interface CallOptions {
  /** Caller; default: the kind that the endpoint requires. */
  readonly as?: Caller
  /** Idempotency-Key; null sends none. Default: a new key where the endpoint requires one. */
  readonly key?: string | null
  /** Additional or changed headers, by lower-case name. */
  readonly headers?: WireRequest['headers']
  /** Body to send instead of the input members. */
  readonly body?: string
  readonly timeoutMs?: number
}

/** Response of the platform. `Data` is the type by the contract; a probe verifies each member that it uses. */
export interface Observed<Data = unknown> extends WireResponse {
  /** Why `data` violates the contract; undefined for a success. */
  readonly fault: string | undefined
  /** True for a success envelope, even with invalid `data`. */
  readonly isSuccess: boolean
  readonly data: Data
  /** `code` of the envelope, if it is a text. */
  readonly code: string | undefined
  /** `details` of the envelope; empty if absent. */
  readonly details: Members
  readonly isReplay: boolean
}

/** Ends a probe: the platform does not follow the rule. */
export class Difference extends Error {
  constructor(
    readonly expected: string,
    readonly observed: string,
    /** Last request before the difference; the clean-up of a probe sends later requests. */
    readonly request: WireRequest | undefined,
    /** Basis of the difference if the probe is partly specified. */
    readonly basis: Basis = 'specified',
    /** True if a refusal differs from the expected one only in its code. */
    readonly isWording = false,
  ) {
    super('difference')
  }
}

/** The argument of a probe: functions for calls and statements, and the resources of the run. */
export class ProbeContext {
  /** True if any refusal of the platform had a code. */
  #hasCodes = false

  constructor(
    readonly resources: RunResources,
    readonly wire: Wire,
  ) {}

  /** Calls an endpoint of the contract. Sends unknown and wrong members of the input unchanged. */
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
    const { template, credentials } = this.resources.offer
    const isOffered = issuePaths.includes(endpoint.path) && template !== undefined && input.template_id === template
    const isRefused = response.status === 404 || response.status === 409
    if (isOffered && isRefused && options.as === undefined && credentials.token !== undefined) {
      await this.#requireTemplate(template, response.status)
    }
    return this.#observed(response, endpoint, input)
  }

  /** Reads the offered template after a refused issue. @throws NotUsable if no call can issue from it */
  async #requireTemplate(id: string, refusal: number): Promise<void> {
    const { last } = this.wire
    let found: Members | undefined
    for (let page = 1; found === undefined && page <= PAGES_MAX; page += 1) {
      const { items } = membersOrNone((await this.call(contract.templates.list, { limit: 100, page })).data)
      const isEnd = !Array.isArray(items) || items.length === 0
      const atEnd = Array.isArray(items) && refusal === 404 ? { status: 'unknown' } : {}
      found = isEnd ? atEnd : items.map(membersOrNone).find((it) => it.id === id)
    }
    this.wire.last = last
    const { status = 'active', issuedCount, issueLimit } = found ?? {}
    if (status !== 'active') this.notUsable(`--template ${id} is ${status}, not active.`)
    if (Number(issuedCount) >= Number(issueLimit))
      this.notUsable(`--template ${id} has no voucher left (${issuedCount} of ${issueLimit} are issued).`)
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

  /** Returns `data` of a 2xx response; other rules check the rest. @throws Difference for another status */
  succeeds<Data>({ status, code, data }: Observed<Data>): Data {
    this.holds(status >= 200 && status <= 299, 'a status of 2xx', `status ${status} ${code ?? ''}`.trimEnd())
    return data
  }

  /** @throws Difference unless the response is a refusal with this status and, if given, this code */
  refuses(response: Observed, status: number, code?: string): void {
    const isExpected = response.status === status
    if (isExpected && (code === undefined || response.code === code)) return
    // The rule of the envelope reports a platform without codes; rules that name a code do not repeat the difference.
    const lacksCode = isExpected && response.code === undefined
    if (lacksCode && !this.#hasCodes) this.notApplicable('Needs a platform whose refusals have a code.')
    const isAccepted = response.status >= 200 && response.status <= 299
    const isWording = isExpected && response.code !== undefined
    this.#differs(
      `status ${status}${code === undefined ? '' : ` ${code}`}`,
      response.isSuccess ? `status ${response.status}, a success` : inWords(response),
      isAccepted ? 'specified' : 'decided',
      isWording,
    )
  }

  /** @throws Difference unless both values are equal, with members in any order */
  equals(what: string, observed: unknown, expected: unknown): void {
    if (isDeepStrictEqual(observed, expected)) return
    this.#differs(`${what}: ${shown(expected)}`, `${what}: ${shown(observed)}`)
  }

  /** @param basis basis of this difference in a probe that is partly specified. @throws Difference unless it holds */
  holds(condition: boolean, expected: string, observed: unknown, basis?: Basis): void {
    if (!condition) this.#differs(expected, typeof observed === 'string' ? observed : shown(observed), basis)
  }

  /** Returns `data` of a success that the probe only builds on. @throws NotApplicable for another response */
  needs<Data>(response: Observed<Data>, what: string): Data {
    if (response.fault === undefined) return response.data
    throw new NotApplicable(`Needs ${what}: ${this.#cut(inWords(response))}.`)
  }

  /** Returns a refusal that the probe builds on. @throws Difference for a success, NotApplicable for another refusal */
  needsRefusal(response: Observed, wanted: number | '4xx' = '4xx'): Observed {
    const { status } = response
    const expected = wanted === '4xx' ? 'a refusal' : `status ${wanted}`
    this.holds(status < 200 || status > 299, expected, `status ${status}, a success`)
    if (wanted === '4xx' ? status >= 400 && status <= 499 : status === wanted) return response
    return this.notApplicable(`Needs ${expected}: ${inWords(response)}.`)
  }

  /** Ends the probe: the platform lacks something that it needs. */
  notApplicable(reason: string): never {
    throw new NotApplicable(reason)
  }

  /** Ends the probe: what the user offered cannot be used. */
  notUsable(reason: string): never {
    throw new NotUsable(reason)
  }

  #differs(expected: string, observed: string, basis?: Basis, isWording?: boolean): never {
    throw new Difference(this.#cut(expected), this.#cut(observed), this.wire.last, basis, isWording)
  }

  /** Hides secrets before truncation, because part of a secret would not be found. */
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
const issuePaths: readonly string[] = [contract.vouchers.issue.path, contract.bots.issue.path]
/** Pages of 100 templates among which the offered template is searched. */
const PAGES_MAX = 10

/** Formats a value as JSON; undefined is distinct from a null that the platform sent. */
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
