import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4, SocketAddress } from 'node:net'
import { type AddressList, rangesOf } from '../delivery/guard.js'

/** Determines which client a request came from (DECISIONS.md#limits-by-address). */
export interface ClientAddresses {
  /** The client's IPv4 address or IPv6 /64 network, which limits count. */
  limitSubject(request: ClientRequest): string
  /** True if a process on this machine sent the request itself, not through a proxy. */
  isLoopback(request: ClientRequest): boolean
  /** Reports, once, a proxy in front of the server that is not trusted. */
  checkProxy(request: ClientRequest): void
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
 * Finds the client of a request. A proxy appends the address of its peer to X-Forwarded-For, so the list is read from
 * its end, as far as trusted proxies wrote it. Entries that a client put in front are ignored.
 * @param trusted addresses and CIDRs of proxies
 * @param onUntrustedProxy called once, with the address of a private or loopback peer whose X-Forwarded-For is ignored
 */
export function createClientAddresses(
  trusted: readonly string[] = [],
  onUntrustedProxy: (peer: string) => void = () => {},
): ClientAddresses {
  const proxies = rangesOf(trusted)
  let reports = true

  const clientOf = (request: ClientRequest): string => {
    const { headers, socket } = request.carrier.request
    let address = normalized(socket.remoteAddress ?? '') ?? ''
    const hops = forwardedFor(headers)
    while (hops.length > 0 && isIn(proxies, address)) {
      const hop = normalized(withoutPort(hops.pop() as string))
      // The entry is not an address: use the address of the proxy that wrote the entry.
      if (hop === undefined) break
      address = hop
    }
    return address
  }

  return {
    limitSubject: (request) => limitSubjectOf(clientOf(request)),

    isLoopback: (request) => {
      const { headers, socket } = request.carrier.request
      return !Object.keys(headers).some(isForwarding) && isIn(loopback, normalized(socket.remoteAddress ?? '') ?? '')
    },

    checkProxy({ carrier: { request }, inner }) {
      if (!reports || inner !== null || request.headers['x-forwarded-for'] === undefined) return
      const peer = normalized(request.socket.remoteAddress ?? '') ?? ''
      if (isIn(proxies, peer) || !isIn(privateNetworks, peer)) return
      reports = false
      onUntrustedProxy(peer)
    },
  }
}

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
function limitSubjectOf(address: string): string {
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
