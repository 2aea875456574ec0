// Protection against server-side request forgery: decides to which URLs the server may send deliveries. To be easy to
// audit, this file has all rules, opens no connection and imports only Node built-ins (rules/webhooks.md#webhook-urls).
//
// A delivery passes three checks, each of which can only refuse: checkUrl (text, form, host), resolve (every address of
// a name), and refuseAddress of the checked URL with the peer address of the open socket.
import { promises as dns } from 'node:dns'
import { BlockList, isIP, isIPv4 } from 'node:net'
import { domainToUnicode } from 'node:url'

/** Why a URL is refused, in the order of the checks. The list is closed. */
export type UrlRefusalReason =
  | 'too_long'
  | 'control_character'
  | 'backslash'
  | 'malformed'
  | 'userinfo'
  | 'fragment'
  | 'not_loopback'
  | 'scheme'
  | 'port'
  | 'local_name'
  | 'forbidden_address'
  | 'allowed_ip_invalid'
  | 'allowed_ips_excludes_host'

/** Why an address is refused: it is not public, or it is not in allowed_ips of the bot. */
type AddressRefusalReason = 'forbidden_address' | 'allowed_ips_excludes_host'

export interface UrlPolicy {
  /** Addresses and CIDRs that deliveries may use, all public. An empty list allows every public address. */
  readonly allowedIps?: readonly string[] | undefined
  /** Allowed ports of 127.0.0.1, [::1] and localhost, with http or https; `only`: no other host is allowed. */
  readonly loopbackPorts?: (Pick<ReadonlySet<number>, 'has'> & { readonly only?: boolean }) | undefined
}

export interface CheckedUrl {
  readonly ok: true
  readonly url: URL
  /** The name without a final dot, or the literal without brackets. */
  readonly host: string
  readonly port: number
  /** Addresses of an IP literal or of an allowed localhost. Null: the name must be looked up. */
  readonly addresses: readonly string[] | null
  /** Returns why an address is refused, or null. For looked-up addresses and for the peer of a socket. */
  readonly refuseAddress: (address: string) => AddressRefusalReason | null
}

type UrlRefusal<Reason> = { readonly ok: false; readonly reason: Reason }

/** Resolves to all IPv4 and IPv6 addresses of a name. Without one, rejects or returns an empty list. */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>

type Block = readonly [network: string, prefix: number]

/** The IANA special-purpose address registry, and multicast. */
const forbiddenIpv4: readonly Block[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private use
  ['100.64.0.0', 10], // shared by carriers
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link local, where clouds keep their metadata
  ['172.16.0.0', 12], // private use
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private use
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
]

/** Global unicast. The guard refuses all others: mapped or compatible IPv4, NAT64, unique or link local, multicast. */
const globalIpv6: Block = ['2000::', 3]

const forbiddenIpv6: readonly Block[] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which holds an IPv4 address
  ['3fff::', 20], // documentation
  ['2620:4f:8000::', 48], // AS112
]

const ipv4Refused = blockListOf(forbiddenIpv4, 'ipv4')
const ipv6Refused = blockListOf(forbiddenIpv6, 'ipv6')
const ipv6Global = blockListOf([globalIpv6], 'ipv6')

/** True for a public address in its canonical form; false for anything else, and for an address with a zone. */
export function isPublicAddress(address: string): boolean {
  // BlockList would ignore the zone.
  if (address.includes('%')) return false
  switch (isIP(address)) {
    case 4:
      return !ipv4Refused.check(address, 'ipv4')
    case 6:
      return ipv6Global.check(address, 'ipv6') && !ipv6Refused.check(address, 'ipv6')
    default:
      return false
  }
}

/** True for a valid entry of allowed_ips: a public address, or a CIDR that contains only public addresses. */
export function checkAllowedIp(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  if (rest.length > 0 || !isPublicAddress(address)) return false
  if (prefix === undefined) return true
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  const bits = family === 'ipv4' ? 32 : 128
  if (!/^(0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > bits) return false
  if (family === 'ipv6' && Number(prefix) < globalIpv6[1]) return false
  // Two CIDR blocks overlap only if one contains the other. No forbidden block contains the entry, because none
  // contains its address, so check only whether the entry contains a forbidden block.
  const range = blockListOf([[address, Number(prefix)]], family)
  const forbidden = family === 'ipv4' ? forbiddenIpv4 : forbiddenIpv6
  return !forbidden.some(([network]) => range.check(network, family))
}

/** Maximum length of a webhook URL, in characters. */
const maxUrlLength = 2048

/**
 * Checks and parses a URL. The text is checked first, because the parser drops tabs and line breaks and treats a
 * backslash as a slash.
 */
function readUrl(text: string): URL | UrlRefusalReason {
  if (text.length > maxUrlLength) return 'too_long'
  // Includes invisible characters and every kind of space; a URL must escape them all.
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u.test(text)) return 'control_character'
  if (text.includes('\\')) return 'backslash'
  // Refuse `https:host`, `https:/host` and `https:///host`, which the parser would repair.
  const form = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i.exec(text)
  if (form === null) return 'malformed'
  if (form[2]?.includes('@')) return 'userinfo'
  if (text.includes('#')) return 'fragment'
  const scheme = form[1]?.toLowerCase()
  if (scheme !== 'https' && scheme !== 'http') return 'scheme'
  const url = parseUrl(text)
  if (url === null) return 'malformed'
  if (url.username !== '' || url.password !== '') return 'userinfo'
  return url
}

/**
 * Checks a URL without a DNS look-up. Checks the host after parsing, because the parser normalises every notation of an
 * address (octal, hexadecimal, one number, full-width digits, percent escapes).
 */
export function checkUrl(text: string, policy: UrlPolicy = {}): CheckedUrl | UrlRefusal<UrlRefusalReason> {
  const url = readUrl(text)
  if (typeof url === 'string') return refuse(url)
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '')
  const narrows = policy.allowedIps !== undefined && policy.allowedIps.length > 0

  const loopback = policy.loopbackPorts?.has(port) ? loopbackAddresses.get(url.hostname) : undefined
  if (loopback !== undefined) {
    if (narrows) return refuse('allowed_ips_excludes_host')
    const refuseAddress = (address: string) => (loopback.includes(address) ? null : 'forbidden_address')
    return { ok: true, url, host, port, addresses: loopback, refuseAddress }
  }

  if (policy.loopbackPorts?.only) return refuse('not_loopback')
  if (url.protocol !== 'https:') return refuse('scheme')
  if (port !== 443 && port < 1024) return refuse('port')
  const refusedHost = refuseHost(host)
  if (refusedHost !== undefined) return refuse(refusedHost)

  if (policy.allowedIps?.some((entry) => !checkAllowedIp(entry))) return refuse('allowed_ip_invalid')
  const allowed = narrows ? rangesOf(policy.allowedIps ?? []) : undefined
  const refuseAddress = (address: string) => {
    if (!isPublicAddress(address)) return 'forbidden_address'
    return allowed === undefined || allowed.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
      ? null
      : 'allowed_ips_excludes_host'
  }
  const literal = isIP(host) !== 0
  const refused = literal ? refuseAddress(host) : null
  if (refused !== null) return refuse(refused)
  return { ok: true, url, host, port, addresses: literal ? [host] : null, refuseAddress }
}

function refuseHost(host: string): UrlRefusalReason | undefined {
  if (isIP(host) !== 0) return isPublicAddress(host) ? undefined : 'forbidden_address'
  if (!isHostName(host)) return 'malformed'
  return isLocalName(host) ? 'local_name' : undefined
}

/**
 * Returns all addresses of the host; a single refused address refuses the host. A later look-up may differ, so connect
 * to one of these addresses, never to the name. Opens no connection.
 */
export async function resolve(
  checked: CheckedUrl,
  lookup: (host: string) => Promise<readonly string[]>,
): Promise<
  { readonly ok: true; readonly addresses: readonly string[] } | UrlRefusal<AddressRefusalReason | 'unresolved'>
> {
  let addresses = checked.addresses
  try {
    addresses ??= await lookup(checked.host)
  } catch {
    return refuse('unresolved')
  }
  if (addresses.length === 0) return refuse('unresolved')
  for (const address of addresses) {
    const reason = checked.refuseAddress(address)
    if (reason !== null) return refuse(reason)
  }
  return { ok: true, addresses }
}

/**
 * Queries the system's name servers for A and AAAA only: no hosts file, no search domains, and no getaddrinfo, of which
 * four hanging calls would block every look-up of the process. If the query of one address family fails, the whole
 * look-up fails, because unknown addresses have not been checked.
 */
export function createLookup({ servers }: { readonly servers?: readonly string[] } = {}): Lookup {
  return async (host, signal) => {
    // One resolver per look-up, so that each can be cancelled alone and sees a changed configuration.
    const resolver = new dns.Resolver({ timeout: 2_000, tries: 3 })
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const families = await Promise.all([
        resolver.resolve4(host).catch(noneOrThrow),
        resolver.resolve6(host).catch(noneOrThrow),
      ])
      return families.flat()
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function noneOrThrow(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return []
  throw error
}

/** Hosts that `--dev-webhook-loopback` allows, as the URL parser writes them, with their addresses. */
const loopbackAddresses: ReadonlyMap<string, readonly string[]> = new Map([
  ['127.0.0.1', ['127.0.0.1']],
  ['[::1]', ['::1']],
  ['localhost', ['127.0.0.1', '::1']],
])

function parseUrl(text: string): URL | null {
  try {
    const url = new URL(text)
    return url.hostname.split('.').every(isLabel) ? url : null
  } catch {
    return null
  }
}

/** Refuses labels of invalid Punycode, which Node 24 parses and Node 20 and 22 reject. */
function isLabel(label: string): boolean {
  return !label.startsWith('xn--') || !domainToUnicode(label).startsWith('xn--')
}

function isHostName(host: string): boolean {
  return host.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(host)
}

function isLocalName(host: string): boolean {
  return !host.includes('.') || /\.(localhost|local|internal)$/.test(host)
}

export interface AddressList {
  check(address: string, family: 'ipv4' | 'ipv6'): boolean
}

/** Returns a BlockList of addresses and CIDRs. */
export function rangesOf(entries: readonly string[]): AddressList {
  return listOf((ranges) => {
    for (const entry of entries) {
      const [address = '', prefix] = entry.split('/')
      const family = isIPv4(address) ? 'ipv4' : 'ipv6'
      if (prefix === undefined) ranges.addAddress(address, family)
      else ranges.addSubnet(address, Number(prefix), family)
    }
  })
}

function blockListOf(blocks: readonly Block[], family: 'ipv4' | 'ipv6'): AddressList {
  return listOf((list) => {
    for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family)
  })
}

/** Defers filling a list to its first check, which saves 3 ms of each start. */
function listOf(fill: (list: BlockList) => void): AddressList {
  let filled: BlockList | undefined
  return {
    check(address, family) {
      if (filled === undefined) {
        const list = new BlockList()
        fill(list)
        filled = list
      }
      return filled.check(address, family)
    },
  }
}

function refuse<Reason>(reason: Reason): UrlRefusal<Reason> {
  return { ok: false, reason }
}
