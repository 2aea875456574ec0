import process from 'node:process'
import { callHeaders, JSON_TYPE, requestParts, type UnsendableCall } from '../contract/call-request.js'
import { type Endpoint, type InputOf, membersOf, mutates, type OutputOf } from '../contract/endpoint.js'
import { findMismatch, readSuccess } from './response.js'
import type { CallFailureCode, CallResult } from './result.js'
import { ATTEMPT_MS, type CallOptions, type CallSettings, type PreparedCall } from './settings.js'
import { isTransportError, type Transport, type TransportRequest } from './transport.js'

/** Calls one endpoint. Refusals and network failures are return values; they are never thrown. */
export type Call = <E extends Endpoint>(
  endpoint: E,
  input: InputOf<E>,
  options?: CallOptions,
) => Promise<CallResult<OutputOf<E>, CallFailureCode<E>>>

/** Import on demand: a successful call does not need the failure table, which takes half a millisecond to load. */
const failures = () => import('./failure.js')

/** Creates a function that calls endpoints over a transport. It never retries; `withRetry` adds retries. */
export function createCall(transport: Transport, settings: CallSettings = {}): Call {
  const call = async (endpoint: Endpoint, input: object, options: CallOptions = {}) => {
    if (endpoint.streams) throw new TypeError(`${endpoint.id} returns a stream: use the stream function`)
    const prepared = await prepareCall(endpoint, input as Readonly<Record<string, unknown>>, settings, options)
    if (!prepared.ok) return (await failures()).failureOfInput(prepared)
    return sendPrepared<unknown>(transport, prepared)
  }
  // The contract states data and codes of each endpoint; the response is not checked against them.
  return call as Call
}

/** Sends a prepared call. Refusals and network failures are return values; they are never thrown. */
export async function sendPrepared<Data>(transport: Transport, prepared: PreparedCall): Promise<CallResult<Data>> {
  try {
    const response = await transport(prepared.request)
    return readSuccess<Data>(response, prepared.expected) ?? (await failures()).failureOfResponse(response, prepared)
  } catch (error) {
    if (!isTransportError(error)) throw error
    return (await failures()).failureOfTransport(error, prepared)
  }
}

const headerText = /^[ -~]*$/
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/
/** Headers that the library or its transports set. */
const ownHeaders =
  /^(?:accept|authorization|connection|content-.*|expect|host|idempotency-key|keep-alive|origin|proxy-.*|te|trailer|transfer-encoding|upgrade)$/

/** Builds the complete HTTP request of a call without sending it; a dry run shows this request. */
export async function prepareCall(
  endpoint: Endpoint,
  input: Readonly<Record<string, unknown>>,
  settings: CallSettings,
  options: CallOptions,
): Promise<PreparedCall | UnsendableCall> {
  const built = buildRequest(endpoint, input)
  if (!built.ok) return built
  const token = typeof settings.token === 'function' ? await settings.token(endpoint.caller) : settings.token
  // Loaded on demand: node:crypto takes a tenth of a start of the command line.
  const { newIdempotencyKey = () => process.getBuiltinModule('node:crypto').randomUUID() } = settings
  const idempotencyKey = options.idempotencyKey ?? (endpoint.idempotent ? newIdempotencyKey() : undefined)
  const texts = { credential: token, 'Idempotency-Key': idempotencyKey }
  for (const [name, text = ''] of Object.entries(texts)) {
    const message = `The ${name} holds characters that a header cannot carry`
    if (!headerText.test(text)) return { ok: false, message, details: {} }
  }
  const { signal, timeoutMs = settings.timeoutMs ?? ATTEMPT_MS } = options
  const added = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const)
  const refused = added.find((header) => !isSendable(header))
  if (refused !== undefined) {
    const message = 'A header of the call is malformed or set by the library'
    return { ok: false, message, details: { header: refused[0] } }
  }
  const request: TransportRequest = {
    method: built.method,
    path: built.path,
    headers: {
      ...callHeaders({
        accept: endpoint.streams ? 'application/x-ndjson' : JSON_TYPE,
        media: built.body === undefined ? undefined : JSON_TYPE,
        authorization: token === undefined ? undefined : `Bearer ${token}`,
        idempotencyKey,
      }),
      ...(settings.userAgent === undefined ? {} : { 'user-agent': settings.userAgent }),
      ...Object.fromEntries(added),
    },
    timeoutMs,
    repeatable: !mutates(endpoint) || endpoint.idempotent !== undefined,
    ...(built.body === undefined ? {} : { body: built.body }),
    ...(signal === undefined ? {} : { signal }),
  }
  const mismatchOf = (data: unknown) => findMismatch(endpoint, input, data)
  return { ok: true, request, token, mutates: mutates(endpoint), expected: { mismatchOf }, idempotencyKey }
}

const isSendable = ([name, value]: readonly [string, string]) =>
  headerName.test(name) && !ownHeaders.test(name) && headerText.test(value)

/** An HTTP request without its credential headers. */
interface BuiltRequest {
  readonly ok: true
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** JSON; absent if the request has no body. */
  readonly body?: string
}

/** Builds the request of an endpoint. Unknown members go into the body, so that the server refuses them. */
export function buildRequest(
  { method, path, query, body, bodyOptional }: Endpoint,
  input: Readonly<Record<string, unknown>>,
): BuiltRequest | UnsendableCall {
  const queryMembers = membersOf(query)
  const isInQuery = (name: string) => body === undefined || Object.hasOwn(queryMembers, name)
  const parts = requestParts({ path, isInQuery, needsBody: body !== undefined && bodyOptional !== true }, input)
  if (!parts.ok) return parts
  const { body: members, ...request } = parts
  return { method, ...request, ...(members === undefined ? {} : { body: JSON.stringify(members) }) }
}
