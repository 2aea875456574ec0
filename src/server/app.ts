import type { RequestListener } from 'node:http'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { contract } from '../contract/index.js'
import { dispatch } from '../contract/secure.js'
import { KeyMissing } from '../domain/keyring.js'
import { StoreUnavailable } from '../store/store.js'
import { bind } from './bind.js'
import type { Deps } from './deps.js'
import type { Handler } from './handler.js'
import { makeHandlers } from './handlers/index.js'
import { refuseMessage, sendFailure } from './http/envelope.js'
import { bindHealth } from './http/health.js'
import { HttpServer } from './http/http-server.js'
import { IdempotentCalls } from './http/idempotent-calls.js'
import { refuseWithoutHost, targetOf } from './http/request-target.js'
import { Routes } from './http/routes.js'
import type { CapturedCall } from './observe/exchange.js'
import type { Metrics } from './observe/metrics.js'
import { type CompletedRequest, entryOf } from './observe/request-log.js'
import { bindPage, refuseForeignRequest } from './page-routes.js'
import { createDispatchListener, isDispatch } from './transport/dispatch.js'
import { bindSecureGateway } from './transport/gateway.js'
import { InnerMessage } from './transport/inner-exchange.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while exchanges are captured. */
    sentBody: string | null
  }
  interface FastifyInstance {
    /** Handles every HTTP request: dispatches of the encrypted transport directly, all others by Fastify's routes. */
    readonly respond: RequestListener
    readonly routes: Routes
  }
}

export interface AppEvents {
  /** Called for each completed request; the log entry contains nothing from a header, body or query. */
  onRequestDone(...logged: Parameters<Deps['requestLog']['add']>): void
  /** Called when a bug or an unusable store caused a response with status 500 or 503. */
  onError(requestId: string, error: unknown): void
}

const routedMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Builds a Fastify instance with all routes, which does not listen yet. */
export function buildApp(deps: Deps, metrics: Metrics, events: AppEvents): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: false,
    genReqId: (raw) => (raw instanceof InnerMessage ? raw.outer.id : deps.newId('req')),
    requestIdHeader: false,
    serverFactory: () =>
      new HttpServer(
        (request, response) => app.respond(request, response),
        (error) => refuseMessage(error, deps.newId('req'), deps.differences.messages),
      ),
    // During close(), Fastify would respond 503 without an envelope on open connections: handle these requests.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384 },
    // The contract validates and serialises (bind.ts), so Fastify's own compilers need not be loaded.
    schemaController: { compilersFactory: { buildValidator: notUsed, buildSerializer: notUsed } },
    rewriteUrl: ({ url = '/' }) => targetOf(url),
    // HttpServer responds to malformed messages, after earlier requests of the connection.
    clientErrorHandler: () => {},
    frameworkErrors: (_error, request, reply) => {
      prepare(request, reply)
      sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    },
  })

  const routes = new Routes()
  app.decorate('routes', routes)
  app.decorate('failureMessages', deps.differences.messages)
  app.decorateRequest('route', null)
  app.decorateRequest('caller', null)
  app.decorateRequest('generation', 0)
  app.decorateRequest('botId', null)
  app.decorateRequest('failureCode', null)
  app.decorateRequest('applicationId', null)
  app.decorateRequest('voucher', null)
  app.decorateRequest('replayed', false)
  app.decorateRequest('inner', null)
  app.decorateRequest('receivedBody', null)
  app.decorateRequest('sentBody', null)

  // Stop Fastify from reading bodies: a route reads its body after the checks that need none (read-body.ts).
  for (const method of routedMethods.slice(1)) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }

  app.addHook('onRequest', (request, reply, done) => {
    prepare(request, reply)
    const raw: unknown = request.raw
    request.inner = raw instanceof InnerMessage ? raw : null
    deps.addresses.checkProxy(request)
    const found = routes.find(request.method, request.url)
    if (found !== undefined) {
      request.route = found.route
      request.params = found.params
    }
    const foreign = refuseForeignRequest(deps, request, reply)
    if (foreign !== undefined) return sendFailure(request, reply, foreign)
    if (found === undefined) return respondOutsideRoutes(request, reply)
    const refusal = request.inner === null ? refuseWithoutHost(request.raw) : undefined
    if (refusal !== undefined) return sendFailure(request, reply, refusal)
    if (found.route.onRequest === undefined) done()
    else found.route.onRequest(request, reply, done)
  })
  const recordRequest = (it: CompletedRequest, captured: CapturedCall | null) => {
    const { endpoint, method, status, code, elapsedMs } = it
    metrics.observe({ endpoint: endpoint?.id ?? 'none', method, status, code, seconds: elapsedMs / 1000 })
    const entry = entryOf(it, deps.clock.now())
    events.onRequestDone(entry, it.voucher)
    if (!it.carries && deps.operatorKeyHash !== null) deps.activity.addRequest(entry, captured)
  }
  const recordReply = (request: FastifyRequest, reply: FastifyReply) => {
    const { botId, failureCode: code, applicationId, voucher, replayed } = request
    const endpoint = request.route?.endpoint
    const { statusCode: status, elapsedTime: elapsedMs } = reply
    if (botId !== null && endpoint !== undefined) {
      deps.botCalls.note({ botId, path: endpoint.path, status, code }, deps.clock.now())
    }
    const { id, method } = request
    const captured = deps.activity.captures ? capturedCall(request, reply) : null
    recordRequest({ id, endpoint, method, status, code, applicationId, voucher, replayed, elapsedMs }, captured)
  }
  app.addHook('onResponse', (request, reply, done) => {
    recordReply(request, reply)
    done()
  })
  // onResponse never runs if the client has disconnected, but the request took effect: record it here.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (deps.activity.captures && typeof payload === 'string') request.sentBody = payload
    if (reply.raw.destroyed) recordReply(request, reply)
    done(null, payload)
  })

  // Responds with 404 or 405 before reading a body (DECISIONS.md#order-of-checks).
  const respondOutsideRoutes = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = routes.methods(request.url)
    if (allowed.length === 0) return sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    return sendFailure(request, reply.header('allow', allowed.join(', ')), refuse('METHOD_NOT_ALLOWED'))
  }
  app.setNotFoundHandler(respondOutsideRoutes)

  const refusalOfError = (id: string, error: unknown): Refusal => {
    events.onError(id, error)
    const mayBeRetried = error instanceof StoreUnavailable || error instanceof KeyMissing
    return refuse(mayBeRetried ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR')
  }
  app.setErrorHandler((error: FastifyError, request, reply) =>
    sendFailure(request, reply, refusalOfError(request.id, error)),
  )

  app.route({ method: routedMethods, url: '/*', handler: (request, reply) => request.route?.handler(request, reply) })
  bindHealth(routes, deps, metrics)
  if (deps.inspector !== null) bindPage(routes, deps.inspector)
  // Wake the open poll of a bot after a commit that concerns the bot.
  const stopListening = deps.store.listen(
    (botId) => deps.polls.changed(botId),
    () => deps.polls.allChanged(),
  )
  app.addHook('preClose', (done) => {
    deps.polls.close()
    done()
  })
  const stopFollowing = deps.snapshots.follow()
  const { activity } = deps
  const stopReporting = [
    deps.attempts.listen((made) => activity.addDelivery(made)),
    deps.clock.onMove(() => activity.changed('clock')),
    deps.faults.onChange(() => activity.changed('faults')),
  ]
  app.addHook('onClose', async () => {
    stopListening()
    stopFollowing()
    for (const stop of stopReporting) stop()
  })
  bindSecureGateway(routes, deps)
  // Only for the Allow header: `respond` handles dispatches, which cannot contain a dispatch.
  routes.add({ method: dispatch.method, endpoint: dispatch, handler: respondOutsideRoutes })
  const routing = app.routing as RequestListener
  const respondToDispatch = createDispatchListener(deps, routing, { recordRequest, refusalOfError })
  app.decorate('respond', (request, response) =>
    isDispatch(request) ? respondToDispatch(request, response) : routing(request, response),
  )
  const idempotentCalls = new IdempotentCalls()
  const handlers = makeHandlers(deps)
  for (const [group, groupHandlers] of Object.entries(handlers)) {
    if (group === 'platform' && deps.operatorKeyHash === null) continue
    const groupEndpoints = contract[group as keyof typeof contract] as Record<string, Endpoint>
    for (const [name, endpoint] of Object.entries(groupEndpoints)) {
      const handler = (groupHandlers as Record<string, unknown>)[name] as Handler<Endpoint>
      bind({ routes, deps, idempotentCalls }, endpoint, handler)
    }
  }
  return app
}

/** Keeps references to the parts of a call; most calls of a busy server are never shown. */
function capturedCall(request: FastifyRequest, reply: FastifyReply): CapturedCall {
  const { inner, raw, originalUrl: url, method, receivedBody, sentBody: responseBody } = request
  return {
    route: request.route?.endpoint,
    method,
    url,
    rawHeaders: raw.rawHeaders,
    body: inner === null ? receivedBody : { json: inner.body, length: inner.textBytes },
    status: reply.raw.destroyed ? null : reply.statusCode,
    responseHeaders: reply.getHeaders(),
    responseBody,
  }
}

function notUsed(): never {
  throw new Error('no route has a schema of its own')
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
}
