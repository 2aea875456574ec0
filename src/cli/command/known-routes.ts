import type { CredentialKind, Endpoint } from '../../contract/endpoint.js'

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A route that voucherctl knows; `findRoute` looks it up by method and path. */
export interface ApiRoute
  extends Pick<Endpoint, 'id' | 'summary' | 'path'>,
    Partial<
      Pick<
        Endpoint,
        'scope' | 'idempotent' | 'repeatable' | 'irreversible' | 'body' | 'output' | 'evidence' | 'streams'
      >
    > {
  readonly method: string
  /** Kind of credential that the route takes; `none` for a public route. */
  readonly caller: CredentialKind | 'none'
  /** True for a route that negotiates the encryption, which itself cannot be encrypted. */
  readonly negotiates?: true
  /** Media type of request and response; absent for JSON. */
  readonly media?: string
}

/** Routes for monitoring, which are not part of the voucher API (rules/calls.md#health-routes). */
const health: readonly ApiRoute[] = [
  { id: 'health.live', summary: 'Is the server alive', method: 'GET', path: '/healthz', caller: 'none' },
  { id: 'health.ready', summary: 'Can the server use its store', method: 'GET', path: '/readyz', caller: 'none' },
  {
    id: 'health.metrics',
    summary: 'Metrics of the server, for Prometheus: text, shown with -i',
    method: 'GET',
    path: '/metrics',
    caller: 'none',
    media: 'text/plain',
  },
]

/** Lists all routes of a voucher service; the encrypted transport and the health checks come last. */
export async function knownRoutes(): Promise<readonly ApiRoute[]> {
  const { endpoints } = await import('../../contract/index.js')
  const { openEndpoints } = await import('../../contract/secure.js')
  return [
    ...endpoints,
    ...openEndpoints.map((it): ApiRoute => ({ ...it, caller: 'none', negotiates: true })),
    ...health,
  ]
}

/** Finds the route of a path, ignoring its query; of several matches, the one with the fewest path parameters. */
export async function findRoute(method: string, path: string): Promise<ApiRoute | undefined> {
  return routeAmong(await knownRoutes(), method, path)
}

export function routeAmong(routes: readonly ApiRoute[], method: string, path: string): ApiRoute | undefined {
  const segments = path.split('/')
  const fitting = routes.filter((route) => {
    const pattern = route.path.split('/')
    const fits = (part: string, i: number) => part.startsWith(':') || part === segments[i]
    return route.method === method && pattern.length === segments.length && pattern.every(fits)
  })
  const parameters = (it: ApiRoute) => it.path.split(':').length
  return fitting.sort((a, b) => parameters(a) - parameters(b))[0]
}
