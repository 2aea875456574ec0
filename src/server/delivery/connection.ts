import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import Client from 'undici/lib/dispatcher/client.js'
import { type AttemptLimit, connectErrorCode, type ExchangeErrorCode } from './errors.js'
import type { CheckedUrl } from './guard.js'

interface SocketOptions {
  /** Opens a TCP connection to an IP address. Node performs no look-up, so the peer is exactly this address. */
  readonly connectTcp: (address: string, port: number) => Socket
  /** Trusted certificate authorities, which replace Node's own. */
  readonly ca: string | undefined
}

export interface Post {
  /** URL of the delivery; it must have the origin of the connection. */
  readonly checked: CheckedUrl
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly limit: AttemptLimit
  /** Milliseconds to connect if another address remains to be tried; otherwise null. */
  readonly connectTimeoutMs: number | null
}

interface ResponseHead {
  readonly status: number
  /** When the final response head arrived, by `performance.now()`. */
  readonly at: number
  readonly headers: readonly Buffer[]
}

/** Response of the endpoint, as far as it was read. */
export interface EndpointResponse {
  readonly headers: [name: string, value: string][]
  /** The first `maxBodyBytes` of the body. */
  readonly body: Buffer
  /** Number of body bytes that arrived; larger than `body` for a body over the limit. */
  readonly bodyBytes: number
}

/** The response or the failure of an exchange. `unsent`: no byte of the request was written. */
export type Exchange =
  | { readonly response: Pick<ResponseHead, 'status' | 'at'> & EndpointResponse }
  | { readonly response: null; readonly unsent: boolean; readonly failure: ExchangeErrorCode }

/** Maximum bytes to read of a response body (rules/webhooks.md#delivery-attempts). */
const maxBodyBytes = 16 * 1024
const maxHeadBytes = 16 * 1024

/**
 * Maximum bytes of one response. Far above the limits of head and body; it bounds interim responses, reason phrases and
 * chunk extensions, which undici 7.30 reads without a limit.
 */
const maxResponseBytes = 128 * 1024

/** Maximum wait for a response body: the head decides the result, and the next delivery of the chat is waiting. */
const bodyWaitMs = 2_000

/**
 * Close idle connections after this many ms: Node servers do so after 5 s, and a delivery on a closing connection
 * fails. Endpoints cannot extend the time.
 */
const keepAliveMs = 4_000

/**
 * A connection to an address that passed the guard. Sends one delivery at a time. If the endpoint closes the
 * connection, undici reconnects to the same address.
 */
export class Connection {
  readonly address: string
  readonly #client: Client
  readonly #socketOptions: SocketOptions
  #socket: Socket | undefined
  #bytesBefore = 0
  #post: Post | undefined
  #reusable = false
  /** Called when the connection ends between two deliveries. */
  onEnd: (() => void) | undefined

  constructor(origin: string, address: string, options: SocketOptions) {
    this.address = address
    this.#socketOptions = options
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        this.#open().then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        )
      },
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: maxHeadBytes,
      // AttemptLimit limits the whole attempt, so undici needs no timeouts.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#client.on('disconnect', () => this.onEnd?.())
  }

  /** True if the last exchange ended cleanly and the connection is still open. Otherwise destroy it. */
  get reusable(): boolean {
    return this.#reusable && this.#client.stats.connected
  }

  async destroy(): Promise<void> {
    this.onEnd = undefined
    await this.#client.destroy()
  }

  /** Sends one request; rejects only if the request itself is invalid. @throws Error for an invalid header */
  post(post: Post): Promise<Exchange> {
    this.#post = post
    this.#reusable = false
    this.#bytesBefore = this.#socket?.bytesRead ?? 0
    const { limit } = post
    limit.waitsFor = 'connection'
    const { url } = post.checked
    const path = url.pathname + url.search
    return new Promise((resolve, reject) => {
      let sent = false
      let head: ResponseHead | undefined
      let bodyTimer: NodeJS.Timeout | undefined
      let settled = false
      let bodyBytes = 0
      const chunks: Buffer[] = []

      const settle = (failure: ExchangeErrorCode) => {
        if (settled) return
        settled = true
        clearTimeout(bodyTimer)
        limit.unlisten(stop)
        if (head === undefined) return resolve({ response: null, unsent: !sent, failure })
        // Copies the chunks, which are parts of larger buffers of the socket.
        const body = Buffer.concat(chunks, Math.min(bodyBytes, maxBodyBytes))
        resolve({ response: { ...head, headers: pairsOf(head.headers), body, bodyBytes } })
      }
      // The sender destroys a connection that is not reusable, which ends the running exchange.
      const stop = () => settle(limit.reached ?? 'response_timeout')
      limit.listen(stop)

      this.#client.dispatch(
        { method: 'POST', path, headers: post.headers, body: post.body },
        {
          onRequestStart: () => {
            sent = true
            limit.waitsFor = 'response'
          },
          onResponseStart: ({ rawHeaders }, status) => {
            if (status < 200) return
            head = { status, at: performance.now(), headers: rawHeaders as Buffer[] }
            bodyTimer = setTimeout(stop, bodyWaitMs)
          },
          onResponseData: (_controller, chunk) => {
            chunks.push(chunk)
            bodyBytes += chunk.byteLength
            if (bodyBytes > maxBodyBytes) stop()
          },
          onResponseEnd: () => {
            this.#reusable = !settled
            settle('response_invalid')
          },
          onResponseError: (_controller, error) => {
            if (error instanceof NotOpened) settle(error.failure)
            else if (!sent && !settled) reject(error)
            else settle(this.#bytesReceived > 0 ? 'response_invalid' : 'connection_reset')
          },
        },
      )
    })
  }

  get #bytesReceived(): number {
    return (this.#socket?.bytesRead ?? 0) - this.#bytesBefore
  }

  async #open(): Promise<Socket> {
    const post = this.#post
    if (post === undefined) throw new NotOpened('connection_failed')
    const socket = await openSocket(this.address, this.#socketOptions, post)
    this.#socket = socket
    this.#bytesBefore = 0
    socket.on('readable', () => {
      if (this.#bytesReceived > maxResponseBytes) socket.destroy(new Error('the response is too long'))
    })
    return socket
  }
}

function pairsOf(raw: readonly Buffer[]): EndpointResponse['headers'] {
  const texts = raw.map((it) => it.toString('latin1'))
  return texts.flatMap((name, at) => (at % 2 === 0 ? [[name, texts[at + 1] ?? '']] : []))
}

/** Hides Node's connect errors from undici, which handles some of them specially. */
class NotOpened extends Error {
  constructor(readonly failure: ExchangeErrorCode) {
    super(failure)
  }
}

/**
 * Opens a socket to exactly this address. Checks the peer address before writing any byte, even of the TLS handshake.
 * @throws NotOpened
 */
async function openSocket(address: string, { connectTcp, ca }: SocketOptions, post: Post): Promise<Socket> {
  const { checked, limit } = post
  const { signal, release } = openingLimit(post)
  let socket: Socket = connectTcp(address, checked.port)
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal })
    if (checked.refuseAddress(socket.remoteAddress ?? '') !== null) throw new NotOpened('address_forbidden')
    if (checked.url.protocol === 'http:') return socket
    limit.waitsFor = 'tls'
    const secure = connectTls({
      socket,
      // The certificate must name this host. SNI does not allow IP addresses (RFC 6066, section 3).
      host: checked.host,
      servername: isIP(checked.host) === 0 ? checked.host : '',
      ALPNProtocols: ['http/1.1'],
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED would change the default.
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
    })
    secure.on('error', () => {})
    socket = secure
    await once(secure, 'secureConnect', { signal })
    return secure
  } catch (error) {
    socket.destroy()
    if (error instanceof NotOpened) throw error
    const during = limit.waitsFor === 'tls' ? 'tls' : 'connection'
    throw new NotOpened(signal.aborted ? (limit.reached ?? `${during}_timeout`) : connectErrorCode(error, during))
  } finally {
    release()
  }
}

function openingLimit({ limit, connectTimeoutMs }: Post) {
  const opening = new AbortController()
  const stop = () => opening.abort()
  const timer = connectTimeoutMs === null ? undefined : setTimeout(stop, connectTimeoutMs)
  limit.listen(stop)
  if (limit.reached !== null) stop()
  const release = () => {
    clearTimeout(timer)
    limit.unlisten(stop)
  }
  return { signal: opening.signal, release }
}
