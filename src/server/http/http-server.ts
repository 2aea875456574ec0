import http, { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Destroy a connection with more pending requests than this: a 64 KiB chunk can hold 2,000, of about 7 KB each. */
const PIPELINED_MAX = 100
/** Discard input for this time after the last response: closing immediately could lose the response in a reset. */
const LINGER_MS_MAX = 5_000
/** At shutdown, close a connection after this many ms without a byte: a busy client would send sooner. */
const IDLE_MS_MAX = 200
/** At shutdown, close a connection after this many ms if its client neither reads nor sends. */
const STALLED_MS_MAX = 500

/** Makes the response to a message that no route handles: a malformed or incomplete request, or CONNECT. */
type RefuseMessage = (error: NodeJS.ErrnoException | 'CONNECT') => RawResponse

/** A response written without a route. */
export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
}

/**
 * Node's HTTP server; in addition, it responds to malformed messages in order, bounds pipelining, lets clients that are
 * still sending read their response, and stops without losing the response to a request that was carried out
 * (rules/calls.md#connections).
 */
export class HttpServer extends http.Server {
  readonly #connections = new Map<Socket, Connection>()
  /** Requests of one event-loop iteration, which start as a batch: saves up to 40 % CPU time per dispatch. */
  #batch: (() => void)[] = []
  #draining = false

  constructor(respond: RequestListener, refuse: RefuseMessage) {
    super({
      requestTimeout: 15_000,
      headersTimeout: 10_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2_000,
      // Node would refuse a request without Host with an empty body; the routes send the envelope.
      requireHostHeader: false,
      ServerResponse: LingeringResponse,
    })
    // Keep half-closed connections open: their clients still read responses. Node's types lack this property.
    Object.assign(this, { httpAllowHalfOpen: true })

    this.on('connection', (socket) => {
      this.#connections.set(socket, new Connection(socket))
      // Each pipelined call may listen for the end of its client.
      socket.setMaxListeners(0)
      if (this.#draining) socket.setTimeout(IDLE_MS_MAX)
      socket.once('close', () => this.#connections.delete(socket))
    })
    const take = (request: IncomingMessage, response: ServerResponse) => {
      if (!this.#connections.get(request.socket)?.take(response, this.#draining)) return
      const start = () => {
        // Skip a request that was truncated meanwhile, and whose connection has closed.
        if (!response.headersSent && !request.socket.destroyed) respond(request, response)
      }
      if (this.#batch.push(start) === 1) setImmediate(() => this.#startBatch())
    }
    this.on('request', take)
    // A server may ignore expectations other than 100-continue (RFC 9110, 10.1.1).
    this.on('checkExpectation', take)
    this.on('timeout', (socket) => this.#connections.get(socket)?.expire())
    this.on('connect', ({ socket }) => {
      // An error without a listener would end the process, and Node has removed its own listener.
      socket.on('error', () => {})
      socket.resume()
      this.#connections.get(socket)?.refuse(() => refuse('CONNECT'))
    })
    this.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // Browsers connect in advance, and would take a response to nothing for that of their next request.
      const isUnused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && (socket as Socket).bytesRead === 0
      if (isUnused || error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else this.#connections.get(socket as Socket)?.refuse(() => refuse(error))
    })
  }

  /** Closes each connection after its pending or next response, or when it is idle. Node calls this too. */
  override closeIdleConnections(): void {
    if (this.#draining) return
    this.#draining = true
    this.keepAliveTimeout = IDLE_MS_MAX
    for (const connection of this.#connections.values()) connection.drain()
    // Start the batch now: `close()` waits for the calls that have started.
    this.#startBatch()
  }

  #startBatch(): void {
    const batch = this.#batch
    this.#batch = []
    for (const start of batch) start()
  }

  /** Also closes connections that requested a tunnel, which Node no longer tracks. */
  override closeAllConnections(): void {
    for (const socket of this.#connections.keys()) socket.destroy()
  }
}

class Connection {
  readonly #socket: Socket
  #pendingResponses = 0
  /** The latest response, while it is pending or the body of its request is incomplete. */
  #last: ServerResponse | undefined
  /** True if the last response closes the connection; later requests on it are ignored. */
  #closing = false
  #refused = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Registers a request by its response; returns false if the server must ignore the request. */
  take(response: ServerResponse, isLast: boolean): boolean {
    const { req: request } = response
    this.#pendingResponses += 1
    if (this.#pendingResponses > PIPELINED_MAX) this.#socket.destroy()
    if (this.#socket.destroyed) return false
    if (this.#closing) {
      request.resume()
      return false
    }
    this.#last = response
    response.once('close', () => {
      this.#pendingResponses -= 1
      // An idle connection must not hold its last request in memory.
      if (request.complete && this.#last === response) this.#last = undefined
    })
    if (isLast) this.#closeAfter(response)
    return true
  }

  /** Responds to a malformed message after all earlier responses. The parser can read no further message. */
  refuse(refusal: () => RawResponse): void {
    if (this.#refused) return
    this.#refused = true
    this.#closing = true
    const last = this.#last
    const inBody = last?.req.complete === false
    if (inBody && !last.headersSent) return writeTo(last, refusal())
    // Send no second response to a request whose body is truncated after its response.
    const end = () => (inBody ? endSide(this.#socket) : this.#writeRaw(refusal()))
    if (last === undefined || last.closed) end()
    else last.once('close', end)
  }

  drain(): void {
    const last = this.#last
    if (last === undefined || last.closed) this.#socket.setTimeout(IDLE_MS_MAX)
    else if (last.headersSent) this.#socket.setTimeout(STALLED_MS_MAX)
    else this.#closeAfter(last)
  }

  /** Closes the connection after its timeout, unless the server is still working on a call. */
  expire(): void {
    const isWorking = this.#last?.closed === false && this.#last.req.complete && this.#socket.writableLength === 0
    if (isWorking) return void this.#socket.setTimeout(STALLED_MS_MAX)
    const { bytesRead } = this.#socket
    // After a pause of the process the timer ends before the input that arrived meanwhile is read.
    setImmediate(() => {
      if (this.#socket.bytesRead === bytesRead) this.#socket.destroy()
    })
  }

  #closeAfter(response: ServerResponse): void {
    this.#closing = true
    this.#socket.setTimeout(STALLED_MS_MAX)
    response.shouldKeepAlive = false
  }

  #writeRaw({ status, headers, body }: RawResponse): void {
    if (!this.#socket.writable) return
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
    endSide(this.#socket)
  }
}

/** Keeps a connection open for a while after its last response; Node would destroy it once the response is flushed. */
class LingeringResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /** Node's flag for a response that closes the connection; Node reads it right after detachSocket(). */
  declare _last: boolean

  override detachSocket(socket: Socket): void {
    super.detachSocket(socket)
    if (!this._last) return
    this._last = false
    endSide(socket)
  }
}

function writeTo(response: ServerResponse, { status, headers, body }: RawResponse): void {
  response.writeHead(status, { ...headers })
  response.end(body)
}

/** Ends the server's side of a connection; discards what the client still sends, for up to LINGER_MS_MAX. */
function endSide(socket: Socket): void {
  socket.end()
  const overdue = setTimeout(() => socket.destroy(), LINGER_MS_MAX)
  socket.once('close', () => clearTimeout(overdue))
}
