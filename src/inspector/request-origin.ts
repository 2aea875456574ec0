import { type Refusal, refuse } from '../contract/errors.js'

/** Members of a request that the checks read; an IncomingMessage has them. */
export interface PageMessage {
  readonly method?: string | undefined
  /** The request target as received. */
  readonly url?: string | undefined
  /** Names and values in turn, including duplicates: `headers` of Node has only the first Host header. */
  readonly rawHeaders: readonly string[]
}

/** Host names and origin that requests to a port may name (rules/operator.md#page-requests). */
export type AllowedOrigin = ReturnType<typeof allowedOriginOf>

export function allowedOriginOf(baseUrl: string) {
  const { origin, hostname, port } = new URL(baseUrl)
  const names = ['127.0.0.1', '[::1]', 'localhost', hostname]
  // Clients omit the default port.
  const hosts = names.flatMap((name) => (port === '' ? [name, `${name}:80`] : [`${name}:${port}`]))
  return { origin, hosts: new Set(hosts) }
}

/** Every value of a header. @param name in lower case */
export function valuesOf({ rawHeaders }: PageMessage, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}

/** Refuses a request for another host name, such as one that an attacker's DNS resolves to this machine. */
export function refuseHost({ hosts }: AllowedOrigin, message: PageMessage): Refusal<'HOST_NOT_ALLOWED'> | undefined {
  const [host, ...others] = valuesOf(message, 'host')
  const isOwn = host !== undefined && others.length === 0 && hosts.has(host.toLowerCase())
  // An absolute target names another host.
  if (isOwn && message.url?.startsWith('/')) return undefined
  return refuse('HOST_NOT_ALLOWED', { allowed: [...hosts] })
}

/**
 * Refuses a request from another site. Browsers always send the two headers that identify the site; `fromPage` requires
 * them, for requests that a browser could send for a user.
 */
export function refuseSite(
  { origin }: AllowedOrigin,
  message: PageMessage,
  fromPage: boolean,
): Refusal<'CROSS_SITE_REQUEST'> | undefined {
  const origins = valuesOf(message, 'origin')
  const originMayLack = !fromPage || message.method === 'GET'
  if (origins.length === 0 ? !originMayLack : origins.length > 1 || origins[0] !== origin) {
    return refuse('CROSS_SITE_REQUEST', { header: 'Origin' })
  }
  const sites = valuesOf(message, 'sec-fetch-site')
  const isSame = sites.length === 1 && (sites[0] === 'same-origin' || sites[0] === 'none')
  if (isSame || (sites.length === 0 && !fromPage)) return undefined
  return refuse('CROSS_SITE_REQUEST', { header: 'Sec-Fetch-Site' })
}
