import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InnerRequest } from '../secure/inner-request.js'
import type { HttpResponse } from '../secure/http.js'

type Listener = (value?: unknown) => void

/** What Fastify uses of an EventEmitter: it listens at most once to an event. */
class Messenger {
  readonly #listeners: Record<string, Listener | undefined> = {}

  on(event: string, listener: Listener): this {
    this.#listeners[event] = listener
    return this
  }

  removeListener(event: string): this {
    this.#listeners[event] = undefined
    return this
  }

  protected emit(event: string, value?: unknown): void {
    this.#listeners[event]?.(value)
  }
}

/** The connection that a call came over. */
export interface Outer {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * A request that came out of an envelope, as far as Fastify reads one. Its class is the mark that exempts it from what
 * holds for plain text: a header could be forged from outside. Nothing of the outer request goes in but the address.
 */
export class InnerMessage extends Messenger {
  readonly method: string
  /** Fastify may write it. */
  url: string
  readonly headers: Record<string, string>
  readonly rawHeaders: string[]
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly httpVersion = '1.1'
  readonly aborted = false
  readonly socket: { readonly remoteAddress: string | undefined }
  readonly outer: Outer
  /** Of the session; empty for none. */
  readonly origin: string
  readonly #body: Buffer | undefined

  constructor({ method, path, query, headers, body }: InnerRequest, origin: string, outer: Outer) {
    super()
    this.method = method
    this.url = query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`
    this.#body = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    this.headers = this.#body === undefined ? headers : { ...headers, 'content-length': String(this.#body.length) }
    this.rawHeaders = []
    for (const name in this.headers) this.rawHeaders.push(name, this.headers[name] as string)
    this.socket = { remoteAddress: outer.request.socket.remoteAddress }
    this.outer = outer
    this.origin = origin
  }

  /** The body is there already: told to whoever listens for it now. */
  resume(): this {
    if (this.#body !== undefined) this.emit('data', this.#body)
    this.emit('end')
    return this
  }
}

/** Takes the answer of an inner call, as far as Fastify writes one. */
class InnerAnswer extends Messenger {
  statusCode = 200
  headersSent = false
  writableEnded = false
  readonly destroyed = false
  readonly #headers: Record<string, string> = {}
  readonly #done: (answer: HttpResponse) => void

  constructor(done: (answer: HttpResponse) => void) {
    super()
    this.#done = done
  }

  setHeader(name: string, value: unknown): void {
    this.#headers[name.toLowerCase()] = String(value)
  }

  writeHead(status: number, headers: Readonly<Record<string, unknown>>): void {
    this.statusCode = status
    for (const name in headers) if (headers[name] !== undefined) this.setHeader(name, headers[name])
    this.headersSent = true
  }

  end(body: string | null | undefined): void {
    this.writableEnded = true
    this.#done({ status: this.statusCode, headers: this.#headers, body: body ?? '' })
    this.emit('finish')
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
