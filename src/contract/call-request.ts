// How a call becomes a request, for the client, the command line and the page; call-text.ts writes it as a command.

type Members = Readonly<Record<string, unknown>>

/** What the request of an endpoint depends on. */
interface RequestForm {
  readonly path: string
  /** Says whether a member belongs in the query; all others that the path does not name form the body. */
  isInQuery(name: string): boolean
  /** True to send `{}` for a call without members of the body. */
  readonly needsBody: boolean
}

/** Path with query and body of a call. */
interface RequestParts {
  readonly ok: true
  readonly path: string
  /** Absent if the request has no body. */
  readonly body?: Members
}

/** A call that no request can carry. */
export interface UnsendableCall {
  readonly ok: false
  readonly message: string
  readonly details: Members
}

/**
 * Splits the flat input of an endpoint into path parameters, query members and body. Omits members with the value
 * undefined.
 */
export function requestParts(form: RequestForm, input: Members): RequestParts | UnsendableCall {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  let unsendable: UnsendableCall | undefined
  const path = form.path.replaceAll(/:([A-Za-z]+)/g, (_match, parameter: string) => {
    const segment = encodeSegment(String(rest.get(parameter) ?? ''))
    rest.delete(parameter)
    const message = `${parameter} must be text that is not empty, "." or ".."`
    if (segment === undefined) unsendable ??= { ok: false, message, details: { parameter } }
    return segment ?? ''
  })
  if (unsendable !== undefined) return unsendable
  const query = new URLSearchParams()
  for (const [name, value] of rest) {
    if (!form.isInQuery(name)) continue
    query.append(name, String(value))
    rest.delete(name)
  }
  return {
    ok: true,
    path: query.size > 0 ? `${path}?${query}` : path,
    ...(rest.size > 0 || form.needsBody ? { body: Object.fromEntries(rest) } : {}),
  }
}

/** Encodes a path segment. Undefined for `.`, `..` and an empty text, because URL parsers remove such segments. */
function encodeSegment(value: string): string | undefined {
  if (value === '' || value === '.' || value === '..') return undefined
  try {
    return encodeURIComponent(value)
  } catch {
    // encodeURIComponent throws for a lone surrogate.
    return undefined
  }
}

/** Media type of bodies. */
export const JSON_TYPE = 'application/json'

interface CallHeaders {
  /** Media type of the response. */
  readonly accept?: string | undefined
  /** Media type of the body; absent without a body. */
  readonly media?: string | undefined
  readonly authorization?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** Headers of a call, in the order in which they are shown. */
export function callHeaders({ accept, media, authorization, idempotencyKey }: CallHeaders): Record<string, string> {
  const headers = { accept, 'content-type': media, authorization, 'idempotency-key': idempotencyKey }
  return Object.fromEntries(Object.entries(headers).filter((it): it is [string, string] => it[1] !== undefined))
}
