import type { Refusal } from '../contract/errors.js'
import { platformHeaders } from '../inspector/assets.js'
import { type Inspector, isPlatformPath, type PageRequest } from '../inspector/inspector.js'
import type { Deps } from './deps.js'
import { type Exchange, refuseBody } from './http/exchange.js'
import { readJson } from './http/read-body.js'
import type { Routes } from './http/routes.js'

/** Refuses a request below /_platform that is for another name or from another site (DECISIONS.md#page-requests). */
export function refuseForeignRequest({ inspector }: Pick<Deps, 'inspector'>, exchange: Exchange): Refusal | undefined {
  const path = exchange.route?.endpoint.path
  const isPlatform = path === undefined ? isPlatformPath(exchange.url) : path.startsWith('/_platform/')
  if (!isPlatform) return undefined
  Object.assign(exchange.replyHeaders, platformHeaders)
  return inspector?.refuse(exchange)
}

/** Adds the routes of the page. */
export function bindPage(routes: Routes, inspector: Inspector): void {
  routes.add({
    method: 'GET',
    endpoint: { id: 'page.files', path: '/_platform/ui/*' },
    handle: (exchange) => inspector.get(messageOf(exchange)),
  })
  routes.add({
    method: 'POST',
    endpoint: { id: 'page.session', path: '/_platform/ui/session' },
    handle: async (exchange) => {
      const read = await readJson(exchange)
      return read.ok ? inspector.startSession(read.value) : refuseBody(exchange, read)
    },
  })
}

export const messageOf = ({ method, url, rawHeaders, carrier }: Exchange): PageRequest => ({
  method,
  url,
  rawHeaders,
  socket: carrier.request.socket,
})
