import type { RequestListener } from 'node:http'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { contract } from '../contract/index.js'
import { StoreUnavailable } from '../store/store.js'
import { bind } from './bind.js'
import type { Deps } from './deps.js'
import type { Handler } from './handler.js'
import { makeHandlers } from './handlers/index.js'
import { refuseMessage, sendFailure } from './http/envelope.js'
import { bindHealth } from './http/health.js'
import { HttpServer } from './http/http-server.js'
import { InFlight } from './http/in-flight.js'
import { refuseWithoutHost, targetOf } from './http/request-target.js'
import { allowedMethods } from './http/routes.js'
import type { Metrics } from './observe/metrics.js'
import { type Answered, entryOf } from './observe/request-log.js'
import { answerDispatches, isDispatch } from './transport/dispatch.js'
import { bindSecureGateway } from './transport/gateway.js'
import { InnerMessage } from './transport/inner-exchange.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Pick<Endpoint, 'id' | 'path'>
  }
  interface FastifyInstance {
    /** What a connection hands its requests to: the routes, and before them the dispatches. */
    readonly answer: RequestListener
  }
}

export interface AppEvents {
  /** One line a request; nothing in it comes from a header, a body or a query. */
  onRequestDone(entry: Parameters<Deps['requestLog']['add']>[0]): void
  /** A bug or an unusable store: what the caller saw as 500 or 503. */
  onError(requestId: string, error: unknown): void
}

/** Fastify with every route bound; it never listens by itself. */
export function buildApp(deps: Deps, metrics: Metrics, events: AppEvents): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: false,
    genReqId: (raw) => (raw instanceof InnerMessage ? raw.outer.id : deps.newId('req')),
    requestIdHeader: false,
    serverFactory: () =>
      new HttpServer(
        (request, response) => app.answer(request, response),
        (error) => refuseMessage(error, deps.newId('req')),
      ),
    // Fastify's own 503 is no envelope; what still arrives while the server closes is served, and its connection ends.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384 },
    // Bodies are validated and answers written from the contract (bind.ts): Fastify's own compilers stay unloaded.
    schemaController: { compilersFactory: { buildValidator: notUsed, buildSerializer: notUsed } },
    rewriteUrl: ({ url = '/' }) => targetOf(url),
    // HttpServer responds, in order.
    clientErrorHandler: () => {},
    frameworkErrors: (_error, request, reply) => {
      prepare(request, reply)
      sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    },
  })

  app.decorateRequest('caller', null)
  app.decorateRequest('botId', null)
  app.decorateRequest('failureCode', null)
  app.decorateRequest('applicationId', null)
  app.decorateRequest('replayed', false)
  app.decorateRequest('inner', null)

  // Bodies are read by the handlers of the routes (read-body.ts).
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }

  app.addHook('onRequest', (request, reply, done) => {
    prepare(request, reply)
    const raw: unknown = request.raw
    request.inner = raw instanceof InnerMessage ? raw : null
    deps.addresses.checkProxy(request)
    if (request.is404) return answerOutsideRoutes(request, reply)
    const refusal = request.inner === null ? refuseWithoutHost(request.raw) : undefined
    if (refusal === undefined) done()
    else sendFailure(request, reply, refusal)
  })
  const noteAnswered = (it: Answered) => {
    const { endpoint, method, status, code, elapsedMs } = it
    metrics.observe({ endpoint: endpoint?.id ?? 'none', method, status, code, seconds: elapsedMs / 1000 })
    events.onRequestDone(entryOf(it, deps.clock.now()))
  }
  const note = (request: FastifyRequest, reply: FastifyReply) => {
    const { botId, failureCode: code, applicationId, replayed } = request
    const { endpoint } = request.routeOptions.config
    const { statusCode: status, elapsedTime: elapsedMs } = reply
    if (botId !== null && endpoint !== undefined) {
      deps.botCalls.note({ botId, path: endpoint.path, status, code }, deps.clock.now())
    }
    noteAnswered({ id: request.id, endpoint, method: request.method, status, code, applicationId, replayed, elapsedMs })
  }
  app.addHook('onResponse', (request, reply, done) => {
    note(request, reply)
    done()
  })
  // An answer whose reader has gone is never finished; what it did is no less done.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.raw.destroyed) note(request, reply)
    done(null, payload)
  })

  // Refused before the body is read (DECISIONS.md#order-of-checks).
  const answerOutsideRoutes = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = allowedMethods(request.url, deps.operatorKeyHash !== null)
    if (allowed.length === 0) return sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    return sendFailure(request, reply.header('allow', allowed.join(', ')), refuse('METHOD_NOT_ALLOWED'))
  }
  app.setNotFoundHandler(answerOutsideRoutes)

  const refuseFailed = (id: string, error: unknown): Refusal => {
    events.onError(id, error)
    return refuse(error instanceof StoreUnavailable ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR')
  }
  app.setErrorHandler((error: FastifyError, request, reply) =>
    sendFailure(request, reply, refuseFailed(request.id, error)),
  )

  bindHealth(app, deps, metrics)
  // Held polls learn what was committed, and end when the server closes.
  const stopListening = deps.store.listen(
    (botId) => deps.polls.changed(botId),
    () => deps.polls.allChanged(),
  )
  app.addHook('preClose', (done) => {
    deps.polls.close()
    done()
  })
  app.addHook('onClose', async () => stopListening())
  bindSecureGateway(app, deps)
  const routing = app.routing as RequestListener
  const answerDispatch = answerDispatches(deps, routing, { noteAnswered, refuseFailed })
  app.decorate('answer', (request, response) =>
    isDispatch(request) ? answerDispatch(request, response) : routing(request, response),
  )
  const inFlight = new InFlight()
  const handlers = makeHandlers(deps)
  for (const [group, groupHandlers] of Object.entries(handlers)) {
    if (group === 'platform' && deps.operatorKeyHash === null) continue
    const groupEndpoints = contract[group as keyof typeof contract] as Record<string, Endpoint>
    for (const [name, endpoint] of Object.entries(groupEndpoints)) {
      const handler = (groupHandlers as Record<string, unknown>)[name] as Handler<Endpoint>
      bind({ app, deps, inFlight }, endpoint, handler)
    }
  }
  return app
}

function notUsed(): never {
  throw new Error('no route has a schema of its own')
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
}
