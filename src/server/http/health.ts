import type { FastifyReply } from 'fastify'
import { refuse } from '../../contract/errors.js'
import { one } from '../../store/operation.js'
import { isOperator } from '../auth.js'
import type { Deps } from '../deps.js'
import type { Metrics } from '../observe/metrics.js'
import { sendFailure } from './envelope.js'
import type { Route, Routes } from './routes.js'

/**
 * Adds /healthz (the process responds, with the id of its start), /readyz (the process can write to its store) and
 * /metrics (Prometheus metrics, for clients on this machine and for the operator).
 */
export function bindHealth(routes: Routes, deps: Deps, metrics: Metrics): void {
  const sendSuccess = (reply: FastifyReply, requestId: string, data: object) =>
    reply.send({ success: true, data, requestId })

  const get = (path: `/${string}`, id: `health.${string}`, handler: Route['handler']) =>
    routes.add({ method: 'GET', endpoint: { id, path }, handler })
  get('/healthz', 'health.live', (request, reply) =>
    sendSuccess(reply, request.id, { status: 'ok', instanceId: deps.instanceId }),
  )
  get('/readyz', 'health.ready', async (request, reply) => {
    try {
      // Check with a write: after a failed fsync the store can still read but no longer write.
      await deps.store.write(() => one('select 1 as ready'))
    } catch {
      return sendFailure(request, reply, refuse('SERVICE_UNAVAILABLE'))
    }
    return sendSuccess(reply, request.id, { status: 'ready' })
  })
  get('/metrics', 'health.metrics', async (request, reply) => {
    const mayRead = deps.addresses.isLoopback(request) || isOperator(deps, request)
    if (!mayRead) return sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    return reply.type(metrics.contentType).send(await metrics.text())
  })
}
