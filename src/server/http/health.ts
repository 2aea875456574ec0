import { isIPv4 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../contract/errors.js'
import { allowedOriginOf, refuseHost } from '../../inspector/request-origin.js'
import { one } from '../../store/operation.js'
import { isOperator } from '../auth.js'
import type { Deps } from '../deps.js'
import type { Metrics } from '../observe/metrics.js'
import { messageOf } from '../page-routes.js'
import { sendFailure } from './envelope.js'
import type { Route, Routes } from './routes.js'

/** The names that a page at the address of the connection may use. */
const ownNames = ({ raw: { socket } }: FastifyRequest) =>
  allowedOriginOf(
    `http://${isIPv4(socket.localAddress ?? '') ? socket.localAddress : '[::1]'}:${socket.localPort ?? 80}`,
  )

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
    const byKey = isOperator(deps, request)
    if (!byKey && !deps.addresses.isLoopback(request)) return sendFailure(request, reply, refuse('ROUTE_NOT_FOUND'))
    // As for the operator API: a server beyond loopback does not know its names, and accepts all with the key.
    const foreign = byKey && deps.inspector === null ? undefined : refuseHost(ownNames(request), messageOf(request))
    if (foreign !== undefined) return sendFailure(request, reply, foreign)
    return reply.type(metrics.contentType).send(await metrics.text())
  })
}
