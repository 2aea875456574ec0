import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.js'
import { refuse } from '../contract/errors.js'
import { contract } from '../contract/index.js'
import { formatInstant } from '../domain/time.js'
import { StoreUnavailable } from '../store/store.js'
import { bind } from './bind.js'
import { createServer } from './connections.js'
import type { Deps } from './deps.js'
import { answerOutsideHttp, targetOf } from './edge.js'
import { sendFailure } from './envelope.js'
import type { Handler } from './handler.js'
import { checks, makeHandlers } from './handlers/index.js'
import { bindHealth } from './health.js'
import { InFlight } from './in-flight.js'
import { InnerMessage } from './inner-exchange.js'
import type { Metrics } from './metrics.js'
import { allowedMethods } from './routes.js'
import { bindSecureGateway } from './secure-gateway.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Pick<Endpoint, 'id' | 'path'>
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
  const app = fastify({
    logger: false,
    genReqId: () => deps.newId('req'),
    requestIdHeader: false,
    serverFactory: (answer) => createServer(answer, (error) => answerOutsideHttp(error, deps.newId('req'))),
    // Fastify's own 503 is no envelope; what still arrives while the server closes is served, and its connection ends.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384 },
    // Bodies are validated and answers written from the contract (bind.ts): Fastify's own compilers stay unloaded.
    schemaController: { compilersFactory: { buildValidator: notUsed, buildSerializer: notUsed } },
    rewriteUrl: ({ url = '/' }) => targetOf(url),
    // Answered by createServer, in its turn.
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
    if (request.is404) answerOutsideRoutes(request, reply)
    else if (request.inner === null && request.raw.httpVersionMinor > 0 && request.headers.host === undefined) {
      sendFailure(request, reply, refuse('VALIDATION_FAILED', { errors: [NO_HOST] }))
    } else done()
  })
  const note = (request: FastifyRequest, reply: FastifyReply) => {
    const { endpoint } = request.routeOptions.config
    if (request.botId !== null && endpoint !== undefined) {
      const { botId, failureCode: code } = request
      deps.botCalls.note({ botId, path: endpoint.path, status: reply.statusCode, code }, deps.clock.now())
    }
    metrics.observe({
      endpoint: endpoint?.id ?? 'none',
      method: request.method,
      status: reply.statusCode,
      code: request.failureCode,
      seconds: reply.elapsedTime / 1000,
    })
    events.onRequestDone({
      time: formatInstant(deps.clock.now()),
      request_id: request.id,
      endpoint: endpoint?.id ?? null,
      method: request.method,
      path: endpoint?.path ?? null,
      status: reply.statusCode,
      code: request.failureCode,
      application_id: request.applicationId,
      replayed: request.replayed,
      duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
    })
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

  // Answered before the body is read: what is wrong with it is checked later (decisions.md 1, order of checks).
  const answerOutsideRoutes = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = allowedMethods(request.url, deps.operatorKeyHash !== null)
    if (allowed.length === 0) return sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    return sendFailure(request, reply.header('allow', allowed.join(', ')), refuse('METHOD_NOT_ALLOWED'))
  }
  app.setNotFoundHandler(answerOutsideRoutes)

  app.setErrorHandler((error: FastifyError, request, reply) => {
    events.onError(request.id, error)
    const code = error instanceof StoreUnavailable ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR'
    return sendFailure(request, reply, refuse(code))
  })

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
  const inFlight = new InFlight()
  const handlers = makeHandlers(deps)
  for (const [group, groupHandlers] of Object.entries(handlers)) {
    if (group === 'platform' && deps.operatorKeyHash === null) continue
    const groupEndpoints = contract[group as keyof typeof contract] as Record<string, Endpoint>
    for (const [name, endpoint] of Object.entries(groupEndpoints)) {
      const handler = (groupHandlers as Record<string, unknown>)[name] as Handler<Endpoint>
      bind({ app, deps, inFlight, checks }, endpoint, handler)
    }
  }
  return app
}

const NO_HOST = { pointer: 'Host', code: 'required', message: 'is required' }

function notUsed(): never {
  throw new Error('no route has a schema of its own')
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
}
