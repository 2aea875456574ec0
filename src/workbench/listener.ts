import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { verifyWebhook, type WebhookRefusalReason, type WebhookSecret } from '../webhook/signature.js'
import { type Admission, Duplicates } from './duplicates.js'
import type { AppResponse, ForwardedDelivery } from './forwarding.js'
import { pairsOf } from './header-pairs.js'
import type { RecordedDelivery, RecordedResponse } from './inbox.js'
import { BODY_BYTES_MAX, drain, readBody } from './request-body.js'

type ListenerRefusal = WebhookRefusalReason | 'no_secret' | 'method_not_allowed' | 'body_too_large' | 'inbox_unwritable'

/** Describes a request after the listener has responded. */
export interface RequestEvent {
  /** Time when the complete request had arrived, in milliseconds since 1970. */
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
  /** Maximum number of verified deliveries for the application; further ones get a 503. */
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

const HOST = '127.0.0.1'
const LIMITS = { headersMs: 10_000, requestMs: 15_000, checkMs: 2_000 }
/** Milliseconds that `close` waits for responses that are being sent. */
const LAST_MS = 2_000
const KEEP_ALIVE_MS = 65_000
/** Maximum connections: 256 with a verified delivery (the platform opens up to 100), and UNVERIFIED_MAX others. */
const CONNECTIONS_MAX = 512
/**
 * Maximum connections without a verified delivery; another connection closes the oldest of them. So clients that hold
 * many slow connections cannot block the platform, which sends its delivery within milliseconds of connecting.
 */
const UNVERIFIED_MAX = 256
/** Milliseconds without a response (`--respond timeout`) before the connection is closed. */
const SILENCE_MS = 60_000

/**
 * Starts a webhook receiver on this machine. It verifies each delivery, records it before responding, and forwards it
 * to the application unless it is a duplicate.
 * @throws system errors if it cannot listen on the port
 */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { inbox, now, onRequest, limits = LIMITS } = options
  const duplicates = new Duplicates<AppResponse>()
  const working = new Set<Promise<void>>()
  const silent = new Set<ServerResponse>()
  const reading = new Set<IncomingMessage>()
  /** Connections without a verified delivery, oldest first. */
  const unverified = new Set<Socket>()
  let events = 0
  let isClosing = false

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const started = performance.now()
    await options.drained?.()
    const { method = '', url = '', rawHeaders: headers } = request
    const emit = (event: Pick<RequestEvent, 'verdict' | 'reason' | 'status'> & Partial<RequestEvent>) =>
      onRequest({
        at: now(),
        durationMs: Math.round(performance.now() - started),
        inboxId: null,
        failure: null,
        update: null,
        headers,
        rawBody: Buffer.alloc(0),
        ...event,
      })
    const refuse = (status: number, reason: ListenerRefusal, more: Partial<RequestEvent> = {}) => {
      sendRefusal(response, status, reason)
      emit({ verdict: 'refused', reason, status, ...more })
    }

    if (method !== 'POST') {
      response.setHeader('Allow', 'POST')
      request.resume()
      return refuse(405, 'method_not_allowed')
    }
    reading.add(request)
    const body = await readBody(request)
    reading.delete(request)
    if (body === 'broken_off') return
    if (body === 'body_too_large') {
      // Keep the connection open: closing it with unread bytes would lose the response.
      drain(request)
      return refuse(413, 'body_too_large')
    }
    const at = now()
    const arrived = { at, method, url, headers, body }
    const verdict =
      options.secrets.length === 0
        ? ({ ok: false, reason: 'no_secret' } as const)
        : verifyWebhook({ headers: pairsOf(headers), rawBody: body, secrets: options.secrets, now: at })
    if (!verdict.ok) {
      const { reason } = verdict
      const unverified = { verdict: 'refused', reason, update_id: null, type: null } as const
      const inboxId = await orNull(inbox.recordDelivery({ ...arrived, ...unverified }))
      const more = { at, inboxId, rawBody: body }
      return inboxId === null ? refuse(503, 'inbox_unwritable', more) : refuse(401, reason, more)
    }

    unverified.delete(request.socket)
    const { updateId } = verdict
    const type = typeof verdict.body.type === 'string' ? verdict.body.type : null
    const update = { id: updateId, type, body: verdict.body }
    const admission = duplicates.admit(updateId, body)
    const isFirst = admission.kind === 'first'
    if (isFirst && events >= (options.eventsMax ?? Number.POSITIVE_INFINITY)) {
      admission.settle(emptyResponse(503), false)
      return sendRefusal(response, 503, 'stopping')
    }
    const facts = {
      verdict: isFirst ? 'ok' : 'duplicate',
      reason: isFirst && admission.idReused ? 'id_reused' : null,
    } as const
    if (isFirst) events += 1
    const inboxId = await orNull(inbox.recordDelivery({ ...arrived, ...facts, update_id: updateId, type }))
    if (inboxId === null) {
      if (isFirst) {
        events -= 1
        admission.settle(emptyResponse(503), false)
      }
      return refuse(503, 'inbox_unwritable', { at, update, rawBody: body })
    }
    const result = await respond(admission, arrived, type)
    const { status, to, failure } = result
    const error = failure?.message ?? null
    const duration_ms = Math.round(performance.now() - started)
    const recorded = { at: now(), status, duration_ms, to, error, headers: result.headers, body: result.body }
    // Do not wait for this record: without it the delivery only counts as failed, and the user can replay it.
    void orNull(inbox.recordResponse({ of: inboxId, ...recorded, replay: false }))
    send(response, result)
    const reason = failure?.reason ?? facts.reason
    emit({ ...facts, reason, at, status, inboxId, failure: error, update, rawBody: body })
  }

  const respond = async (admission: Admission<AppResponse>, delivery: ForwardedDelivery, type: string | null) => {
    if (admission.kind === 'done') return emptyResponse(200)
    if (admission.kind === 'in_flight') return await admission.response
    let result = emptyResponse(500)
    try {
      result = await options.app(delivery, type)
    } finally {
      admission.settle(result, result.status !== null && result.status >= 200 && result.status < 300)
    }
    return result
  }

  const send = (response: ServerResponse, { status, headers, body }: AppResponse) => {
    if (status === null) {
      silent.add(response)
      const timer = setTimeout(() => response.destroy(), SILENCE_MS)
      response.once('close', () => {
        clearTimeout(timer)
        silent.delete(response)
      })
      return
    }
    if (isClosing) response.shouldKeepAlive = false
    const length = status === 204 || status === 304 ? [] : ['Content-Length', String(body.length)]
    response.writeHead(status, [...headers, ...length])
    response.end(body)
  }

  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      response.on('error', () => {})
      const work = handle(request, response).finally(() => working.delete(work))
      working.add(work)
    },
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, HOST, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${HOST}:${port}`,
    async close() {
      isClosing = true
      const closed = new Promise((resolve) => server.close(resolve))
      for (const request of reading) request.destroy()
      while (working.size > 0) await Promise.all(working)
      for (const response of silent) response.destroy()
      server.closeIdleConnections()
      const stuck = setTimeout(() => server.closeAllConnections(), LAST_MS)
      await closed
      clearTimeout(stuck)
    },
  }
}

function sendRefusal(response: ServerResponse, status: number, reason: string): void {
  const body = JSON.stringify({ error: { reason } })
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

/** Builds a response without headers and body, in place of one from an application. */
export function emptyResponse(status: number | null): AppResponse {
  return { status, headers: [], body: Buffer.alloc(0), to: null, failure: null }
}

/** Resolves to null if the inbox cannot be written. */
const orNull = <T>(writing: Promise<T>): Promise<T | null> => writing.catch(() => null)
