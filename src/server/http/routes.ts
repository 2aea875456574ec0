import type { FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { CapturedRoute } from '../observe/exchange.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for a path or method without a route. */
    route: Route | null
  }
}

export interface Route {
  readonly method: string
  /** Its path has parameters such as `:id`; `/*` at its end stands for the path before it and all paths below. */
  readonly endpoint: CapturedRoute
  /** True for a GET without a HEAD. */
  readonly refusesHead?: boolean
  /** Sends a refusal, or calls `done`; runs before anything of the body is read. */
  onRequest?(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void
  handler(request: FastifyRequest, reply: FastifyReply): unknown
}

interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string | undefined>>
}

const routedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type RoutedMethod = (typeof routedMethods)[number]

/**
 * The routes of a server, in the router that Fastify uses too. Fastify itself has one route for all of them: to add each
 * to Fastify takes half of the time that a further start of a server needs, to add them here 3 ms.
 */
export class Routes {
  readonly all: Route[] = []
  // A longer parameter would be no route but 404 without the checks of the route.
  readonly #router = findMyWay({ maxParamLength: 16_384 })

  add(route: Route): void {
    this.all.push(route)
    const { path } = route.endpoint
    const methods = route.method === 'GET' && route.refusesHead !== true ? ['GET', 'HEAD'] : [route.method]
    const paths = path.endsWith('/*') ? [path.slice(0, -2), path] : [path]
    for (const one of paths) this.#router.on(methods as HTTPMethod[], one, () => {}, route)
  }

  find(method: string, url: string): Match | undefined {
    const found = this.#router.find(method as HTTPMethod, pathOf(url))
    return found === null ? undefined : { route: found.store as Route, params: found.params }
  }

  /** Methods of a path, for the Allow header of a 405; empty for an unknown path. */
  methods(url: string): RoutedMethod[] {
    return routedMethods.filter((it) => this.find(it, url) !== undefined)
  }
}

const pathOf = (url: string) => url.split(/[?#]/, 1)[0] as string
