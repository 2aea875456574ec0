import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { Route } from './exchange.js'

interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, unknown>>
}

const routedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type RoutedMethod = (typeof routedMethods)[number]

/** The routes of a server. Adding all routes takes 3 ms of each start. */
export class Routes {
  readonly all: Route[] = []
  // A longer parameter would match no route and get a 404, without the checks of the route.
  readonly #router = findMyWay({ maxParamLength: 16_384 })

  add(route: Route): void {
    this.all.push(route)
    const { path } = route.endpoint
    const methods = route.method === 'GET' && route.refusesHead !== true ? ['GET', 'HEAD'] : [route.method]
    const paths = path.endsWith('/*') ? [path.slice(0, -2), path] : [path]
    for (const one of paths) this.#router.on(methods as HTTPMethod[], one, () => {}, route)
  }

  find(method: string, url: string): Match | undefined {
    const found = this.#router.find(method as HTTPMethod, url)
    if (found === null) return undefined
    return { route: found.store as Route, params: found.params, query: found.searchParams }
  }

  /** Methods of a path, for the Allow header of a 405; empty for an unknown path. */
  methods(url: string): RoutedMethod[] {
    return routedMethods.filter((it) => this.find(it, url) !== undefined)
  }
}
