import type { Endpoint } from '../contract/endpoint.js'
import { membersOf } from '../contract/endpoint.js'

/** A call as HTTP, without what a credential adds. */
interface BuiltRequest {
  readonly ok: true
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** JSON, absent where none is needed. */
  readonly body?: string
}

/** An input that cannot be sent, for the sake of one path parameter. */
interface UnsendableInput {
  readonly ok: false
  readonly parameter: string
  readonly message: string
}

/**
 * Splits the flat input of an endpoint: path parameters by the path, query members by the contract, everything else
 * into the body, so that the server answers for members that it does not know. Undefined members are left out.
 */
export function buildRequest(
  endpoint: Endpoint,
  input: Readonly<Record<string, unknown>>,
): BuiltRequest | UnsendableInput {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  let unsendable: UnsendableInput | undefined
  const path = endpoint.path.replaceAll(/:([A-Za-z]+)/g, (_match, parameter: string) => {
    const value = String(rest.get(parameter) ?? '')
    rest.delete(parameter)
    const segment = encodeSegment(value)
    if (segment === undefined) {
      unsendable ??= { ok: false, parameter, message: `${parameter} must be text that is not empty, "." or ".."` }
    }
    return segment ?? ''
  })
  if (unsendable !== undefined) return unsendable

  const queryMembers = membersOf(endpoint.query)
  const query = new URLSearchParams()
  for (const [name, value] of rest) {
    if (endpoint.body !== undefined && !Object.hasOwn(queryMembers, name)) continue
    query.append(name, String(value))
    rest.delete(name)
  }
  const hasBody = rest.size > 0 || (endpoint.body !== undefined && endpoint.bodyOptional !== true)
  return {
    ok: true,
    method: endpoint.method,
    path: query.size > 0 ? `${path}?${query}` : path,
    ...(hasBody ? { body: JSON.stringify(Object.fromEntries(rest)) } : {}),
  }
}

/** Undefined for what no server would see as sent: URL parsers on the way take dots and empty segments away. */
function encodeSegment(value: string): string | undefined {
  if (value === '' || value === '.' || value === '..') return undefined
  try {
    return encodeURIComponent(value)
  } catch {
    // A lone surrogate.
    return undefined
  }
}
