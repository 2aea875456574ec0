import { isLoopbackHost } from '../contract/loopback.js'

/** Where a server is: the base URL taken apart. */
export interface BaseUrl {
  /** `https://vouchers.example:8443` */
  readonly origin: string
  readonly secure: boolean
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port: number
  /** Comes before every path: `` or `/gateway`. */
  readonly prefix: string
}

/**
 * Reads a base URL. It may carry a path prefix.
 * @throws TypeError for anything but an http or https URL without user, query and fragment. The message does not
 * repeat the URL: it may hold a password.
 */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TypeError('The base URL must be an http or https URL, such as https://vouchers.example')
  }
  if (url.username !== '' || url.password !== '') throw new TypeError('The base URL must not hold a user or password')
  if (url.search !== '' || url.hash !== '') throw new TypeError('The base URL must not hold a query or fragment')
  const secure = url.protocol === 'https:'
  return {
    origin: url.origin,
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, ''),
  }
}

/** True where nobody between client and server reads or changes anything: verified TLS, or this machine. */
export function isTrustedChannel(baseUrl: string): boolean {
  const base = parseBaseUrl(baseUrl)
  return isLoopbackHost(base.hostname) || (base.secure && process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0')
}
