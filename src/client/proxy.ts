import http, { type ClientRequest } from 'node:http'
import https from 'node:https'
import { BlockList, isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { type BaseUrl, parseOrigin } from './base-url.js'
import { TransportError } from './transport.js'

/** An HTTP proxy from the environment, through which a server is called (rules/cli.md#proxies). */
export interface Proxy extends BaseUrl {
  /** Variable that names the proxy. */
  readonly variable: string
  /** URL of the proxy without credentials, and its variable. */
  readonly label: string
  /** Value of the header Proxy-Authorization, from the credentials in the URL. */
  readonly authorization: string | undefined
  /** The forms of the credentials that a response could repeat. */
  readonly secrets: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The way of requests to a server: straight, or through a proxy. Each request has its address and prefix. */
export interface Hop extends BaseUrl {
  /** The server, and its proxy, in messages. */
  readonly peer: string
  /** Headers of a request that the proxy reads. */
  readonly headers?: Readonly<Record<string, string>>
  /** Opens a TLS connection in a tunnel through the proxy. Returns a function that ends the attempt. */
  connect?(done: (error: Error | null, socket: Socket) => void): () => void
  /** Removes the credentials of the proxy from a text that it may have written; absent without a proxy. */
  hide?(text: string): string
}

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
  const { username, password } = url
  const credentials = [username, password].map((it) => decode(it, variable))
  const pair = credentials.join(':')
  const basic = Buffer.from(pair).toString('base64')
  const hasCredentials = pair !== ':'
  return {
    ...parseOrigin(url),
    variable,
    label: `${url.origin} (${variable})`,
    authorization: hasCredentials ? `Basic ${basic}` : undefined,
    secrets: [basic, pair, password, ...credentials.slice(1)].filter(
      (it) => hasCredentials && it.length >= SHORTEST_SECRET,
    ),
  }
}

/** Returns the way to a server through its proxy: a tunnel for https, else requests that the proxy forwards. */
export function hopThrough(proxy: Proxy, base: BaseUrl): Hop {
  const { label, secrets, authorization } = proxy
  const peer = `${base.origin} through the proxy ${label}`
  const hide = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[credential]'), text)
  const credentials = authorization === undefined ? {} : { 'proxy-authorization': authorization }
  if (base.secure) return { ...base, peer, hide, connect: (done) => openTunnel(proxy, base, credentials, done) }
  const headers = { host: new URL(base.origin).host, ...credentials }
  return { ...proxy, peer, hide, headers, prefix: base.origin + base.prefix }
}

/** As long as undici waits for a connection. */
const TUNNEL_TIMEOUT_MS = 10_000

/** Opens a TLS connection to a server in a tunnel through its proxy. Returns a function that ends the attempt. */
function openTunnel(
  proxy: Proxy,
  { origin, hostname: host, port }: BaseUrl,
  credentials: Readonly<Record<string, string>>,
  done: Parameters<NonNullable<Hop['connect']>>[0],
): () => void {
  const path = `${new URL(origin).hostname}:${port}`
  const { request } = proxy.secure ? https : http
  const headers = { host: path, ...credentials }
  const opening = request({ method: 'CONNECT', host: proxy.hostname, port: proxy.port, path, headers, agent: false })
  let active: ClientRequest | TLSSocket = opening
  const close = () => void active.destroy(coded('ETIMEDOUT'))
  const timer = setTimeout(close, TUNNEL_TIMEOUT_MS)
  const finish = (error: Error | null, socket: Socket | null = null) => {
    clearTimeout(timer)
    done(error, socket as Socket)
  }
  opening.on('error', finish).on('connect', ({ statusCode }, socket) => {
    if (statusCode !== 200) {
      socket.destroy()
      return finish(coded(`HTTP_${statusCode}`))
    }
    const secured = connect({ socket, host, servername: isIP(host) ? '' : host, ALPNProtocols: ['http/1.1'] })
    active = secured.once('error', finish).once('secureConnect', () => {
      secured.off('error', finish)
      finish(null, secured)
    })
  })
  opening.end()
  return close
}

const coded = (code: string) => Object.assign(new Error(code), { code })

/** Reads a variable by its lower-case name or, if that is unset, by its upper-case name, as curl does. */
function read(env: Environment, name: string): readonly [variable: string, value: string] {
  const variable = env[name] === undefined ? name.toUpperCase() : name
  return [variable, env[variable]?.trim() ?? '']
}

/** Reads an entry of NO_PROXY: `*`, a host with its subdomains, an address or block, with a port; else undefined. */
function readEntry(entry: string): ((host: string, port: number) => boolean) | undefined {
  if (entry === '*') return () => true
  const [, name = '', bits, only] = form.exec(entry.toLowerCase()) ?? []
  const block = blockOf(name, bits)
  const isAddress = /^[\d.]*$|:/.test(name)
  const isUnclosed = entry.includes('[') !== entry.includes(']')
  if (isUnclosed || Number(only ?? 0) > 65_535 || name === '-' || name.includes('..')) return undefined
  if ((isAddress || bits !== undefined) && block === undefined) return undefined
  return (host, port) => {
    if (Number(only ?? port) !== port) return false
    const family = isIP(host)
    if (family > 0) return block?.check(host, family === 6 ? 'ipv6' : 'ipv4') ?? false
    return host === name || host.endsWith(`.${name}`)
  }
}

const exceptionsIn = (env: Environment) => read(env, 'no_proxy')[1].split(/[\s,]+/)

const isExcepted = ({ hostname, port }: BaseUrl, env: Environment) =>
  exceptionsIn(env).some((it) => readEntry(it)?.(hostname.replace(/\.$/, ''), port))

/** The entries of NO_PROXY that name no host and so match none, without credentials. */
export const ineffectiveExceptions = (env: Environment): readonly string[] =>
  exceptionsIn(env).flatMap((it) => (it === '' || readEntry(it) ? [] : it.replace(/^.*@/, '…@')))

/** Returns a block of addresses, by default of one; undefined for a malformed one. */
function blockOf(address: string, bits: string | undefined): BlockList | undefined {
  const [type, longest] = isIP(address) === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const)
  if (isIP(address) === 0 || Number(bits ?? longest) > longest) return undefined
  const block = new BlockList()
  block.addSubnet(address, Number(bits ?? longest), type)
  return block
}

/** A host, a bracketed or plain address, or a block; a port follows a colon. */
const form = /^(?:\*?\.)?\[?([\p{L}\p{N}._-]+?|[\da-f:]*:[\da-f:.]*:[\da-f:.]*)\.?\]?(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/u

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
