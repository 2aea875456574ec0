import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../contract/errors.js'
import { type PageResponse, platformHeaders } from '../inspector/assets.js'
import { type Inspector, isPlatformPath, type PageRequest } from '../inspector/inspector.js'
import type { Deps } from './deps.js'
import { sendBodyFailure, sendFailure } from './http/envelope.js'
import { readJson } from './http/read-body.js'
import type { Routes } from './http/routes.js'

/** Refuses a request below /_platform that is for another name or from another site (DECISIONS.md#page-requests). */
export function refuseForeignRequest(
  { inspector }: Pick<Deps, 'inspector'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Refusal | undefined {
  const path = request.route?.endpoint.path
  const isPlatform = path === undefined ? isPlatformPath(request.originalUrl) : path.startsWith('/_platform/')
  if (!isPlatform) return undefined
  reply.headers(platformHeaders)
  return inspector?.refuse(messageOf(request))
}

/** Adds the routes of the page. */
export function bindPage(routes: Routes, inspector: Inspector): void {
  routes.add({
    method: 'GET',
    endpoint: { id: 'page.files', path: '/_platform/ui/*' },
    handler: async (request, reply) => send(request, reply, await inspector.get(messageOf(request))),
  })
  routes.add({
    method: 'POST',
    endpoint: { id: 'page.session', path: '/_platform/ui/session' },
    handler: async (request, reply) => {
      const read = await readJson(request)
      return read.ok ? send(request, reply, inspector.startSession(read.value)) : sendBodyFailure(request, reply, read)
    },
  })
}

/** The request as received: the router works with a rewritten target. */
export const messageOf = ({ originalUrl, raw: { method, rawHeaders, socket } }: FastifyRequest): PageRequest => ({
  method,
  url: originalUrl,
  rawHeaders,
  socket,
})

function send(request: FastifyRequest, reply: FastifyReply, result: PageResponse | Refusal): FastifyReply {
  if ('ok' in result) return sendFailure(request, reply, result)
  return reply.code(result.status).headers(result.headers).send(result.body)
}
