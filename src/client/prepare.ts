import { type Endpoint, mutates } from '../contract/endpoint.js'
import { findMismatch } from './evidence.js'
import { buildRequest } from './request.js'
import type { Expected } from './response.js'
import type { CallOptions, CallSettings } from './settings.js'
import type { TransportRequest } from './transport.js'

export interface PreparedCall {
  readonly ok: true
  readonly request: TransportRequest
  readonly token: string | undefined
  /** Member of a failure, so that the caller can repeat safely. */
  readonly idempotencyKey: string | undefined
  /** False for reads, whose outcome does not matter. */
  readonly mutates: boolean
  /** Default: the envelope with any data. */
  readonly expected?: Expected
}

export interface UnsendableCall {
  readonly ok: false
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

const headerText = /^[ -~]*$/

/** Everything about a call that is known before it is sent: what a dry run shows. */
export async function prepareCall(
  endpoint: Endpoint,
  input: Readonly<Record<string, unknown>>,
  settings: CallSettings,
  options: CallOptions,
): Promise<PreparedCall | UnsendableCall> {
  const built = buildRequest(endpoint, input)
  if (!built.ok) return { ok: false, message: built.message, details: { parameter: built.parameter } }
  const { token: source } = settings
  const token = typeof source === 'function' ? await source(endpoint.caller) : source
  if (token !== undefined && !headerText.test(token)) {
    return { ok: false, message: 'The credential holds characters that a header cannot carry', details: {} }
  }
  const { newIdempotencyKey = () => crypto.randomUUID() } = settings
  const idempotencyKey = options.idempotencyKey ?? (endpoint.idempotent ? newIdempotencyKey() : undefined)
  if (idempotencyKey !== undefined && !headerText.test(idempotencyKey)) {
    return { ok: false, message: 'The Idempotency-Key holds characters that a header cannot carry', details: {} }
  }
  const isMutation = mutates(endpoint)
  const { signal, timeoutMs = settings.timeoutMs ?? 30_000 } = options
  const request: TransportRequest = {
    method: built.method,
    path: built.path,
    headers: {
      accept: endpoint.streams ? 'application/x-ndjson' : 'application/json',
      ...(built.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(settings.userAgent === undefined ? {} : { 'user-agent': settings.userAgent }),
    },
    timeoutMs,
    repeatable: !isMutation || endpoint.idempotent !== undefined,
    ...(built.body === undefined ? {} : { body: built.body }),
    ...(signal === undefined ? {} : { signal }),
  }
  const expected: Expected = { mismatchOf: (data) => findMismatch(endpoint, input, data) }
  return {
    ok: true,
    request,
    token,
    mutates: isMutation,
    expected,
    idempotencyKey,
  }
}
