import { createHash } from 'node:crypto'
import type { HttpRequest, HttpResponse, InnerRequest, Send, ServerKey, ServerSession } from '../../src/secure/index.js'
import * as secure from '../../src/secure/index.js'
import { bytes, positive } from './vectors.js'

/** A deterministic replacement of the random source. */
export function makeRandom(seed: string): secure.RandomBytes {
  let count = 0
  return (size) => {
    const blocks: Buffer[] = []
    for (let length = 0; length < size; length += 32) {
      count += 1
      blocks.push(createHash('sha256').update(`${seed} ${count}`).digest())
    }
    return Buffer.concat(blocks).subarray(0, size)
  }
}

export const serverKeys = ['p01-get-no-origin', 'second'].map((id, index) =>
  secure.loadServerKey(
    index === 0 ? bytes(positive(id).serverPrivateKey) : secure.makeServerPrivateKey(makeRandom('second server key')),
  ),
) as [ServerKey, ServerKey]

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(body),
})

export const refusal = (status: number, code: string): HttpResponse =>
  json(status, { success: false, code, message: code, retryable: false, requestId: 'req_1' })

export interface FakeServer {
  readonly send: Send
  /** Every received HTTP request, in order of arrival. */
  readonly requests: HttpRequest[]
  /** Every processed API call, encrypted or in plain text. */
  readonly processed: InnerRequest[]
  readonly sessions: Map<string, ServerSession>
  key: ServerKey
  /** Previous server keys in their grace period, which still open sessions. */
  grace: ServerKey[]
  enabled: boolean
  now: () => number
  respond: (request: InnerRequest) => HttpResponse
  /** Replaces the response of the server; may throw. */
  intercept: (request: HttpRequest, next: () => HttpResponse) => HttpResponse | Promise<HttpResponse>
  count(path: string): number
}

/** A server of the encrypted transport that keeps its sessions and replay marks in memory. */
export function makeFakeServer(now: () => number): FakeServer {
  const marks = new Set<string>()
  const randomBytes = makeRandom('server')
  const server: FakeServer = {
    requests: [],
    processed: [],
    sessions: new Map(),
    key: serverKeys[0],
    grace: [],
    enabled: true,
    now,
    respond: () => json(200, { success: true, data: { redeemable: true }, requestId: 'req_1' }),
    intercept: (_request, next) => next(),
    count: (path) => server.requests.filter((request) => request.path === path).length,
    async send(request) {
      server.requests.push(request)
      // Respond in a later tick, as a real network does.
      await Promise.resolve()
      return server.intercept(request, () => handle(request))
    },
  }

  function handle(request: HttpRequest): HttpResponse {
    if (request.path === secure.paths.bootstrap) {
      return json(200, secure.describeServer(server.key, server.enabled, server.now()))
    }
    if (request.path === secure.paths.session) return openSession(request)
    if (request.path === secure.paths.dispatch) return dispatch(request)
    const { method, path, headers } = request
    return process({ method: method as 'POST', path, query: [], headers })
  }

  function process(request: InnerRequest): HttpResponse {
    server.processed.push(request)
    return server.respond(request)
  }

  function openSession({ body = '', headers }: HttpRequest): HttpResponse {
    if (!server.enabled) return refusal(403, 'SECURE_TRANSPORT_DISABLED')
    const made = secure.createServerSession(
      { body: JSON.parse(body), origin: headers.origin },
      {
        allowedOrigins: ['*'],
        brand: 'platform',
        keyFor: (kid) => [server.key, ...server.grace].find((key) => kid === undefined || key.kid === kid),
        now: server.now(),
        randomBytes,
      },
    )
    if (!made.ok) return refusal(409, made.code)
    server.sessions.set(made.session.sid, made.session)
    return json(200, made.response)
  }

  function dispatch({ body = '', headers }: HttpRequest): HttpResponse {
    const refused = secure.checkDispatchHead(headers)
    if (refused !== undefined) return refusal(415, refused.code)
    const read = secure.readDispatch(Buffer.from(body), server.now())
    if (!read.ok) return refusal(400, read.code)
    const { message } = read
    const session = server.sessions.get(message.sid)
    const opened = secure.openDispatch(message, { session, origin: headers.origin, now: server.now() })
    if (!opened.ok) return refusal(409, opened.code)
    const mark = `${message.sid} ${message.rid}`
    if (marks.has(mark)) return refusal(409, 'REQUEST_REPLAYED')
    marks.add(mark)
    const inner = secure.readInnerRequest(opened.plaintext)
    const response = inner.ok ? process(inner.request) : refusal(400, inner.code)
    const envelope = secure.sealResponse(message, opened.session, response, randomBytes)
    return { status: 200, headers: { 'content-type': secure.MEDIA_TYPE }, body: JSON.stringify(envelope) }
  }

  return server
}

/** Fake timers that fire only when the test calls `fire`. */
export function makeTimers() {
  const due = new Map<() => void, number>()
  return {
    setTimer: (run: () => void, ms: number) => {
      due.set(run, ms)
      return () => due.delete(run)
    },
    /** Fires every timer whose delay is at most `ms`. */
    fire(ms: number) {
      for (const [run, after] of [...due]) {
        if (after > ms) continue
        due.delete(run)
        run()
      }
    },
    running: () => due.size,
  }
}

export const redeem: HttpRequest = {
  method: 'POST',
  path: '/api/v1/open-platform/vouchers/redeem',
  headers: {
    authorization: 'Bearer sop_canary_token',
    'content-type': 'application/json',
    accept: 'application/json',
    'idempotency-key': 'canary-key-1',
    'user-agent': 'canary-agent',
  },
  body: '{"credential":{"type":"redeem_code","value":"CANA-RYCA-NARY-CODE"}}',
  repeatable: true,
}
