import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Endpoint } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { contract } from '../contract/index.js'
import type { RequestLogEntry } from '../contract/platform/activity.js'
import { dispatch } from '../contract/secure.js'
import { KeyMissing } from '../domain/keyring.js'
import type { HttpResponse } from '../secure/http.js'
import { StoreUnavailable } from '../store/store.js'
import { refuseForeignRequest } from './auth.js'
import { bind } from './bind.js'
import type { Deps } from './deps.js'
import { IdempotentCalls } from './gate.js'
import type { CallAs, Handler } from './handler.js'
import { makeHandlers } from './handlers/index.js'
import {
  type ApiCall,
  completeReply,
  innerExchange,
  plainExchange,
  type Reply,
  type Result,
  refuseWithoutHost,
  splitTarget,
  writeReply,
} from './http/api-call.js'
import { failureResponse, refuseMessage } from './http/envelope.js'
import { bindHealth, bindPage } from './http/health.js'
import { HttpServer } from './http/http-server.js'
import { Routes } from './http/routes.js'
import { isFailedCall } from './observe/activity.js'
import type { CapturedCall } from './observe/exchange.js'
import type { Metrics } from './observe/metrics.js'
import { type CompletedRequest, entryOf } from './observe/request-log.js'
import { DispatchResponder } from './transport/dispatch.js'
import { bindSecureGateway } from './transport/gateway.js'

export interface App {
  readonly server: HttpServer
  readonly routes: Routes
  /** Handles every HTTP request: dispatches of the encrypted transport, and all others by the routes. */
  readonly respond: RequestListener
  listen(address: { readonly host: string; readonly port: number }): Promise<void>
  close(): Promise<void>
}

export interface AppEvents {
  /** Called for each completed request; the log entry contains nothing from a header, body or query. */
  onRequestDone(entry: RequestLogEntry): void
  /** Called when a bug or an unusable store caused a response with status 500 or 503. */
  onError(requestId: string, error: unknown): void
}

/** Builds a server with all routes, which does not listen yet. */
export function buildApp(deps: Deps, metrics: Metrics, events: AppEvents): App {
  const callAs: CallAs = async (carrier, as, request) => {
    const text = JSON.stringify(request.body) ?? ''
    const plaintext = { text, textBytes: Buffer.byteLength(text), origin: '' }
    const exchange = innerExchange(deps.newId('req'), carrier, request, plaintext, as)
    const { status } = await respondInside(exchange)
    return { captured: capturedCall(exchange, status), code: exchange.failureCode }
  }
  const routes = bindRoutes(deps, metrics, callAs)

  const recordRequest = (ended: CompletedRequest, status: number, captured: CapturedCall | null, carries: boolean) => {
    const now = deps.clock.now()
    const entry = entryOf(ended, status, now)
    metrics.observe(entry)
    if (ended.botId !== null && ended.route !== null) deps.botCalls.note(ended.botId, entry, now)
    deps.requestLog.add(entry, ended.voucher)
    events.onRequestDone(entry)
    if (!carries && deps.operatorKeyHash !== null) deps.activity.addRequest(entry, captured)
  }
  const record = (exchange: ApiCall, status: number) => {
    const { response, hold } = exchange.carrier
    const wasSent = !response.destroyed && hold?.at !== 'head'
    const captures = deps.activity.captures(isFailedCall({ status, code: exchange.failureCode }))
    const captured = captures ? capturedCall(exchange, wasSent ? status : null) : null
    recordRequest(exchange, status, captured, false)
  }

  const refusalOfError = (id: string, error: unknown): Refusal => {
    events.onError(id, error)
    const mayBeRetried = error instanceof StoreUnavailable || error instanceof KeyMissing
    return refuse(mayBeRetried ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR')
  }

  /** Finds the route of a call and runs it, in plain text or decrypted. */
  async function route(exchange: ApiCall): Promise<Result> {
    deps.addresses.checkProxy(exchange)
    const found = routes.find(exchange.method, exchange.target)
    if (found !== undefined) Object.assign(exchange, found)
    const foreign = refuseForeignRequest(deps, exchange)
    if (foreign !== undefined) return foreign
    if (found === undefined) return refuseOutsideRoutes(routes, exchange)
    const withoutHost = exchange.inner === null ? refuseWithoutHost(exchange.carrier.request) : undefined
    return withoutHost ?? (await found.route.admit?.(exchange)) ?? found.route.handle(exchange)
  }

  async function replyTo(exchange: ApiCall): Promise<Reply> {
    let result: Result
    try {
      result = await route(exchange)
    } catch (error) {
      result = refusalOfError(exchange.id, error)
    }
    if (!('ok' in result)) return completeReply(exchange, result)
    exchange.failureCode = result.code
    const keepAlive = exchange.carrier.response.shouldKeepAlive
    return completeReply(exchange, failureResponse(result, exchange.id, keepAlive))
  }

  const respondInPlain: RequestListener = async (request, response) => {
    const exchange = plainExchange(deps.newId('req'), request, response)
    let isRecorded = false
    const recordOnce = () => {
      if (!isRecorded) record(exchange, response.statusCode)
      isRecorded = true
    }
    response.once('finish', recordOnce).on('error', recordOnce)
    const reply = await replyTo(exchange)
    // HttpServer has responded to a request whose body was cut off.
    if (response.writableEnded) return
    response.statusCode = reply.status
    // The response to a client that has disconnected never finishes, but the request took effect.
    const { carrier } = exchange
    const isGone = response.destroyed || request.socket.destroyed || request.socket.readableEnded
    if (isGone || carrier.cut !== undefined || carrier.hold !== undefined) recordOnce()
    writeReply(carrier, reply)
  }

  const respondInside = async (exchange: ApiCall): Promise<HttpResponse> => {
    const reply = (await replyTo(exchange)) as HttpResponse
    record(exchange, reply.status)
    return reply
  }

  const dispatches = new DispatchResponder(deps, respondInside, { recordRequest, refusalOfError })
  const respond: RequestListener = (request, response) =>
    isDispatch(request) ? dispatches.respond(request, response) : respondInPlain(request, response)
  const server = new HttpServer(respond, (error) => refuseMessage(error, deps.newId('req')))
  const stopFollowing = followChanges(deps)

  return {
    server,
    routes,
    respond,
    async listen(address) {
      server.listen(address)
      await once(server, 'listening')
    },
    async close() {
      deps.polls.close()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
      stopFollowing()
    },
  }
}

/** True for a dispatch of the encrypted transport, even with an absolute or percent-escaped request target. */
function isDispatch({ method, url = '' }: IncomingMessage): boolean {
  if (method !== dispatch.method) return false
  if (url === dispatch.path) return true
  // Fast path: every POST passes here, and only a target with this path or an escape can be a dispatch.
  const isPossible = url.includes(dispatch.path) || url.includes('%')
  return isPossible && decodeURI(splitTarget(url).path) === dispatch.path
}

/** Adds all routes of the contract, of the page and of health checks. */
function bindRoutes(deps: Deps, metrics: Metrics, callAs: CallAs): Routes {
  const routes = new Routes()
  bindHealth(routes, deps, metrics)
  if (deps.inspector !== null) bindPage(routes, deps.inspector)
  bindSecureGateway(routes, deps)
  // Only for the Allow header: `respond` handles dispatches, which cannot contain another dispatch.
  routes.add({ method: dispatch.method, endpoint: dispatch, handle: (it) => refuseOutsideRoutes(routes, it) })
  const idempotentCalls = new IdempotentCalls()
  const handlers = makeHandlers(deps)
  for (const [group, groupHandlers] of Object.entries(handlers)) {
    if (group === 'platform' && deps.operatorKeyHash === null) continue
    const groupEndpoints = contract[group as keyof typeof contract] as Record<string, Endpoint>
    for (const [name, endpoint] of Object.entries(groupEndpoints)) {
      const handler = (groupHandlers as Record<string, unknown>)[name] as Handler<Endpoint>
      bind({ routes, deps, idempotentCalls, callAs }, endpoint, handler)
    }
  }
  return routes
}

/** For a person who opens the address of the server in a browser. */
const HELP_FOR_BROWSERS = 'This is a voucherctl server. To see its page, run: voucherctl open\n'

/** Refuses with 404 or 405 before reading a body (rules/calls.md#order-of-checks). */
function refuseOutsideRoutes(routes: Routes, exchange: ApiCall): Result {
  const { method, url, headers, target, replyHeaders } = exchange
  if (method === 'GET' && url === '/' && headers.accept?.includes('text/html')) {
    exchange.failureCode = 'ROUTE_NOT_FOUND'
    return { status: 404, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: HELP_FOR_BROWSERS }
  }
  const allowed = routes.methods(target)
  if (allowed.length === 0) return refuse('ROUTE_NOT_FOUND')
  replyHeaders.allow = allowed.join(', ')
  return refuse('METHOD_NOT_ALLOWED')
}

/** Wakes polls and reports changes. Returns a function that ends both. */
function followChanges(deps: Deps): () => void {
  const { activity } = deps
  const stops = [
    // Wake the open poll of a bot after a commit that concerns the bot.
    deps.store.listen(
      (botId) => deps.polls.changed(botId),
      () => deps.polls.allChanged(),
    ),
    deps.snapshots.follow(),
    deps.attempts.listen((made) => activity.addDelivery(made)),
    deps.clock.onMove(() => activity.changed('clock')),
    deps.faults.onChange(() => activity.changed('faults')),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Keeps references to the parts of a call; most calls of a busy server are never shown. */
function capturedCall(exchange: ApiCall, status: number | null): CapturedCall {
  const { inner, method, url, rawHeaders, receivedBody, replyHeaders, sentBody } = exchange
  return {
    route: exchange.route?.endpoint,
    method,
    url,
    rawHeaders,
    body: inner === null ? receivedBody : { json: inner.body, length: inner.textBytes },
    status,
    responseHeaders: replyHeaders,
    responseBody: sentBody,
  }
}
