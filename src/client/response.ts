import { asMembers, type Members, parseJson } from '../values/json.js'
import type { CallSuccess } from './result.js'
import type { TransportResponse } from './transport.js'

/** Conditions under which a response counts as the success of a call. */
export interface Expected {
  /** True for endpoints that respond without the envelope: any JSON counts as a success. */
  readonly bare?: boolean
  /** Explains why `data` cannot be the result of the call; undefined if it can be. */
  mismatchOf?(data: unknown): string | undefined
}

/**
 * Reads a successful response; undefined if it is a failure. A success has a 2xx status, the envelope (`success: true`
 * with `data`) and the required members of the call (DECISIONS.md#success).
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
