import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpResponse } from '../../secure/http.js'
import type { InnerRequest } from '../../secure/inner-request.js'

/** HTTP request and response that carry an API call, in plain text or in an envelope. */
export interface CarrierExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** HTTP exchange that carries an envelope; the decrypted request has the same id. */
interface Dispatch extends CarrierExchange {
  readonly id: string
}

/**
 * A decrypted request with the members that Fastify reads; light-my-request would double the CPU time of a dispatch.
 * The class itself marks a request as decrypted, because a client could forge a header.
 */
export class InnerMessage {
  readonly method: string
  /** Not readonly, because Fastify may overwrite the URL. */
  url: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: string[] = []
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly httpVersion = '1.1'
  readonly aborted = false
  readonly socket: { readonly remoteAddress: string | undefined }
  /** Parsed JSON, which read-body.ts validates. */
  readonly body: unknown

  /**
   * @param text the plaintext that contained the body
   * @param textBytes length of `text` in UTF-8
   * @param origin origin of the encrypted session; empty for a session without an origin
   */
  constructor(
    { method, path, query, headers, body }: InnerRequest,
    readonly text: string,
    readonly textBytes: number,
    readonly origin: string,
    readonly outer: Dispatch,
  ) {
    this.method = method
    this.url = query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`
    this.headers = headers
    for (const name in headers) this.rawHeaders.push(name, headers[name] as string)
    this.socket = { remoteAddress: outer.request.socket.remoteAddress }
    this.body = body
  }
}

/** The response to a decrypted request, with the members that Fastify uses. */
class InnerResponse {
  statusCode = 200
  headersSent = false
  writableEnded = false
  readonly destroyed = false
  #headers: Readonly<Record<string, string>> = {}
  readonly #done: (response: HttpResponse) => void
  #finished: (() => void) | undefined

  constructor(done: (response: HttpResponse) => void) {
    this.#done = done
  }

  /** Fastify listens to `finish` and `error`; this class never emits `error`. */
  on(event: string, listener: () => void): void {
    if (event === 'finish') this.#finished = listener
  }

  removeListener(): void {}

  /** Ignores `Connection: close`, which Fastify sets while it closes: the outer response has that header too. */
  setHeader(): void {}

  getHeaders(): Readonly<Record<string, string>> {
    return this.#headers
  }

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

/** Passes a decrypted request to Fastify's routes and resolves to the response. */
export function exchangeInside(
  routing: (request: IncomingMessage, response: ServerResponse) => void,
  request: InnerMessage,
): Promise<HttpResponse> {
  return new Promise((resolve) =>
    routing(request as unknown as IncomingMessage, new InnerResponse(resolve) as unknown as ServerResponse),
  )
}
