import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Client } from 'undici'
import type { AttemptLimit } from './attempt-limit.js'
import { connectErrorCode, type ExchangeErrorCode } from './errors.js'
import type { CheckedUrl } from './guard.js'

interface SocketOptions {
  /** Begins to connect. An address is not looked up: node goes to it and nowhere else. */
  readonly connectTcp: (address: string, port: number) => Socket
  /** The authorities that are trusted instead of node's own. */
  readonly ca: string | undefined
}

export interface Post {
  /** Of the origin that the connection was made for. */
  readonly checked: CheckedUrl
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly limit: AttemptLimit
  /** For opening a connection, where another address may be tried afterwards; else null. */
  readonly connectTimeoutMs: number | null
}

interface Answer {
  readonly status: number
  /** Of the final head, by `performance.now()`. */
  readonly at: number
}

/** An answer, or what happened instead. `unsent`: not a byte of the request was written. */
export type Exchange =
  | { readonly answer: Answer }
  | { readonly answer: null; readonly unsent: boolean; readonly failure: ExchangeErrorCode }

/** Bytes of the body that are read (DECISIONS.md#delivery-attempts). */
const maxBodyBytes = 16 * 1024
const maxHeadBytes = 16 * 1024

/**
 * Bytes of one answer altogether: far more than a head and a body that are read may have, but an end to interim
 * answers, reason phrases and chunk extensions, which undici 7.30 takes without a limit.
 */
const maxAnswerBytes = 128 * 1024

/** The head decides; whatever follows may not hold back the next delivery of the chat for long. */
const bodyWaitMs = 2_000

/**
 * Kept connections end after this long without a delivery: before the 5 s after which node's own servers close them,
 * so that few deliveries meet a connection that is just closing. A receiver cannot make it longer.
 */
const keepAliveMs = 4_000

/**
 * One connection to one address that passed the guard; undici opens it, and opens it again when the receiver has
 * closed it, always to that same address. One delivery at a time.
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
      // The attempt has one limit over everything, kept by its signal.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#client.on('disconnect', () => this.onEnd?.())
  }

  /** True when the last exchange ended as HTTP has it and the connection still stands. If not, destroy it. */
  get reusable(): boolean {
    return this.#reusable && this.#client.stats.connected
  }

  async destroy(): Promise<void> {
    this.onEnd = undefined
    await this.#client.destroy()
  }

  /** Never rejects, but for a request that nobody could send. @throws Error for a header that HTTP does not allow */
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
      let answer: Answer | undefined
      let bodyTimer: NodeJS.Timeout | undefined
      let settled = false
      let bodyBytes = 0

      const settle = (failure: ExchangeErrorCode) => {
        if (settled) return
        settled = true
        clearTimeout(bodyTimer)
        limit.unlisten(stop)
        resolve(answer === undefined ? { answer: null, unsent: !sent, failure } : { answer })
      }
      // Whoever sent the delivery destroys a connection that is not reusable, and with it what still runs.
      const stop = () => settle(limit.reached ?? 'response_timeout')
      limit.listen(stop)

      this.#client.dispatch(
        { method: 'POST', path, headers: post.headers, body: post.body },
        {
          onRequestStart: () => {
            sent = true
            limit.waitsFor = 'response'
          },
          onResponseStart: (_controller, status) => {
            if (status < 200) return
            answer = { status, at: performance.now() }
            bodyTimer = setTimeout(stop, bodyWaitMs)
          },
          onResponseData: (_controller, chunk) => {
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
      if (this.#bytesReceived > maxAnswerBytes) socket.destroy(new Error('too long an answer'))
    })
    return socket
  }
}

/** Undici sees errors of this kind only while a connection is opened: it treats some of node's in ways of its own. */
class NotOpened extends Error {
  constructor(readonly failure: ExchangeErrorCode) {
    super(failure)
  }
}

/**
 * A socket to exactly this address. Its peer is judged before a byte is written, the TLS greeting included.
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
      // What the certificate has to name. Addresses are not greeted by name (RFC 6066, 3).
      host: checked.host,
      servername: isIP(checked.host) === 0 ? checked.host : '',
      ALPNProtocols: ['http/1.1'],
      // Said, because NODE_TLS_REJECT_UNAUTHORIZED would change the default.
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
