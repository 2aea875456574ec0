import type { Endpoint } from '../../contract/endpoint.js'
import { contract } from '../../contract/index.js'
import { openEndpoints } from '../../contract/secure.js'

const healthPaths = ['/healthz', '/readyz', '/metrics'] as const

interface Route {
  readonly pattern: RegExp
  readonly method: string
  readonly headToo: boolean
}

function routesOf(endpoints: readonly Pick<Endpoint, 'path' | 'method' | 'streams'>[]): Route[] {
  return endpoints.map(({ path, method, streams }) => ({
    pattern: new RegExp(`^${path.replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`),
    method,
    headToo: method === 'GET' && streams !== true,
  }))
}

const { platform, ...published } = contract
const publishedRoutes = routesOf([
  ...Object.values(published).flatMap((group): Endpoint[] => Object.values(group)),
  ...openEndpoints,
])
const operatorRoutes = routesOf(Object.values(platform))

/** The methods that a path takes: what 405 names in Allow. Empty outside the routes. */
export function allowedMethods(url: string, operatorPlane: boolean): string[] {
  const path = url.split(/[?#]/, 1)[0] as string
  if ((healthPaths as readonly string[]).includes(path)) return ['GET', 'HEAD']
  const routes = operatorPlane ? [...publishedRoutes, ...operatorRoutes] : publishedRoutes
  const methods = routes
    .filter(({ pattern }) => pattern.test(path))
    .flatMap(({ method, headToo }) => (headToo ? [method, 'HEAD'] : [method]))
  return [...new Set(methods)]
}
