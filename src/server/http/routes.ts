import type { FastifyReply, FastifyRequest } from 'fastify'
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
  readonly params: Readonly<Record<string, string>>
}

const noParams = {}

/**
 * The routes of a server. Fastify has one route for all of them: adding each to Fastify would take half of the time that
 * a server needs to start.
 */
export class Routes {
  /** Routes without parameters, by path. */
  readonly #fixed = new Map<string, Route[]>()
  readonly #patterns: { readonly pattern: RegExp; readonly route: Route }[] = []

  get all(): readonly Route[] {
    return [...[...this.#fixed.values()].flat(), ...this.#patterns.map((it) => it.route)]
  }

  add(route: Route): void {
    const { path } = route.endpoint
    if (/[:*]/.test(path)) {
      const source = path.replace(/\/\*$/, '(?:/.*)?').replaceAll(/:(\w+)/g, '(?<$1>[^/]*)')
      this.#patterns.push({ pattern: new RegExp(`^${source}$`), route })
    } else {
      this.#fixed.set(path, [...(this.#fixed.get(path) ?? []), route])
    }
  }

  find(method: string, url: string): Match | undefined {
    const path = pathOf(url)
    const route = this.#fixed.get(path)?.find((it) => serves(it, method))
    if (route !== undefined) return { route, params: noParams }
    for (const { pattern, route } of this.#patterns) {
      const found = serves(route, method) ? pattern.exec(path) : null
      if (found !== null) return { route, params: decoded(found.groups) }
    }
    return undefined
  }

  /** Methods of a path, for the Allow header of a 405; empty for an unknown path. */
  methods(url: string): string[] {
    const path = pathOf(url)
    const ofPath = [
      ...(this.#fixed.get(path) ?? []),
      ...this.#patterns.filter((it) => it.pattern.test(path)).map((it) => it.route),
    ]
    return [...new Set(ofPath.flatMap((it) => (serves(it, 'HEAD') ? [it.method, 'HEAD'] : [it.method])))]
  }
}

const serves = ({ method, refusesHead }: Route, wanted: string): boolean =>
  method === wanted || (wanted === 'HEAD' && method === 'GET' && refusesHead !== true)

/** The path without needless escapes, in which only parameters have escapes. */
function pathOf(url: string): string {
  const path = url.split(/[?#]/, 1)[0] as string
  if (!path.includes('%')) return path
  return path
    .split('/')
    .map((it) => encodeURIComponent(decodeURIComponent(it)))
    .join('/')
}

function decoded(groups: Readonly<Record<string, string>> = noParams): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]))
}
