import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { CredentialKind } from '../../contract/endpoint.js'
import type { FailureCode, Refusal } from '../../contract/errors.js'
import type { InnerRequest } from '../../secure/inner-request.js'
import type { CapturedRoute } from '../observe/exchange.js'
import type { VoucherCall } from '../observe/request-log.js'
import { targetOf } from './request-target.js'

/** HTTP request and response on a connection, which carry an API call in plain text or in an envelope. */
export interface Carrier {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A call that was decrypted from an envelope. */
export interface InnerCall {
  /** Parsed JSON, which read-body.ts validates. */
  readonly body: unknown
  /** The plaintext that contained the body. */
  readonly text: string
  /** Length of `text` in UTF-8. */
  readonly textBytes: number
  /** Origin of the encrypted session; empty for a session without an origin. */
  readonly origin: string
}

/** What a route sends. */
export interface Reply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | Readable
}

/** What a route returns. */
export type Result = Reply | Refusal

export interface Route {
  readonly method: string
  /** Its path has parameters such as `:id`; `/*` at its end stands for the path before it and all paths below. */
  readonly endpoint: CapturedRoute
  /** True for a GET without a HEAD. */
  readonly refusesHead?: boolean
  /** Refuses a call before anything of its body is read. */
  admit?(exchange: Exchange): Refusal | null | Promise<Refusal | null>
  handle(exchange: Exchange): Result | Promise<Result>
}

/** The authenticated caller: an application or bot (token), an account (JWT), or the operator. */
export interface Caller {
  readonly kind: CredentialKind
  /** Empty for the operator. */
  readonly accountId: string
  /** Application of the token, or the application linked to the bot; otherwise empty. */
  readonly applicationId: string
  /** Id of an application token or hash of a bot token; otherwise empty. */
  readonly tokenId: string
  /** Empty unless the caller is a bot. */
  readonly botId: string
  /** What the history of a voucher shows: id of the application token, or prefix of the bot token; otherwise empty. */
  readonly calledBy: string
}

interface Source {
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly carrier: Carrier
  readonly inner: InnerCall | null
}

/** One API call: its request, its caller and route, the headers of its response, and what is recorded of it. */
export class Exchange implements Source {
  readonly id: string
  readonly method: string
  /** Request target as received. */
  readonly url: string
  /** Path and query by which the route is found. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  /** For a decrypted call the HTTP exchange of its envelope. */
  readonly carrier: Carrier
  /** Null for a call in plain text. A client cannot forge it, unlike a header. */
  readonly inner: InnerCall | null
  readonly startedAt = performance.now()

  /** Null for a path or method without a route. */
  route: Route | null = null
  params: Readonly<Record<string, string | undefined>> = {}
  query: Readonly<Record<string, unknown>> = {}
  caller: Caller | null = null
  /** Generation of the state in which the caller was authenticated (Gate). */
  generation = 0

  readonly replyHeaders: Record<string, string>
  /** Failure code of a refused call. */
  failureCode: FailureCode | null = null
  /** The bot whose token the request carries, even if the server refuses the token. */
  botId: string | null = null
  applicationId: string | null = null
  /** The voucher of a successful call. */
  voucher: VoucherCall | null = null
  replayed = false
  /** The body as it arrived; null if it was not read. */
  receivedBody: Buffer | null = null
  sentBody: string | null = null

  constructor({ id, method, url, headers, rawHeaders, carrier, inner }: Source) {
    this.id = id
    this.method = method
    this.url = url
    this.target = targetOf(url)
    this.headers = headers
    this.rawHeaders = rawHeaders
    this.carrier = carrier
    this.inner = inner
    this.replyHeaders = { 'x-request-id': id, 'cache-control': 'no-store' }
  }

  /** Completes a reply with the headers of this exchange. */
  complete({ status, headers, body }: Reply): Reply {
    Object.assign(this.replyHeaders, headers)
    if (!(body instanceof Readable)) this.replyHeaders['content-length'] = String(Buffer.byteLength(body))
    if (typeof body === 'string') this.sentBody = body
    const isHead = this.method === 'HEAD' && !(body instanceof Readable)
    return { status, headers: this.replyHeaders, body: isHead ? '' : body }
  }
}

export function plainExchange(id: string, request: IncomingMessage, response: ServerResponse): Exchange {
  const { method = '', url = '/', headers, rawHeaders } = request
  return new Exchange({ id, method, url, headers, rawHeaders, carrier: { request, response }, inner: null })
}

/** The exchange of a decrypted request; its id is that of the envelope. */
export function innerExchange(
  id: string,
  carrier: Carrier,
  { method, path, query, headers, body }: InnerRequest,
  plaintext: Omit<InnerCall, 'body'>,
): Exchange {
  const url = query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`
  const rawHeaders: string[] = []
  for (const name in headers) rawHeaders.push(name, headers[name] as string)
  return new Exchange({ id, method, url, headers, rawHeaders, carrier, inner: { ...plaintext, body } })
}

/** Sends a complete reply on the connection. */
export function writeReply(response: ServerResponse, { status, headers, body }: Reply): void {
  if (!(body instanceof Readable)) {
    response.writeHead(status, headers)
    response.end(body)
    return
  }
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  body.once('error', () => response.destroy())
  response.once('close', () => body.destroy())
  body.pipe(response)
  // A stream without a line yet would keep its reader waiting for the head.
  response.flushHeaders()
}

/** A successful reply with JSON. */
export function jsonReply(data: object): Reply {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: JSON.stringify(data) }
}

/** Refuses a body and closes the connection, because the rest of the body may still arrive. */
export function refuseBody({ replyHeaders }: Exchange, refusal: Refusal): Refusal {
  replyHeaders.connection = 'close'
  return refusal
}
