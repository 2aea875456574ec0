import { failures } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import { asMembers } from '../values/json.js'
import type { ProbeResult } from './result.js'

interface Sent {
  readonly method: string
  /** Path and query. */
  readonly path: string
}

const patterns = endpoints.map(({ method, path }) => ({
  name: `${method} ${path}`,
  pattern: new RegExp(`^${method} ${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}))

const nameOf = ({ method, path }: Sent) =>
  patterns.find(({ pattern }) => pattern.test(`${method} ${path.replace(/\?.*/s, '')}`))?.name

/** Codes that say that an object is missing, and not its path. */
const objectCodes: readonly unknown[] = Object.entries(failures).flatMap(([code, { status }]) =>
  status === 404 && code !== 'ROUTE_NOT_FOUND' ? [code] : [],
)

/** Finds the endpoints that a platform does not have, by its responses. */
export class Paths {
  /** Endpoints by name; true for one that the platform has. */
  readonly #seen = new Map<string | undefined, boolean>()

  note(request: Sent, { status, json }: { readonly status: number; readonly json: unknown }): void {
    // A platform may check the caller and the rate before the path.
    if (status === 401 || status === 429) return
    const isMissing = status === 404 && !objectCodes.includes(asMembers(json)?.code)
    const name = nameOf(request)
    this.#seen.set(name, this.#seen.get(name) === true || !(isMissing || status === 405 || status === 501))
  }

  /** Returns the name of the request's endpoint if each of its responses so far said that the path is unknown. */
  missing(request: Sent | undefined): string | undefined {
    const name = request && nameOf(request)
    return this.#seen.get(name) === false ? name : undefined
  }

  /** Returns a result as the whole run shows it: a later response may have shown that the platform has the path. */
  settle(result: ProbeResult): ProbeResult {
    if (result.missing_path === null) return result
    if (this.#seen.get(result.missing_path) === true) return { ...result, missing_path: null }
    return { ...result, basis: 'specified' }
  }
}
