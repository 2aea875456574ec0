import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FailureCode, failures, type Refusal, refuse } from '../../contract/errors.js'
import { platformHeaders } from '../../inspector/assets.js'
import { Inspector, pathOf } from '../../inspector/inspector.js'
import { isJson, servePage } from '../../inspector/node-http.js'
import { Inbox, inboxBytes } from '../inbox.js'
import type { RequestEvent } from '../listener.js'
import { BODY_BYTES_MAX, readBody } from '../request-body.js'
import { ActivityFeed } from './activity.js'
import { deliveryOf, detailOf, iso, stateOf } from './deliveries.js'
import { type PageReplayTools, type ReplayOrder, replayFromPage } from './replay.js'

export interface ListenerPageOptions extends PageReplayTools {
  /** Folder of the inbox. */
  readonly dir: string
  /** Base URL of the listener. */
  readonly address: string
}

export interface ListenerPage {
  /** Creates a link that opens the page once. */
  newLink(): string
  /** Shows a request in the pages that are open. */
  add(event: RequestEvent): void
  close(): Promise<void>
}

const HOST = '127.0.0.1'
/** Base64 of the longest body that a listener accepts, with the rest of the JSON document. */
const REPLAY_BYTES_MAX = Math.ceil(BODY_BYTES_MAX / 3) * 4 + 1024
const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
type Result = { readonly ok: true; readonly data: unknown } | Refusal

/**
 * Serves the page of a listener on a free port of its own, because the listener accepts deliveries on every path
 * (DECISIONS.md#page-of-a-listener).
 */
export async function startListenerPage(options: ListenerPageOptions): Promise<ListenerPage> {
  const { dir, secrets, now } = options
  const feed = new ActivityFeed(secrets)
  const started_at = iso(now())
  const inspector = new Inspector({
    random: randomBytes,
    now: Date.now,
    features: { source: 'listener', test_clock: false, views: ['deliveries'], started_at },
  })
  let known: { readonly bytes: number; readonly inbox: Inbox } | undefined
  /** The index of the inbox, read again when the files have grown. */
  const openInbox = () => {
    const bytes = inboxBytes(dir)
    if (known?.bytes !== bytes) known = { bytes, inbox: new Inbox(dir) }
    return known.inbox
  }

  const list = (query: URLSearchParams): Result => {
    const numberOf = (name: string, fallback: number) => Math.max(1, Math.trunc(Number(query.get(name))) || fallback)
    const limit = Math.min(numberOf('limit', LIMIT_DEFAULT), LIMIT_MAX)
    const page = numberOf('page', 1)
    const status = query.get('status')
    const inbox = openInbox()
    const found = inbox.find({}).filter((it) => status === null || stateOf(it) === status)
    const shown = found.toReversed().slice((page - 1) * limit, page * limit)
    const items = shown.flatMap(({ id }) => inbox.read(id) ?? []).map(deliveryOf)
    const pagination = { page, limit, total: found.length, pages: Math.ceil(found.length / limit) }
    return { ok: true, data: { items, pagination } }
  }

  const replay = async (request: IncomingMessage, id: string): Promise<Result> => {
    const order = await readOrder(request)
    if (order === undefined) return refuse('VALIDATION_FAILED')
    const stored = openInbox().read(id)
    if (stored === undefined) return refuse('DELIVERY_NOT_FOUND')
    const result = await replayFromPage(options, stored, order)
    if (result.ok) feed.replayed(stored, result.response)
    return result
  }

  /** Responds to a checked request; undefined if it has written the response itself. */
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<Result | undefined> => {
    const { method } = request
    const target = request.url ?? '/'
    // The path that was checked: `new URL` would resolve dot segments, and take a host from `//host/path`.
    const pathname = pathOf(target)
    const query = new URLSearchParams(target.split('?', 2)[1])
    const [, id, action] = /^\/_platform\/v1\/deliveries\/([\d-]+)(\/replay)?$/.exec(pathname) ?? []
    const isRead = method === 'GET'
    if (isRead && pathname === '/_platform/v1/activity') {
      response.writeHead(200, { ...platformHeaders, 'content-type': 'application/x-ndjson; charset=utf-8' })
      feed.send(response, openInbox(), query.get('follow') === 'true')
      return undefined
    }
    if (isRead && pathname === '/_platform/v1/deliveries') return list(query)
    if (id !== undefined && action !== undefined && method === 'POST') return replay(request, id)
    if (id !== undefined && action === undefined && isRead) {
      const stored = openInbox().read(id)
      return stored === undefined ? refuse('DELIVERY_NOT_FOUND') : { ok: true, data: detailOf(stored, options) }
    }
    return refuse('ROUTE_NOT_FOUND')
  }

  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    try {
      if (await servePage(inspector, request, response)) return
      const result = await route(request, response)
      if (result !== undefined) send(response, result)
    } catch {
      if (!response.headersSent) send(response, refuse('INTERNAL_ERROR'))
      else response.destroy()
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, HOST, resolve)
  })
  inspector.listen(`http://${HOST}:${(server.address() as AddressInfo).port}`)
  return {
    newLink: () => inspector.newLink().url,
    add: (event) => feed.received(event),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      feed.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Reads and checks the body of a replay; undefined if it is none. */
async function readOrder(request: IncomingMessage): Promise<ReplayOrder | undefined> {
  if (!isJson(request)) return undefined
  const read = await readBody(request, REPLAY_BYTES_MAX)
  if (!Buffer.isBuffer(read)) return undefined
  let order: { mode?: unknown; body?: unknown } | null
  try {
    order = JSON.parse(read.toString('utf8'))
  } catch {
    return undefined
  }
  const { mode, body } = order ?? {}
  if (mode !== 'as_sent' && mode !== 'resigned') return undefined
  if (body === undefined) return { mode }
  if (typeof body !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(body)) return undefined
  return { mode, body: Buffer.from(body, 'base64') }
}

function send(response: ServerResponse, result: Result): void {
  const requestId = randomUUID()
  const [status, body] = result.ok
    ? [200, { success: true, data: result.data, requestId }]
    : [failures[result.code].status, { success: false, ...failureOf(result), requestId }]
  response.writeHead(status, { ...platformHeaders, 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

/** Why a delivery of a listener cannot be replayed, by `details.reason`. */
const replayFaults: Readonly<Record<string, string>> = {
  no_app: 'No application got this delivery: start the listener with --forward-to, and replay it then.',
  no_secret: 'The listener has no secret to sign with: start it with --secret-file.',
  no_update_id: 'Neither the body nor the headers have an update id, so the delivery cannot be signed.',
}

function failureOf({ code, details }: Refusal<FailureCode>) {
  const { retryable } = failures[code]
  const message = replayFaults[String(details?.reason)] ?? failures[code].message
  return { code, message, retryable, ...(details === undefined ? {} : { details }) }
}
