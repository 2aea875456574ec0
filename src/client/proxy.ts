import type { RequestOptions } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { BaseUrl } from './base-url.js'
import { TransportError, type TransportResponse } from './transport.js'

/** An HTTP proxy from the environment, through which a server is called (RULES.md#proxies). */
export interface Proxy {
  /** Variable that names the proxy. */
  readonly variable: string
  /** URL of the proxy without credentials, and its variable. */
  readonly label: string
  readonly secure: boolean
  /** Scheme, host and port. */
  readonly origin: string
  readonly hostname: string
  readonly port: number
  /** Value of the header Proxy-Authorization, from the credentials in the URL. */
  readonly authorization: string | undefined
  /** The forms of the credentials that a response could repeat. */
  readonly secrets: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Minimum length of a credential that is removed from responses: a shorter text may be part of any word. */
const SHORTEST_SECRET = 4

/**
 * Returns the proxy for a server, unless NO_PROXY excepts it. The caller excepts loopback addresses.
 * @throws TransportError PROXY_INVALID, which names the variable and does not quote it: it may hold a password
 */
export function proxyFor(base: BaseUrl, env: Environment): Proxy | undefined {
  const [variable, value] = read(env, base.secure ? 'https_proxy' : 'http_proxy')
  if (value === '' || isExcepted(base, env)) return undefined
  const text = value.includes('://') ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname + url.search + url.hash !== '/')
    throw invalid(variable, 'must be the URL of an HTTP proxy, such as http://proxy.example:3128')
  const { username, password, origin } = url
  const credentials = [username, password].map((it) => decode(it, variable))
  const pair = credentials.join(':')
  const basic = Buffer.from(pair).toString('base64')
  return {
    variable,
    label: `${origin} (${variable})`,
    secure: url.protocol === 'https:',
    origin,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    authorization: pair === ':' ? undefined : `Basic ${basic}`,
    secrets:
      pair === ':'
        ? []
        : [basic, pair, password, credentials[1] as string].filter((it) => it.length >= SHORTEST_SECRET),
  }
}

/** How a request reaches a server through its proxy. */
interface Route {
  /** Options of the CONNECT request that opens a tunnel; undefined for a server without TLS. */
  readonly tunnel: RequestOptions | undefined
  /** Options of the request itself. */
  options(path: string): RequestOptions
  /** Headers of a request that the proxy reads. */
  readonly headers: Readonly<Record<string, string>>
}

export function routeThrough(proxy: Proxy, base: BaseUrl): Route {
  const { hostname: host, port, authorization } = proxy
  const credentials = authorization === undefined ? {} : { 'proxy-authorization': authorization }
  if (base.secure) {
    const authority = `${isIP(base.hostname) === 6 ? `[${base.hostname}]` : base.hostname}:${base.port}`
    const tunnel = { host, port, path: authority, headers: { host: authority, ...credentials } }
    return { tunnel, options: () => ({}), headers: {} }
  }
  const headers = { host: new URL(base.origin).host, ...credentials }
  return { tunnel: undefined, options: (path) => ({ host, port, path: base.origin + path }), headers }
}

/** Removes the credentials of a proxy from a response, because the proxy may have written it. */
export function withoutProxySecrets(response: TransportResponse, { secrets }: Proxy): TransportResponse {
  const strip = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[credential]'), text)
  const body = strip(response.body)
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, strip(value)]))
  return body === response.body ? { ...response, headers } : { status: response.status, headers, body }
}

/** Reads a variable by its lower-case name or, if that is unset, by its upper-case name, as curl does. */
function read(env: Environment, name: string): readonly [variable: string, value: string] {
  const variable = env[name] === undefined ? name.toUpperCase() : name
  return [variable, env[variable]?.trim() ?? '']
}

/** True if an entry of NO_PROXY names the server: `*`, a host with its subdomains, an address or block, with a port. */
function isExcepted({ hostname, port }: BaseUrl, env: Environment): boolean {
  const [variable, value] = read(env, 'no_proxy')
  const host = hostname.replace(/\.$/, '')
  for (const entry of value.split(/[\s,]+/)) {
    if (entry === '*') return true
    if (entry === '') continue
    const [, bracketed, plain = bracketed, bits, , entryPort] = form.exec(entry) ?? []
    if (plain === undefined) throw invalid(variable, 'must be a list of hosts, such as example.org,10.0.0.0/8')
    if (entryPort !== undefined && Number(entryPort) !== port) continue
    const name = plain
      .replace(/^\*?\./, '')
      .replace(/\.$/, '')
      .toLowerCase()
    if (host === name || (!isIP(host) && host.endsWith(`.${name}`)) || isWithin(host, name, bits, variable)) return true
  }
  return false
}

/** A host, a bracketed or plain address, or a block; a port follows a colon. */
const form =
  /^(?:\[([\da-f:.]+)\]|((?:\*?\.)?[^\s/:@[\]]+|[\da-f:]*:[\da-f:.]*:[\da-f:.]*))(?:\/(\d{1,3}))?(:(\d{1,5}))?$/i

/** True for an address within a block; an address without a prefix length is a block of one. */
function isWithin(host: string, address: string, bits: string | undefined, variable: string): boolean {
  const family = isIP(address)
  if (family === 0 && bits === undefined) return false
  const longest = family === 6 ? 128 : 32
  const prefix = Number(bits ?? longest)
  if (family === 0 || prefix > longest) throw invalid(variable, 'has a malformed block of addresses')
  if (isIP(host) !== family) return false
  const type = family === 6 ? 'ipv6' : 'ipv4'
  const block = new BlockList()
  block.addSubnet(address, prefix, type)
  return block.check(host, type)
}

function decode(text: string, variable: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(variable, 'has credentials with a malformed percent sign')
  }
}

function invalid(variable: string, why: string): TransportError {
  const secure = { code: 'PROXY_INVALID', phase: 'local', status: 0, headers: {}, retryable: false } as const
  return new TransportError('secure', `The variable ${variable} ${why}`, { maybeProcessed: false, secure })
}
