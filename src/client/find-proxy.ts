import { isLoopbackHost } from '../values/loopback.js'
import type { BaseUrl } from './base-url.js'
import type { Environment, Hop, Proxy } from './proxy.js'

/**
 * Returns the proxy of the environment for a server; undefined for a server on this machine. Loads the code that reads
 * the variables on demand.
 * @throws TransportError PROXY_INVALID for a malformed variable
 */
export async function findProxy(base: BaseUrl, env: Environment = process.env): Promise<Proxy | undefined> {
  const name = base.secure ? 'https_proxy' : 'http_proxy'
  if (isLoopbackHost(base.hostname.replace(/\.$/, '')) || !(env[name] || env[name.toUpperCase()])) return undefined
  return (await import('./proxy.js')).proxyFor(base, env)
}

/** Returns the way to a server. @throws TransportError PROXY_INVALID for a malformed variable */
export async function findHop(base: BaseUrl, env: Environment | undefined): Promise<Hop> {
  const proxy = await findProxy(base, env)
  if (proxy === undefined) return { ...base, peer: base.origin }
  return (await import('./proxy.js')).hopThrough(proxy, base)
}
