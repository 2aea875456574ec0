import { isIPv4 } from 'node:net'
import { refuse } from '../../contract/errors.js'
import { CHALLENGE_HEADER, proofOf } from '../../files/server-proof.js'
import type { Inspector } from '../../inspector/inspector.js'
import { allowedOriginOf, refuseHost } from '../../inspector/request-origin.js'
import { one } from '../../store/operation.js'
import { isOperator, messageOf } from '../auth.js'
import type { Deps } from '../deps.js'
import type { Metrics } from '../observe/metrics.js'
import { type ApiCall, jsonReply, type Route, refuseBody } from './api-call.js'
import { readJson } from './body.js'
import type { Routes } from './routes.js'

/** Host names that a page at the address of the connection may use. */
const ownNames = ({
  carrier: {
    request: { socket },
  },
}: ApiCall) =>
  allowedOriginOf(
    `http://${isIPv4(socket.localAddress ?? '') ? socket.localAddress : '[::1]'}:${socket.localPort ?? 80}`,
  )

/**
 * Adds /healthz (the process responds, with the id of its start), /readyz (the process can write to its store) and
 * /metrics (Prometheus metrics, for clients on this machine and for the operator).
 */
export function bindHealth(routes: Routes, deps: Deps, metrics: Metrics): void {
  const success = (requestId: string, data: object) => jsonReply({ success: true, data, requestId })

  const get = (path: `/${string}`, id: `health.${string}`, handle: Route['handle']) =>
    routes.add({ method: 'GET', endpoint: { id, path }, handle })
  get('/healthz', 'health.live', ({ id, headers: { [CHALLENGE_HEADER]: challenge } }) => {
    const proof = typeof challenge === 'string' ? { proof: proofOf(deps.proofKey, challenge) } : {}
    return success(id, { status: 'ok', instanceId: deps.instanceId, ...proof })
  })
  get('/readyz', 'health.ready', async ({ id }) => {
    try {
      // Check with a write: after a failed fsync the store can still read but no longer write.
      await deps.store.write(() => one('select 1 as ready'))
    } catch {
      return refuse('SERVICE_UNAVAILABLE')
    }
    return success(id, { status: 'ready' })
  })
  get('/metrics', 'health.metrics', async (exchange) => {
    const byKey = isOperator(deps, exchange)
    if (!byKey && !deps.addresses.isLoopback(exchange)) return refuse('ROUTE_NOT_FOUND')
    // Like the operator API: a server beyond loopback does not know its names, and accepts all with the key.
    const foreign = byKey && deps.inspector === null ? undefined : refuseHost(ownNames(exchange), exchange)
    return foreign ?? { status: 200, headers: { 'content-type': metrics.contentType }, body: await metrics.text() }
  })
}

export function bindPage(routes: Routes, inspector: Inspector): void {
  const files = { id: 'page.files', path: '/_platform/ui/*' } as const
  routes.add({ method: 'GET', endpoint: files, handle: (exchange) => inspector.get(messageOf(exchange)) })
  const post = (name: string, respond: (body: unknown) => ReturnType<Route['handle']>) =>
    routes.add({
      method: 'POST',
      endpoint: { id: `page.${name}`, path: `/_platform/ui/${name}` },
      handle: async (exchange) => {
        const read = await readJson(exchange)
        return read.ok ? respond(read.value) : refuseBody(exchange, read)
      },
    })
  post('session', (body) => inspector.startSession(body))
  post('proof', (body) => inspector.prove(body))
}
