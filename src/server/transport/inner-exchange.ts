import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpResponse } from '../../secure/http.js'
import type { InnerRequest } from '../../secure/inner-request.js'

/** The connection that a call came over. */
export interface Outer {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The call that an envelope came by; the one inside has its id. */
export interface Dispatch extends Outer {
  readonly id: string
}

/**
 * A request that came out of an envelope, as far as Fastify reads one. Its class is the mark that exempts it from what
 * holds for plain text: a header could be forged from outside. Nothing of the outer request goes in but the address.
 */
export class InnerMessage {
  readonly method: string
  /** Fastify may write it. */
  url: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: string[]
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly httpVersion = '1.1'
  readonly aborted = false
  readonly socket: { readonly remoteAddress: string | undefined }
  readonly outer: Dispatch
  /** Of the session; empty for none. */
  readonly origin: string
  /** As it was parsed; read-body.ts checks it. */
  readonly body: unknown
  /** What it was a part of, and how long that is in UTF-8. */
  readonly text: string
  readonly textBytes: number

  constructor(
    { method, path, query, headers, body }: InnerRequest,
    text: string,
    textBytes: number,
    origin: string,
    outer: Dispatch,
  ) {
    this.method = method
    this.url = query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`
    this.headers = headers
    this.rawHeaders = []
    for (const name in headers) this.rawHeaders.push(name, headers[name] as string)
    this.socket = { remoteAddress: outer.request.socket.remoteAddress }
    this.outer = outer
    this.origin = origin
    this.body = body
    this.text = text
    this.textBytes = textBytes
  }
}

/** Takes the answer of an inner call, as far as Fastify writes one. */
class InnerAnswer {
  statusCode = 200
  headersSent = false
  writableEnded = false
  readonly destroyed = false
  #headers: Readonly<Record<string, string>> = {}
  readonly #done: (answer: HttpResponse) => void
  #finished: (() => void) | undefined

  constructor(done: (answer: HttpResponse) => void) {
    this.#done = done
  }

  /** Fastify listens once to the end of an answer, and to an error, which is none here. */
  on(event: string, listener: () => void): void {
    if (event === 'finish') this.#finished = listener
  }

  removeListener(): void {}

  /** Fastify says so that the connection closes, which the outer answer says as well. */
  setHeader(): void {}

  /** @param headers names in lower case */
  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.statusCode = status
    this.#headers = headers
    this.headersSent = true
  }

  end(body: string | null | undefined): void {
    this.writableEnded = true
    this.#done({ status: this.statusCode, headers: this.#headers, body: body ?? '' })
    this.#finished?.()
  }
}

/** Sends a request through the routes that answer plain ones, in process. */
export function exchangeInside(
  routing: (request: IncomingMessage, response: ServerResponse) => void,
  request: InnerMessage,
): Promise<HttpResponse> {
  return new Promise((resolve) =>
    routing(request as unknown as IncomingMessage, new InnerAnswer(resolve) as unknown as ServerResponse),
  )
}
