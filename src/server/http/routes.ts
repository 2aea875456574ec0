import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { Route } from './api-call.js'

const routedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type RoutedMethod = (typeof routedMethods)[number]

type Router = ReturnType<typeof findMyWay>

/** Routers by the methods and paths of their routes; the servers of a process have few different sets. */
const routers = new Map<string, Router>()

/** The routes of a server. The first call builds the router, in 3 ms, for all servers with the same paths. */
export class Routes {
  readonly all: Route[] = []
  #router: Router | undefined

  add(route: Route): void {
    this.all.push(route)
    this.#router = undefined
  }

  find(method: string, url: string) {
    this.#router ??= routerOf(this.all)
    const found = this.#router.find(method as HTTPMethod, url)
    if (found === null) return undefined
    return { route: this.all[found.store.index] as Route, params: found.params, query: found.searchParams }
  }

  /** Methods of a path, for the Allow header of a 405; empty for an unknown path. */
  methods(url: string): RoutedMethod[] {
    return routedMethods.filter((it) => this.find(it, url) !== undefined)
  }
}

/** Returns a router that finds the index of a route. */
function routerOf(routes: readonly Route[]): Router {
  const patterns = routes.map(({ method, refusesHead, endpoint: { path } }) => ({
    methods: method === 'GET' && refusesHead !== true ? ['GET', 'HEAD'] : [method],
    paths: path.endsWith('/*') ? [path.slice(0, -2), path] : [path],
  }))
  const key = JSON.stringify(patterns)
  const known = routers.get(key)
  if (known !== undefined) return known
  // A longer parameter would match no route and get a 404, without the checks of the route.
  const router = findMyWay({ maxParamLength: 16_384 })
  for (const [index, { methods, paths }] of patterns.entries())
    for (const path of paths) router.on(methods as HTTPMethod[], path, () => {}, { index })
  routers.set(key, router)
  return router
}
