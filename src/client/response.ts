import { credentialTypes, type Endpoint, type Evidence, evidenceOf } from '../contract/endpoint.js'
import { asMembers, type Members, parseJson } from '../values/json.js'
import type { CallSuccess } from './result.js'
import type { TransportResponse } from './transport.js'

/** Conditions under which a response counts as the success of a call. */
export interface Expected {
  /** True for endpoints that respond without the envelope: any JSON counts as a success. */
  readonly bare?: boolean
  /** Says why `data` cannot be the result of the call; undefined if it can be. */
  mismatchOf?(data: unknown): string | undefined
}

/**
 * Reads a successful response; undefined if it is a failure. A success has a 2xx status, the envelope (`success: true`
 * with `data`) and the required members of the call (rules/calls.md#success).
 */
export function readSuccess<Data>(response: TransportResponse, expected: Expected = {}): CallSuccess<Data> | undefined {
  const { status, headers, body } = response
  const json = parseBody(body)
  const members = asMembers(json)
  const success = isSuccess(response) ? dataOf(json, members, expected) : undefined
  if (success === undefined || expected.mismatchOf?.(success.data) !== undefined) return undefined
  return {
    ok: true,
    data: success.data as Data,
    status,
    requestId: requestIdOf(members, headers),
    replayed: headers['idempotent-replayed']?.toLowerCase() === 'true',
    headers,
  }
}

export const isSuccess = ({ status }: TransportResponse) => status >= 200 && status <= 299

/** The `data` of a successful response; undefined if the body is not a success. */
function dataOf(
  json: unknown,
  members: Members | undefined,
  { bare = false }: Expected,
): { data: unknown } | undefined {
  if (members?.success === true && Object.hasOwn(members, 'data')) return { data: members.data }
  return bare && json !== undefined && typeof members?.success !== 'boolean' ? { data: json } : undefined
}

export function requestIdOf(members: Members | undefined, headers: TransportResponse['headers']): string | null {
  return asText(members?.requestId) ?? headers['x-request-id'] ?? null
}

/** Maximum nesting depth: JSON.parse accepts any depth, but JSON.stringify overflows the stack at 10,000 levels. */
const RESPONSE_DEPTH_MAX = 500

/** Parses a body as JSON; undefined if the body is not JSON, for example empty. */
export const parseBody = (body: string): unknown => parseJson(body, RESPONSE_DEPTH_MAX)

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Describes the first required member that `data` lacks or whose value is wrong; undefined if `data` is a success. */
export function findMismatch(
  endpoint: Pick<Endpoint, 'output' | 'evidence'>,
  input: Members,
  data: unknown,
): string | undefined {
  const members = asMembers(data) ?? {}
  for (const [name, evidence] of Object.entries(evidenceOf(endpoint))) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined
    if (value === undefined) return `data.${name} is missing`
    const { form, fits } = expectationOf(evidence, input)
    if (!fits(value)) return `data.${name} is not ${form}`
  }
  return undefined
}

interface Expectation {
  /** Describes the expected value without quoting the call's input, which may be a secret. */
  readonly form: string
  fits(value: unknown): boolean
}

/** Value that a response member must have; any text if the call's input lacks such a member. */
function expectationOf(evidence: Evidence, input: Members): Expectation {
  if (typeof evidence === 'string') return expectations[evidence]
  if ('value' in evidence) return { form: `"${evidence.value}"`, fits: (it) => it === evidence.value }
  const sent = input[evidence.input]
  if (typeof sent !== 'string') return expectations.text
  return { form: `the ${evidence.input} that was sent`, fits: (it) => it === sent }
}

const isText = (value: unknown) => asText(value) !== undefined

/** True for a redeem code or a QR token. A voucher with neither cannot be redeemed, so its response is no success. */
const isCredential = (it: Members | null) => credentialTypes.some((type) => type === it?.type) && isText(it?.value)

const expectations: Readonly<Record<Extract<Evidence, string>, Expectation>> = {
  text: { form: 'a text', fits: isText },
  boolean: { form: 'true or false', fits: (it) => typeof it === 'boolean' },
  list: { form: 'a list', fits: Array.isArray },
  credentials: {
    form: 'a list with a redeem code or QR token',
    fits: (it) => Array.isArray(it) && it.some(isCredential),
  },
}
