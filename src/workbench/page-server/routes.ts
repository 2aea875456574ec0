import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { failures, type Refusal, refuse } from '../../contract/errors.js'
import { platformHeaders } from '../../inspector/assets.js'
import { pathOf } from '../../inspector/inspector.js'
import { isJson } from '../../inspector/node-http.js'
import { Inbox, inboxBytes } from '../inbox.js'
import { BODY_BYTES_MAX, readBody } from '../request-body.js'
import type { ActivityFeed } from './activity-feed.js'
import { deliveryOf, detailOf, stateOf } from './inbox-records.js'
import { type PageReplayTools, type ReplayOrder, replayFromPage } from './replay.js'

export interface PageRouteOptions extends PageReplayTools {
  /** Folder of the inbox. */
  readonly dir: string
  /** Base URL of the listener. */
  readonly address: string
  /** Command that starts such a listener with its page, without secrets. */
  readonly startCommand?: string
}

const API = '/_platform/v1'
const PAGE_ITEMS = 20
const PAGE_ITEMS_MAX = 100
/** Maximum bytes of a replay request: the longest accepted body in base64, and the rest of the JSON. */
const REPLAY_BYTES_MAX = Math.ceil(BODY_BYTES_MAX / 3) * 4 + 1024
type Result = { readonly ok: true; readonly data: unknown } | Refusal

/** Routes of a listener for its page: the inbox, in the shapes of a server. */
export class PageRoutes {
  readonly #options: PageRouteOptions
  readonly #feed: ActivityFeed
  #known: { readonly bytes: number; readonly inbox: Inbox } | undefined

  constructor(options: PageRouteOptions, feed: ActivityFeed) {
    this.#options = options
    this.#feed = feed
  }

  /** Responds to a request with a session of the page. */
  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '/' } = request
    // Use the path that was checked: `new URL` would resolve dot segments, and take a host from `//host/path`.
    const path = pathOf(url)
    if (method === 'GET' && path === `${API}/activity`) {
      response.writeHead(200, { ...platformHeaders, 'content-type': 'application/x-ndjson; charset=utf-8' })
      // Connect the page before the first line.
      response.flushHeaders()
      pipeline(this.#feed.stream(this.#openInbox()), response, () => {})
    } else send(response, await this.#resultOf(method, path, request))
  }

  async #resultOf(method: string | undefined, path: string, request: IncomingMessage): Promise<Result> {
    if (method === 'GET' && path === `${API}/deliveries`)
      return this.#list(new URLSearchParams(request.url?.split('?', 2)[1]))
    // The page takes the method and path of a replay from it.
    if (method === 'GET' && path === `${API}/reference`) {
      const { reference } = await import('../../contract/openapi/reference.js')
      return { ok: true, data: reference() }
    }
    const [, id, replay] = /^\/_platform\/v1\/deliveries\/([\d-]+)(\/replay)?$/.exec(path) ?? []
    if (id === undefined || method !== (replay === undefined ? 'GET' : 'POST')) return refuse('ROUTE_NOT_FOUND')
    const order = replay === undefined ? undefined : await readOrder(request)
    if (replay !== undefined && order === undefined) return refuse('VALIDATION_FAILED')
    const stored = this.#openInbox().read(id)
    if (stored === undefined) return refuse('DELIVERY_NOT_FOUND')
    if (order === undefined) return { ok: true, data: detailOf(stored, this.#options) }
    const result = await replayFromPage(this.#options, stored, order)
    if (result.ok) this.#feed.replayed(stored, result.response)
    return result
  }

  #list(query: URLSearchParams): Result {
    const page = Math.max(1, Math.trunc(Number(query.get('page'))) || 1)
    const limit = Math.min(PAGE_ITEMS_MAX, Math.max(1, Math.trunc(Number(query.get('limit'))) || PAGE_ITEMS))
    const inbox = this.#openInbox()
    const matches = (name: string, value: string) => query.get(name) === null || query.get(name) === value
    const found = inbox
      .find({})
      .filter((it) => matches('status', stateOf(it)))
      .filter((it) => matches('type', String(it.type)) && matches('update_id', String(it.update_id)))
    const sorted = query.get('sort') === 'created_at' ? found : found.toReversed()
    const shown = sorted.slice((page - 1) * limit, page * limit)
    const items = shown.flatMap(({ id }) => inbox.read(id) ?? []).map(deliveryOf)
    const pages = Math.ceil(found.length / limit)
    return { ok: true, data: { items, pagination: { page, limit, total: found.length, pages } } }
  }

  /** Returns the index of the inbox, read again after the files have grown. */
  #openInbox(): Inbox {
    const { dir } = this.#options
    const bytes = inboxBytes(dir)
    if (this.#known?.bytes !== bytes) this.#known = { bytes, inbox: new Inbox(dir) }
    return this.#known.inbox
  }
}

/** Reads and checks the body of a replay request; undefined for an invalid body. */
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

export function send(response: ServerResponse, result: Result): void {
  const [status, body] = result.ok
    ? [200, { success: true, data: result.data }]
    : [failures[result.code].status, { success: false, ...failureOf(result) }]
  response.writeHead(status, { ...platformHeaders, 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

/** Why a delivery of a listener cannot be replayed, by `details.reason`. */
const replayFaults: Readonly<Record<string, string>> = {
  no_app: 'No application got this delivery: start the listener with --forward-to, and replay it then.',
  no_secret: 'The listener has no secret to sign with: start it with --secret-file.',
  no_update_id: 'Neither the body nor the headers have an update id, so the delivery cannot be signed.',
}

const failureOf = ({ code, details }: Refusal) => ({
  code,
  message: replayFaults[String(details?.reason)] ?? failures[code].message,
  details,
})
