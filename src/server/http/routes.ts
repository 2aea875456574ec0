import type { Endpoint } from '../../contract/endpoint.js'
import { contract } from '../../contract/index.js'
import { openEndpoints } from '../../contract/secure.js'
import type { Deps } from '../deps.js'

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
const pageRoutes: Route[] = [
  { pattern: /^\/_platform\/ui\/session$/, method: 'POST', headToo: false },
  { pattern: /^\/_platform\/ui(\/|$)/, method: 'GET', headToo: true },
]

/** Methods of a path, for the Allow header of a 405; empty for an unknown path. */
export function allowedMethods(
  url: string,
  { operatorKeyHash, inspector }: Pick<Deps, 'operatorKeyHash' | 'inspector'>,
): string[] {
  const path = url.split(/[?#]/, 1)[0] as string
  if ((healthPaths as readonly string[]).includes(path)) return ['GET', 'HEAD']
  const routes = [
    ...publishedRoutes,
    ...(operatorKeyHash === null ? [] : operatorRoutes),
    ...(inspector === null ? [] : pageRoutes),
  ]
  const methods = routes
    .filter(({ pattern }) => pattern.test(path))
    .flatMap(({ method, headToo }) => (headToo ? [method, 'HEAD'] : [method]))
  return [...new Set(methods)]
}
