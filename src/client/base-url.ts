import { isLoopbackHost } from '../values/loopback.js'

export interface BaseUrl {
  /** Scheme, host and port, such as `https://vouchers.example:8443`. */
  readonly origin: string
  readonly secure: boolean
  /** Host name without a port, and without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port: number
  /** Path prefix of the server, such as `/gateway`; empty if the base URL has no path. */
  readonly prefix: string
}

/**
 * Parses a base URL, which may have a path prefix.
 * @throws TypeError unless the URL is http or https without user, query and fragment. The message does not quote the
 * URL, which may contain a password.
 */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TypeError('The base URL must be an http or https URL, such as https://vouchers.example')
  }
  if (url.username !== '' || url.password !== '') throw new TypeError('The base URL must not hold a user or password')
  if (url.search !== '' || url.hash !== '') throw new TypeError('The base URL must not hold a query or fragment')
  return parseOrigin(url)
}

export function parseOrigin(url: URL): BaseUrl {
  const secure = url.protocol === 'https:'
  return {
    origin: url.origin,
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, ''),
  }
}

/** True if nobody can read or change calls in transit: https with verified TLS, or a server on this machine. */
export function isTrustedChannel(baseUrl: string): boolean {
  const base = parseBaseUrl(baseUrl)
  return isLoopbackHost(base.hostname) || (base.secure && process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0')
}
