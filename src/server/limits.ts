import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4, SocketAddress } from 'node:net'
import { type Refusal, refuse } from '../contract/errors.js'
import { defaultRateLimits, type RateLimit, type RateLimitName } from '../contract/rate-limits.js'
import { type AddressList, rangesOf } from './delivery/guard.js'
import type { ServerOptions } from './options.js'

/** Interval for deleting expired windows, so that subjects that make no further call use no memory. */
const SWEEP_INTERVAL_MS = 60_000

export interface LimitVerdict {
  readonly allowed: boolean
  readonly remaining: number
  /** Whole seconds until the window ends. */
  readonly resetSeconds: number
  readonly policy: RateLimit
}

export function rateLimited({ resetSeconds }: LimitVerdict): Refusal<'RATE_LIMITED'> {
  return { ...refuse('RATE_LIMITED'), retryAfterSeconds: resetSeconds }
}

export interface Limits {
  /** Counts one call of `subject` and returns the verdict; null when limits are off. */
  take(name: RateLimitName, subject: string): LimitVerdict | null
  /** Returns the window of `subject` without counting a call; null when limits are off. */
  peek(name: RateLimitName, subject: string): LimitVerdict | null
  /** Ends all windows. */
  clear(): void
}

const noLimits: Limits = { take: () => null, peek: () => null, clear: () => {} }

interface Window {
  calls: number
  endsAt: number
}

/**
 * Rate limits in the memory of this process. Windows follow a monotonic clock, which the test clock is too until a
 * restore, which ends them.
 * @param now monotonic ms
 */
export function createLimits(
  settings: ServerOptions['rateLimits'] = {},
  now: () => number = () => performance.now(),
): Limits {
  if (settings === 'off') return noLimits
  const policies = { ...defaultRateLimits, ...settings }
  const windows = new Map<string, Window>()
  let sweepAt = 0

  const sweep = (at: number): void => {
    for (const [key, { endsAt }] of windows) if (endsAt <= at) windows.delete(key)
    sweepAt = at + SWEEP_INTERVAL_MS
  }
  const verdictOf = (policy: RateLimit, window: Window, at: number): LimitVerdict => ({
    allowed: window.calls <= policy.calls,
    remaining: Math.max(0, policy.calls - window.calls),
    resetSeconds: Math.min(policy.seconds, Math.max(1, Math.ceil((window.endsAt - at) / 1000))),
    policy,
  })
  return {
    take(name, subject) {
      const policy = policies[name]
      const at = now()
      if (at >= sweepAt) sweep(at)
      const key = `${name} ${subject}`
      let window = windows.get(key)
      if (window === undefined || window.endsAt <= at) {
        window = { calls: 0, endsAt: at + policy.seconds * 1000 }
        windows.set(key, window)
      }
      window.calls += 1
      return verdictOf(policy, window, at)
    },

    peek(name, subject) {
      const policy = policies[name]
      const at = now()
      const window = windows.get(`${name} ${subject}`)
      const open = window !== undefined && window.endsAt > at
      return verdictOf(policy, open ? window : { calls: 0, endsAt: at + policy.seconds * 1000 }, at)
    },

    clear: () => windows.clear(),
  }
}

/** A call with the HTTP request that carried it; `inner` is set if it was decrypted from an envelope. */
export interface ClientRequest {
  readonly carrier: { readonly request: Pick<IncomingMessage, 'headers' | 'socket'> }
  readonly inner: object | null
}

/** Private networks, where the operator's own proxy may run. */
const privateNetworks = rangesOf([
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  '::1',
  'fc00::/7',
  'fe80::/10',
])
const loopback = rangesOf(['127.0.0.0/8', '::1'])

/**
 * Finds the client of a request (rules/calls.md#limits-by-address). A proxy appends the address of its peer to
 * X-Forwarded-For, so the list is read from its end, as far as trusted proxies wrote it. Entries that a client put in
 * front are ignored.
 */
export class ClientAddresses {
  readonly #proxies: AddressList
  readonly #onUntrustedProxy: (peer: string) => void
  #reports = true

  /**
   * @param trusted addresses and CIDRs of proxies
   * @param onUntrustedProxy called once, with the address of a private or loopback peer whose X-Forwarded-For is ignored
   */
  constructor(trusted: readonly string[] = [], onUntrustedProxy: (peer: string) => void = () => {}) {
    this.#proxies = rangesOf(trusted)
    this.#onUntrustedProxy = onUntrustedProxy
  }

  /** The client's IPv4 address or IPv6 /64 network, which limits count. */
  limitSubject({ carrier: { request } }: ClientRequest): string {
    let address = peerOf(request)
    const hops = forwardedFor(request.headers)
    while (hops.length > 0 && isIn(this.#proxies, address)) {
      const hop = normalized(withoutPort(hops.pop() as string))
      // The entry is not an address: use the address of the proxy that wrote the entry.
      if (hop === undefined) break
      address = hop
    }
    return networkOf(address)
  }

  /** True if a process on this machine sent the request itself, not through a proxy. */
  isLoopback({ carrier: { request } }: ClientRequest): boolean {
    return !Object.keys(request.headers).some(isForwarding) && isIn(loopback, peerOf(request))
  }

  /** Reports, once, a proxy in front of the server that is not trusted. */
  checkProxy({ carrier: { request }, inner }: ClientRequest): void {
    if (!this.#reports || inner !== null || request.headers['x-forwarded-for'] === undefined) return
    const peer = peerOf(request)
    if (isIn(this.#proxies, peer) || !isIn(privateNetworks, peer)) return
    this.#reports = false
    this.#onUntrustedProxy(peer)
  }
}

const peerOf = ({ socket }: Pick<IncomingMessage, 'socket'>) => normalized(socket.remoteAddress ?? '') ?? ''

/** True for a header by which a proxy states its client, in any of the forms that proxies use. */
const isForwarding = (name: string) => /^(?:forwarded|x-forwarded.*|x-real-ip)$/.test(name)

/** The entries of all X-Forwarded-For headers, which Node joins with commas. */
function forwardedFor(headers: IncomingMessage['headers']): string[] {
  const text = String(headers['x-forwarded-for'] ?? '')
  return text === '' ? [] : text.split(',').map((it) => it.trim())
}

/** Removes port and brackets: some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed, ipv4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? []
  return bracketed ?? ipv4 ?? hop
}

/** Returns the canonical address, without a zone and with mapped IPv4 as IPv4; undefined for an invalid address. */
function normalized(text: string): string | undefined {
  const [address = ''] = text.split('%', 1)
  if (isIPv4(address)) return address
  if (isIP(address) === 0) return undefined
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const mapped = /^::ffff:([\d.]+)$/.exec(canonical)?.[1]
  return mapped ?? canonical
}

/** Returns an IPv4 address, or the /64 network of an IPv6 address: a subscriber owns at least one whole /64 network. */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const groups = (part: string | undefined) => (part ? part.split(':') : [])
  const before = groups(head)
  const after = groups(tail)
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}

function isIn(list: AddressList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
