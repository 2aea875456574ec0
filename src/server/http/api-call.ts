import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { CredentialKind } from '../../contract/endpoint.js'
import { type FailureCode, type Refusal, refuse } from '../../contract/errors.js'
import type { FaultKind } from '../../contract/platform/fault-kinds.js'
import type { InnerRequest } from '../../secure/inner-request.js'
import type { CapturedRoute } from '../observe/exchange.js'
import type { VoucherCall } from '../observe/request-log.js'

/** HTTP request and response on a connection, which carry an API call in plain text or in an envelope. */
export interface Carrier {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Where a fault ends the response. */
  cut?: Exclude<Cut, 'now'>
  /** Holds the response until `end` resolves: before its head, after which it is never sent, or before its body. */
  hold?: { readonly at: 'head' | 'body'; end(): Promise<unknown> }
}

/** Where a fault closes the connection: without a response, after the head, or after half of the body. */
export type Cut = 'now' | 'head' | 'body'

/** A call that was decrypted from an envelope. */
export interface InnerCall {
  /** Parsed JSON, which body.ts validates. */
  readonly body: unknown
  /** The plaintext that contained the body. */
  readonly text: string
  /** Length of `text` in UTF-8. */
  readonly textBytes: number
  /** Origin of the encrypted session; empty for a session without an origin. */
  readonly origin: string
}

export interface Reply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | Readable
}

/** Outcome of a route's handler. */
export type Result = Reply | Refusal

export interface Route {
  readonly method: string
  /** Endpoint whose path has parameters such as `:id`; a final `/*` matches the path before it and all below. */
  readonly endpoint: CapturedRoute
  /** True if the route accepts GET but not HEAD. */
  readonly refusesHead?: boolean
  /** Refuses a call before any of its body is read. */
  admit?(exchange: ApiCall): Refusal | null | Promise<Refusal | null>
  handle(exchange: ApiCall): Result | Promise<Result>
}

/** The authenticated caller: an application or bot (token), an account (JWT), or the operator. */
export interface Caller {
  readonly kind: CredentialKind
  /** Account of the caller; empty for the operator. */
  readonly accountId: string
  /** Application of the token, or the application linked to the bot; otherwise empty. */
  readonly applicationId: string
  /** Application token id or bot token hash; otherwise empty. */
  readonly tokenId: string
  /** Bot that calls; otherwise empty. */
  readonly botId: string
  /** Caller in the history of a voucher: id of the application token, or prefix of the bot token; otherwise empty. */
  readonly calledBy: string
}

/** The caller in whose place the operator makes a call without a credential: id of the application, bot or account. */
export interface ActingFor {
  readonly kind: Exclude<CredentialKind, 'operator'>
  readonly id: string
}

/** One API call: request, caller, route, response headers, and data for the log. */
export interface ApiCall {
  readonly id: string
  readonly method: string
  /** Request target as received. */
  readonly url: string
  /** Path and query that select the route. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  /** HTTP exchange of the call; a decrypted call has the exchange of its envelope. */
  readonly carrier: Carrier
  /** Null for a call in plain text. Unlike a header, a client cannot forge this. */
  readonly inner: InnerCall | null
  /** Null for every call of a client. Unlike a header, a client cannot forge this. */
  readonly actingFor: ActingFor | null
  readonly startedAt: number

  /** Null for a path or method without a route. */
  route: Route | null
  params: Readonly<Record<string, string | undefined>>
  query: Readonly<Record<string, unknown>>
  caller: Caller | null
  /** Gate generation of the state in which the caller was authenticated. */
  generation: number

  readonly replyHeaders: Record<string, string>
  /** Failure code of a refused call. */
  failureCode: FailureCode | null
  /** The bot whose token the request carries, even if the server refuses the token. */
  botId: string | null
  /** The voucher of a successful call. */
  voucher: VoucherCall | null
  /** The voucher of a refused call. */
  refusedVoucherId: string | null
  replayed: boolean
  /** Kind of the planted fault that affected the call; null without one. */
  fault: FaultKind | null
  /** The body as received; null if it was not read. */
  receivedBody: Buffer | null
  sentBody: string | null
}

function newExchange(
  id: string,
  { method, url, headers, rawHeaders }: Pick<ApiCall, 'method' | 'url' | 'headers' | 'rawHeaders'>,
  carrier: Carrier,
  inner: InnerCall | null,
  actingFor: ActingFor | null,
): ApiCall {
  // One literal with all members: spreading defaults into it took 4 us.
  return {
    id,
    method,
    url,
    target: targetOf(url),
    headers,
    rawHeaders,
    carrier,
    inner,
    actingFor,
    startedAt: performance.now(),
    route: null,
    params: {},
    query: {},
    caller: null,
    generation: 0,
    replyHeaders: { 'x-request-id': id, 'cache-control': 'no-store' },
    failureCode: null,
    botId: null,
    voucher: null,
    refusedVoucherId: null,
    replayed: false,
    fault: null,
    receivedBody: null,
    sentBody: null,
  }
}

export function plainExchange(id: string, request: IncomingMessage, response: ServerResponse): ApiCall {
  const { method = '', url = '/', headers, rawHeaders } = request
  return newExchange(id, { method, url, headers, rawHeaders }, { request, response }, null, null)
}

/**
 * Creates the exchange of a request that another request carries: decrypted, with the id of the envelope's exchange, or
 * of the operator in place of another caller.
 */
export function innerExchange(
  id: string,
  carrier: Carrier,
  { method, path, query, headers, body }: InnerRequest,
  plaintext: Omit<InnerCall, 'body'>,
  actingFor: ActingFor | null = null,
): ApiCall {
  const url = query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`
  const rawHeaders: string[] = []
  for (const name in headers) rawHeaders.push(name, headers[name] as string)
  return newExchange(id, { method, url, headers, rawHeaders }, carrier, { ...plaintext, body }, actingFor)
}

/** Adds the headers of the exchange to a reply. */
export function completeReply(exchange: ApiCall, { status, headers, body }: Reply): Reply {
  const { method, replyHeaders } = exchange
  Object.assign(replyHeaders, headers)
  if (body instanceof Readable) return { status, headers: replyHeaders, body }
  replyHeaders['content-length'] = String(Buffer.byteLength(body))
  if (typeof body === 'string') exchange.sentBody = body
  return { status, headers: replyHeaders, body: method === 'HEAD' ? '' : body }
}

/** Sends a complete reply on the connection, which a fault may hold, or close after the head or half of the body. */
export function writeReply({ response, cut, hold }: Carrier, { status, headers, body }: Reply): void {
  if (!(body instanceof Readable)) {
    if (hold?.at === 'head') return void hold.end().then(() => response.destroy())
    response.writeHead(status, headers)
    if (hold !== undefined) {
      response.flushHeaders()
      return void hold.end().then(() => response.end(body))
    }
    if (cut === undefined) return void response.end(body)
    const bytes = Buffer.from(body)
    response.flushHeaders()
    response.write(bytes.subarray(0, cut === 'body' ? bytes.length / 2 : 0), () => response.destroy())
    return
  }
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  body.once('error', () => response.destroy())
  response.once('close', () => body.destroy())
  body.pipe(response)
  // Send the head now: a stream without a line yet would delay it.
  response.flushHeaders()
}

export function jsonReply(data: object): Reply {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: JSON.stringify(data) }
}

/** A streamed reply of JSON lines, which may stay open for long. */
export function streamReply(body: Readable): Reply {
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body }
}

/** Refuses a body and closes the connection, because more of the body may still arrive. */
export function refuseBody({ replyHeaders }: ApiCall, refusal: Refusal): Refusal {
  replyHeaders.connection = 'close'
  return refusal
}

/** Path and query of a request target, the basis of routes and request fingerprints. */
export function targetOf(url: string): string {
  const target = url.startsWith('/') ? url : withoutOrigin(url)
  // Treat % as literal if an escape is malformed, so that a malformed id counts as unknown.
  return !target.includes('%') || isDecodable(target) ? target : target.replaceAll('%', '%25')
}

/** Reduces an absolute target to its path, which names the same resource. */
function withoutOrigin(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** False if an escape is malformed. */
function isDecodable(target: string): boolean {
  try {
    // Use the result: a bundler may drop a call whose result is unused, as if it could not throw.
    return decodeURIComponent(target) !== ''
  } catch {
    return false
  }
}

/** The path of a request target, and its query without the separator. The router ends a path at the same characters. */
export function splitTarget(url: string): { readonly path: string; readonly query: string } {
  const target = targetOf(url)
  const [path = ''] = target.split(/[?#]/, 1)
  return { path, query: target.slice(path.length + 1) }
}

const NO_HOST = { pointer: 'Host', code: 'required', message: 'is required' }

/** HTTP/1.1 requires the header Host (RFC 9112, 3.2); Node itself would refuse with an empty body. */
export function refuseWithoutHost(request: IncomingMessage): Refusal<'VALIDATION_FAILED'> | undefined {
  if (request.httpVersionMinor === 0 || request.headers.host !== undefined) return undefined
  return refuse('VALIDATION_FAILED', { errors: [NO_HOST] })
}

/**
 * Returns every received value of a header: Node drops all Authorization headers but the first and joins repeats of
 * others. Reads rawHeaders, which decrypted requests have too.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: Pick<ApiCall, 'rawHeaders'>, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] as string)
  }
  return values
}
