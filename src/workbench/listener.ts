import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { listenOnLoopback } from '../files/loopback-port.js'
import {
  type VerifiedWebhook,
  verifyWebhook,
  type WebhookRefusalReason,
  type WebhookSecret,
} from '../webhook/signature.js'
import { type Admission, Duplicates } from './duplicates.js'
import type { AppResponse, ForwardedDelivery } from './forwarding.js'
import { pairsOf } from './header-pairs.js'
import type { RecordedDelivery, RecordedResponse } from './inbox.js'
import { BODY_BYTES_MAX, drain, readBody } from './request-body.js'

type ListenerRefusal = WebhookRefusalReason | 'no_secret' | 'method_not_allowed' | 'body_too_large' | 'inbox_unwritable'

/** Describes a request after the listener has responded. */
export interface RequestEvent {
  /** Arrival of the complete request in milliseconds since 1970. */
  readonly at: number
  readonly verdict: 'ok' | 'duplicate' | 'refused'
  readonly reason: ListenerRefusal | 'id_reused' | NonNullable<AppResponse['failure']>['reason'] | null
  /** Status of the response; null if the sender got none. */
  readonly status: number | null
  readonly durationMs: number
  /** Id of the recorded delivery; null if the request is not a delivery or could not be recorded. */
  readonly inboxId: string | null
  /** Message about a failure of the application, for the user. */
  readonly failure: string | null
  /** The update of a verified delivery; null for other requests. */
  readonly update: { readonly id: string; readonly type: string | null; readonly body: unknown } | null
  readonly headers: readonly string[]
  readonly rawBody: Buffer
}

export interface ListenerOptions {
  /** TCP port; 0 chooses any free port. */
  readonly port: number
  /** Secrets that verify deliveries. With an empty list the listener refuses every delivery as `no_secret`. */
  readonly secrets: readonly WebhookSecret[]
  readonly inbox: {
    /** Records a delivery and resolves to its id; rejects if recording fails. */
    recordDelivery(delivery: RecordedDelivery): Promise<string>
    recordResponse(response: RecordedResponse): Promise<void>
  }
  /** Returns the application's response. Called for verified deliveries that are not duplicates. */
  app(delivery: ForwardedDelivery, type: string | null): Promise<AppResponse>
  onRequest(event: RequestEvent): void
  /** Resolves when the output has printed enough events that the listener may process more requests. */
  drained?(): Promise<void> | undefined
  /** Maximum verified deliveries for the application; later ones get a 503. */
  readonly eventsMax?: number | undefined
  /** Milliseconds that a sender may take: for headers, for the whole request, and between checks of these limits. */
  readonly limits?: { readonly headersMs: number; readonly requestMs: number; readonly checkMs: number }
  /** Current time in milliseconds since 1970. */
  now(): number
}

export interface Listener {
  readonly port: number
  readonly url: string
  /** Stops accepting requests, finishes those that have arrived completely, and closes all other connections. */
  close(): Promise<void>
}

const LIMITS = { headersMs: 10_000, requestMs: 15_000, checkMs: 2_000 }
/** Milliseconds that `close` waits for responses that are being sent. */
const LAST_MS = 2_000
const KEEP_ALIVE_MS = 65_000
/** Maximum connections: 256 with a verified delivery (the platform opens up to 100), and UNVERIFIED_MAX others. */
const CONNECTIONS_MAX = 512
/**
 * Maximum connections without a verified delivery; another connection closes the oldest one. Clients with many slow
 * connections therefore cannot block the platform, which sends its delivery within milliseconds of connecting.
 */
const UNVERIFIED_MAX = 256
/** Milliseconds without a response (`--respond timeout`) until the connection closes. */
const SILENCE_MS = 60_000

/**
 * Starts a webhook receiver on this machine. It verifies each delivery, records it before responding, and forwards it
 * to the application unless it is a duplicate.
 * @throws system errors if it cannot listen on the port
 */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { limits = LIMITS } = options
  /** Connections without a verified delivery, oldest first. */
  const unverified = new Set<Socket>()
  const receiver = new Receiver(options, (socket) => unverified.delete(socket))
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => receiver.receive(request, response),
  )
  server.maxConnections = CONNECTIONS_MAX
  server.on('connection', (socket) => {
    unverified.add(socket)
    socket.once('close', () => unverified.delete(socket))
    const [oldest] = unverified
    if (unverified.size > UNVERIFIED_MAX) oldest?.destroy()
  })
  // Refuse a body before the client sends it if Content-Length exceeds the limit.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'POST' && Number(request.headers['content-length'] ?? 0) <= BODY_BYTES_MAX)
      response.writeContinue()
    server.emit('request', request, response)
  })
  const port = await listenOnLoopback(server, options.port)
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      await receiver.finish()
      server.closeIdleConnections()
      const stuck = setTimeout(() => server.closeAllConnections(), LAST_MS)
      await closed
      clearTimeout(stuck)
    },
  }
}

/** A request and its response. */
interface ListenerExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Monotonic arrival time in ms. */
  readonly started: number
}

type Arrived = Pick<RecordedDelivery, 'at' | 'method' | 'url' | 'headers' | 'body'>

/** Responds to each request: reads, verifies, records and forwards a delivery. */
class Receiver {
  readonly #options: ListenerOptions
  readonly #onVerified: (socket: Socket) => void
  readonly #duplicates = new Duplicates<AppResponse>()
  readonly #working = new Set<Promise<void>>()
  readonly #silent = new Set<ServerResponse>()
  readonly #reading = new Set<IncomingMessage>()
  #events = 0
  #isClosing = false

  constructor(options: ListenerOptions, onVerified: (socket: Socket) => void) {
    this.#options = options
    this.#onVerified = onVerified
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => {})
    const work = this.#handle(request, response).finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  /** Breaks off requests that have not arrived completely, responds to the others, and ends `--respond timeout`. */
  async finish(): Promise<void> {
    this.#isClosing = true
    for (const request of this.#reading) request.destroy()
    while (this.#working.size > 0) await Promise.all(this.#working)
    for (const response of this.#silent) response.destroy()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = { request, response, started: performance.now() }
    const { secrets, now } = this.#options
    await this.#options.drained?.()
    const { method = '', url = '', rawHeaders: headers } = request
    if (method !== 'POST') {
      response.setHeader('Allow', 'POST')
      request.resume()
      return this.#refuse(exchange, 405, 'method_not_allowed')
    }
    this.#reading.add(request)
    const body = await readBody(request)
    this.#reading.delete(request)
    if (body === 'broken_off') return
    if (body === 'body_too_large') {
      // Keep the connection open: closing it with unread bytes would lose the response.
      drain(request)
      return this.#refuse(exchange, 413, 'body_too_large')
    }
    const arrived = { at: now(), method, url, headers, body }
    if (secrets.length === 0) return this.#refuseDelivery(exchange, arrived, 'no_secret')
    const verdict = verifyWebhook({ headers: pairsOf(headers), rawBody: body, secrets, now: arrived.at })
    return verdict.ok
      ? this.#accept(exchange, arrived, verdict)
      : this.#refuseDelivery(exchange, arrived, verdict.reason)
  }

  async #refuseDelivery(exchange: ListenerExchange, arrived: Arrived, reason: ListenerRefusal): Promise<void> {
    const { at, body: rawBody } = arrived
    const inboxId = await this.#record({ ...arrived, verdict: 'refused', reason, update_id: null, type: null })
    const more = { at, inboxId, rawBody }
    return inboxId === null
      ? this.#refuse(exchange, 503, 'inbox_unwritable', more)
      : this.#refuse(exchange, 401, reason, more)
  }

  async #accept(exchange: ListenerExchange, arrived: Arrived, verified: VerifiedWebhook): Promise<void> {
    const { at, body: rawBody } = arrived
    const { updateId: id, body } = verified
    this.#onVerified(exchange.request.socket)
    const update = { id, type: typeof body.type === 'string' ? body.type : null, body }
    const admission = this.#duplicates.admit(id, rawBody)
    const isFirst = admission.kind === 'first'
    if (isFirst && this.#events >= (this.#options.eventsMax ?? Number.POSITIVE_INFINITY)) {
      admission.settle(emptyResponse(503), false)
      return sendRefusal(exchange.response, 503, 'stopping')
    }
    const facts = {
      verdict: isFirst ? 'ok' : 'duplicate',
      reason: isFirst && admission.idReused ? 'id_reused' : null,
    } as const
    if (isFirst) this.#events += 1
    const inboxId = await this.#record({ ...arrived, ...facts, update_id: id, type: update.type })
    if (inboxId === null) {
      if (isFirst) {
        this.#events -= 1
        admission.settle(emptyResponse(503), false)
      }
      return this.#refuse(exchange, 503, 'inbox_unwritable', { at, update, rawBody })
    }
    const result = await this.#respond(admission, arrived, update.type)
    this.#recordResponse(exchange, inboxId, result)
    this.#send(exchange.response, result)
    const { status, failure } = result
    const reason = failure?.reason ?? facts.reason
    this.#emit(exchange, { ...facts, reason, at, status, inboxId, failure: failure?.message ?? null, update, rawBody })
  }

  /** Resolves to the id of the recorded delivery, or to null if the inbox cannot be written. */
  #record(delivery: RecordedDelivery): Promise<string | null> {
    return this.#options.inbox.recordDelivery(delivery).catch(() => null)
  }

  /** Nothing waits for this record: without it the delivery only counts as failed, and the user can replay it. */
  #recordResponse({ started }: ListenerExchange, of: string, { failure, ...sent }: AppResponse): void {
    const facts = { at: this.#options.now(), duration_ms: Math.round(performance.now() - started), replay: false }
    const response = { of, ...sent, ...facts, error: failure?.message ?? null }
    this.#options.inbox.recordResponse(response).catch(() => {})
  }

  /** Returns the application's response to this delivery, or to the earlier delivery that it repeats. */
  async #respond(admission: Admission<AppResponse>, delivery: ForwardedDelivery, type: string | null) {
    if (admission.kind === 'done') return emptyResponse(200)
    if (admission.kind === 'in_flight') return await admission.response
    let result = emptyResponse(500)
    try {
      result = await this.#options.app(delivery, type)
    } finally {
      admission.settle(result, result.status !== null && result.status >= 200 && result.status < 300)
    }
    return result
  }

  #send(response: ServerResponse, { status, headers, body }: AppResponse): void {
    if (status === null) {
      this.#silent.add(response)
      const timer = setTimeout(() => response.destroy(), SILENCE_MS)
      response.once('close', () => {
        clearTimeout(timer)
        this.#silent.delete(response)
      })
      return
    }
    if (this.#isClosing) response.shouldKeepAlive = false
    const length = status === 204 || status === 304 ? [] : ['Content-Length', String(body.length)]
    response.writeHead(status, [...headers, ...length])
    // With a body, even an empty one, Node takes twice as long to send the head.
    response.end(body.length > 0 ? body : undefined)
  }

  #refuse(exchange: ListenerExchange, status: number, reason: ListenerRefusal, more: Partial<RequestEvent> = {}): void {
    sendRefusal(exchange.response, status, reason)
    this.#emit(exchange, { verdict: 'refused', reason, status, ...more })
  }

  #emit(
    { request, started }: ListenerExchange,
    event: Pick<RequestEvent, 'verdict' | 'reason' | 'status'> & Partial<RequestEvent>,
  ) {
    this.#options.onRequest({
      at: this.#options.now(),
      durationMs: Math.round(performance.now() - started),
      inboxId: null,
      failure: null,
      update: null,
      headers: request.rawHeaders,
      rawBody: Buffer.alloc(0),
      ...event,
    })
  }
}

function sendRefusal(response: ServerResponse, status: number, reason: string): void {
  const body = JSON.stringify({ error: { reason } })
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

/** Builds a response without headers and body, in place of an application's response. */
export function emptyResponse(status: number | null): AppResponse {
  return { status, headers: [], body: Buffer.alloc(0), to: null, failure: null }
}
