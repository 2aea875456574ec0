import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Together } from './request-batcher.js'

/** After our last answer so much is still read and thrown away: closing at once would reset the connection of a client
 * that is still sending, and take the answer with it. */
const LINGER_BYTES_MAX = 32 * 1024 * 1024
const LINGER_MS_MAX = 5_000
/** A client that ended its side may wait so long for its answers; a client that has gone looks the same. */
const HALF_OPEN_MS_MAX = 500
/** A connection without a byte for so long is idle: the next request of a busy client comes sooner. */
const QUIET_MS = 200
const SWEEP_MS = 25
/** What an idle client needs to see that the connection ends. */
const IDLE_LINGER_MS_MAX = 500

/** Requests of one connection that are worked on at the same time: nobody's row of requests holds up the others. */
const AT_ONCE_MAX = 8
/** So many wait for their turn before no more are read; one piece of what comes (64 KiB) may hold 2,000. */
const WAITING_MAX = 32
/** Of all connections together, 7 KB each. Beyond it whoever makes a long row longer is cut off. */
const ALL_WAITING_MAX = 8_000
/** A row that does not move for so long belongs to a client that reads none of its answers. */
const STUCK_MS_MAX = 60_000

/** A message that cannot be taken: bytes that are no request, one that came in part, a tunnel. */
export type RefusedMessage = (error: NodeJS.ErrnoException | 'CONNECT') => Unasked

/** An answer that no route gave. */
export interface Unasked {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
}

/**
 * Node's HTTP server, with the order and the end of connections as a client may rely on: every answer in the order of
 * its request, what cannot be read answered last, and nothing reset under a client that is still sending.
 */
export function createServer(answer: RequestListener, refuse: RefusedMessage): Server {
  const connections = new Map<Socket, Connection>()
  const rows: Rows = { waiting: 0 }
  let draining = false
  const server = http.createServer({
    requestTimeout: 15_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 2_000,
    // Without a Host, Node would answer by itself; here it is refused with the envelope.
    requireHostHeader: false,
  })
  // A client that ends its side after its requests still reads the answers. (Not in the types.)
  Object.assign(server, { httpAllowHalfOpen: true })

  server.on('connection', (socket) => {
    connections.set(socket, new Connection(socket, rows))
    socket.once('close', () => connections.delete(socket))
  })
  const together = new Together()
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (!connection?.take(request, response, draining)) {
      if (!request.socket.destroyed) request.resume()
      return
    }
    const start = () => {
      // What broke off meanwhile has its answer.
      if (!response.headersSent) answer(request, response)
    }
    connection.inTurn({ request, response, start: () => together.add(start) })
  }
  server.on('request', take)
  // An expectation beyond 100-continue may be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', take)
  server.on('connect', ({ socket }) => {
    socket.resume()
    connections.get(socket)?.refuse(() => refuse('CONNECT'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else connections.get(socket as Socket)?.refuse(() => refuse(error))
  })

  // To be called before the app closes. Node calls it too, and would reset clients whose next request is on its way.
  server.closeIdleConnections = () => {
    if (draining) return
    draining = true
    for (const connection of connections.values()) connection.drain()
    // What begins after Fastify has closed ends its connection, also where others of its row are carried out behind it.
    together.begin()
    const sweep = setInterval(() => {
      for (const connection of connections.values()) connection.endIfQuiet()
    }, SWEEP_MS)
    server.once('close', () => clearInterval(sweep))
  }
  // Node forgets a connection that asked for a tunnel.
  server.closeAllConnections = () => {
    for (const socket of connections.keys()) socket.destroy()
  }
  return server
}

/** Requests that wait for their turn, of all connections. */
type Rows = { waiting: number }

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  start(): void
}

class Connection {
  readonly #socket: Socket
  readonly #rows: Rows
  #unanswered = 0
  #inWork = 0
  #waiting: Turn[] = []
  #last: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined
  /** What is unanswered is answered, then it ends. */
  #takesNoMore = false
  #refused = false
  #ended = false
  #bytesRead = 0
  #quietSince = 0
  #stuck: NodeJS.Timeout | undefined

  constructor(socket: Socket, rows: Rows) {
    this.#socket = socket
    this.#rows = rows
    // Node makes an error for each request that is left, which nobody reads: ten times as fast without their stacks.
    const { stackTraceLimit } = Error
    socket.prependOnceListener('close', () => {
      Error.stackTraceLimit = 0
    })
    socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit
      clearTimeout(this.#stuck)
      rows.waiting -= this.#waiting.splice(0).length
    })
    // A client that has gone is no error of ours; Node's own listener is taken away with a tunnel.
    socket.on('error', () => {})
    // Where Node ends a connection after an answer, it would destroy it with what is still being sent to it.
    socket.destroySoon = () => this.#end(LINGER_MS_MAX)
    socket.once('end', () => this.#destroyAfter(HALF_OPEN_MS_MAX))
    // Node reads on with every request that is done, however many wait.
    const resume = socket.resume.bind(socket)
    socket.resume = () => (this.#waiting.length >= WAITING_MAX ? socket : resume())
  }

  /** Whether this request is to be answered. */
  take(request: IncomingMessage, response: ServerResponse, isLast: boolean): boolean {
    if (this.#takesNoMore || this.#ended || this.#socket.destroyed) return false
    this.#unanswered += 1
    this.#last = { request, response }
    response.once('close', () => {
      this.#unanswered -= 1
      // An idle connection holds nothing of its last call; one that was answered before its body came is within it still.
      if (request.complete && this.#last?.request === request) this.#last = undefined
    })
    if (isLast) this.#closeAfter(response)
    return true
  }

  /** Starts the work on a request that was taken, at once or when enough of those before it are answered. */
  inTurn(turn: Turn): void {
    if (this.#inWork < AT_ONCE_MAX) return this.#start(turn)
    this.#waiting.push(turn)
    this.#rows.waiting += 1
    if (this.#waiting.length < WAITING_MAX) return
    this.#socket.pause()
    this.#stuck ??= setTimeout(() => this.#socket.destroy(), STUCK_MS_MAX)
    // Node keeps the rest of the piece as well, until the connection is gone.
    if (this.#rows.waiting >= ALL_WAITING_MAX) this.#socket.destroy()
  }

  #start({ response, start }: Turn): void {
    this.#inWork += 1
    response.once('close', () => {
      // Not within this tick: the other connections have their turn between.
      if (this.#waiting.length > 0) setImmediate(() => this.#startNext())
      else this.#inWork -= 1
    })
    start()
  }

  #startNext(): void {
    this.#inWork -= 1
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#rows.waiting -= 1
    if (this.#socket.destroyed) return
    this.#stuck?.refresh()
    if (this.#waiting.length === WAITING_MAX - 1) {
      clearTimeout(this.#stuck)
      this.#stuck = undefined
      this.#socket.resume()
    }
    // What broke off while it waited has its answer, and nothing comes after it.
    if (!next.response.headersSent) this.#start(next)
  }

  /** Nothing that comes from here on can be read: answered once, after everything that came before. */
  refuse(refused: () => Unasked): void {
    if (this.#ended || this.#refused) return
    this.#refused = true
    this.#takesNoMore = true
    const { request, response } = this.#last ?? {}
    if (request !== undefined && response !== undefined && !request.complete) {
      // It broke off within a request, so this is the answer to that, unless it has one already.
      if (response.closed) this.#end(LINGER_MS_MAX)
      else if (response.headersSent) response.once('close', () => this.#end(LINGER_MS_MAX))
      else write(response, refused())
    } else if (response !== undefined && this.#unanswered > 0) {
      response.once('close', () => this.#refuseNow(refused()))
    } else this.#refuseNow(refused())
  }

  /** The server closes: the answer that is awaited ends the connection, or the next one does. */
  drain(): void {
    this.#bytesRead = this.#socket.bytesRead
    this.#quietSince = performance.now()
    // Of those that wait the first is the last: what is not carried out needs no answer.
    const [next, ...dropped] = this.#waiting
    if (next !== undefined) {
      this.#rows.waiting -= dropped.length
      this.#waiting = [next]
      this.#last = next
      for (const { request } of dropped) request.resume()
    }
    const response = this.#last?.response
    if (this.#unanswered > 0 && response?.headersSent === false) this.#closeAfter(response)
  }

  /** Ends a connection that is being drained, when nothing is on its way in either direction. */
  endIfQuiet(): void {
    const { bytesRead } = this.#socket
    if (bytesRead !== this.#bytesRead || this.#unanswered > 0) {
      this.#bytesRead = bytesRead
      this.#quietSince = performance.now()
    } else if (performance.now() - this.#quietSince >= QUIET_MS) this.#end(IDLE_LINGER_MS_MAX)
  }

  #closeAfter(response: ServerResponse): void {
    this.#takesNoMore = true
    response.shouldKeepAlive = false
  }

  #refuseNow({ status, headers, body }: Unasked): void {
    if (!this.#socket.writable || this.#ended) return
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
    this.#end(LINGER_MS_MAX)
  }

  /** Sends what is left, ends our side, and reads on for a while: the parser throws away what no request is made of. */
  #end(lingerMs: number): void {
    if (this.#ended) return
    this.#ended = true
    const socket = this.#socket
    socket.end()
    this.#last?.request.resume()
    const read = socket.bytesRead
    const watch = setInterval(() => {
      if (socket.bytesRead - read > LINGER_BYTES_MAX) socket.destroy()
    }, SWEEP_MS)
    socket.once('close', () => clearInterval(watch))
    this.#destroyAfter(lingerMs)
  }

  #destroyAfter(ms: number): void {
    const overdue = setTimeout(() => this.#socket.destroy(), ms)
    this.#socket.once('close', () => clearTimeout(overdue))
  }
}

/** In the place of the route, which is not heard any more; Node keeps the order and ends the connection. */
function write(response: ServerResponse, { status, headers, body }: Unasked): void {
  response.writeHead(status, { ...headers })
  response.end(body)
}
