import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkAllowedIp, checkUrl, isPublicAddress } from '../../../src/server/delivery/guard.js'

fc.configureGlobal({ seed: 1 })

/** First and last address of the IANA special-purpose ranges, deliberately not imported from the code under test. */
const forbiddenRanges = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
].map(([first = '', last = '']): [number, number] => [numberOf(first), numberOf(last)])

function numberOf(dotted: string): number {
  return dotted.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0)
}

const octetsOf = (address: number) => [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff)
const dotted = (address: number) => octetsOf(address).join('.')
const isForbidden = (address: number) => forbiddenRanges.some(([first, last]) => address >= first && address <= last)

const anyIpv4 = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  // First and last address of every range, and their neighbours outside.
  fc
    .tuple(fc.constantFrom(...forbiddenRanges.flat()), fc.integer({ min: -1, max: 1 }))
    .map(([edge, step]) => Math.min(2 ** 32 - 1, Math.max(0, edge + step))),
)
const forbiddenIpv4 = fc
  .constantFrom(...forbiddenRanges)
  .chain(([first, last]) => fc.integer({ min: first, max: last }))
const publicIpv4 = fc.integer({ min: 0, max: 2 ** 32 - 1 }).filter((address) => !isForbidden(address))

/** Writes a number as decimal, octal or hexadecimal, which URL parsers accept in IPv4 addresses. */
const radixOf = (value: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('', '0', '0x', '0X'), fc.integer({ min: 0, max: 4 }), fc.boolean())
    .map(([prefix, zeros, upper]) => {
      if (prefix === '') return String(value)
      const digits = '0'.repeat(zeros) + value.toString(prefix === '0' ? 8 : 16)
      return prefix + (upper ? digits.toUpperCase() : digits)
    })

/** Writes an IPv4 address as one to four numbers in any radix, with any alternative Unicode digits and dots. */
const waysToWrite = (address: number): fc.Arbitrary<string> =>
  fc
    .integer({ min: 1, max: 4 })
    .chain((parts) => {
      const octets = octetsOf(address)
      const last = octets.slice(parts - 1).reduce((sum, octet) => sum * 256 + octet, 0)
      return fc.tuple(...[...octets.slice(0, parts - 1), last].map(radixOf))
    })
    .chain((parts) =>
      fc
        .tuple(
          fc.constantFrom('.', '。', '．', '｡', '%2e', '%2E'),
          fc.constantFrom('', '.', '。'),
          fc.constantFrom<(digit: string) => string>(
            (digit) => digit,
            (digit) => String.fromCodePoint(0xff10 + Number(digit)),
            (digit) => String.fromCodePoint(0x1d7ce + Number(digit)),
            (digit) => `%3${digit}`,
          ),
        )
        .map(([dot, end, disguise]) => parts.map((part) => part.replace(/\d/g, disguise)).join(dot) + end),
    )

describe('IPv4 address guard', () => {
  it('IPv4 address is public exactly outside the special-purpose ranges', { tags: 'webhook-urls/4' }, () => {
    fc.assert(
      fc.property(anyIpv4, (address) => isPublicAddress(dotted(address)) === !isForbidden(address)),
      { numRuns: 1_000 },
    )
  })

  it('forbidden IPv4 address is refused in every notation', { tags: 'webhook-urls/1' }, () => {
    fc.assert(
      fc.property(
        forbiddenIpv4.chain((address) => waysToWrite(address)),
        (host) => {
          expect(checkUrl(`https://${host}/`)).toEqual({ ok: false, reason: 'forbidden_address' })
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('public IPv4 address is recognised in every notation', () => {
    fc.assert(
      fc.property(
        publicIpv4.chain((address) => waysToWrite(address).map((host) => ({ address, host }))),
        ({ address, host }) => {
          expect(checkUrl(`https://${host}/`)).toMatchObject({ ok: true, addresses: [dotted(address)] })
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('IPv4 address embedded in IPv6 is always refused', () => {
    fc.assert(
      fc.property(
        anyIpv4,
        fc.constantFrom('::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '2002::'),
        (v4, before) => {
          const address = `${before}${dotted(v4)}`
          expect(isPublicAddress(address)).toBe(false)
          expect(checkUrl(`https://[${address}]/`)).toEqual({ ok: false, reason: 'forbidden_address' })
        },
      ),
    )
  })
})

describe('IPv6 address guard', () => {
  const top = (address: bigint, bits: number) => address >> BigInt(128 - bits)
  const isPublic = (address: bigint) =>
    top(address, 3) === 1n &&
    top(address, 23) !== 0x2001_0000n >> 9n &&
    top(address, 32) !== 0x2001_0db8n &&
    top(address, 16) !== 0x2002n &&
    top(address, 20) !== 0x3fff_0n &&
    top(address, 48) !== 0x2620_004f_8000n
  const textOf = (address: bigint) => address.toString(16).padStart(32, '0').match(/.{4}/g)?.join(':') ?? ''
  const anyIpv6 = fc
    .tuple(
      fc.constantFrom(
        ...['', '2', '3', '20', '2001', '200100', '200101', '2001020', '20010db8', '20010db9', '2002', '2003'],
        ...['2620004f8000', '2620004f8001', '3fff', '3fff0', '3fff1', '4', 'fc', 'fe80', 'ff', '0064ff9b'],
        '00000000000000000000ffff',
      ),
      fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
    )
    .map(([prefix, rest]) => BigInt(`0x${(prefix + rest.toString(16).padStart(32, '0')).slice(0, 32)}`))

  it('IPv6 address is public exactly inside 2000::/3 outside the reserved ranges', { tags: 'webhook-urls/4' }, () => {
    fc.assert(
      fc.property(anyIpv6, (address) => isPublicAddress(textOf(address)) === isPublic(address)),
      { numRuns: 1_000 },
    )
  })

  it('IPv6 host of a URL is accepted exactly if its address is public', () => {
    fc.assert(
      fc.property(anyIpv6, (address) => checkUrl(`https://[${textOf(address)}]/`).ok === isPublic(address)),
      { numRuns: 1_000 },
    )
  })
})

describe('CIDR of allowed_ips', () => {
  it('CIDR in allowed_ips is valid exactly if it contains no forbidden address', { tags: 'webhook-settings/4' }, () => {
    fc.assert(
      fc.property(anyIpv4, fc.integer({ min: 0, max: 32 }), (address, prefix) => {
        const size = 2 ** (32 - prefix)
        const first = Math.floor(address / size) * size
        const last = first + size - 1
        const overlaps = forbiddenRanges.some(([from, to]) => first <= to && last >= from)
        expect(checkAllowedIp(`${dotted(address)}/${prefix}`)).toBe(!overlaps)
      }),
      { numRuns: 1_000 },
    )
  })

  it('CIDR in allowed_ips allows exactly its own addresses', () => {
    fc.assert(
      fc.property(
        publicIpv4,
        fc.integer({ min: 8, max: 32 }),
        publicIpv4,
        fc.boolean(),
        (network, prefix, other, near) => {
          const entry = `${dotted(network)}/${prefix}`
          fc.pre(checkAllowedIp(entry))
          const size = 2 ** (32 - prefix)
          const address = near ? Math.floor(network / size) * size + (other % size) : other
          const checked = checkUrl('https://hooks.example.com/', { allowedIps: [entry] })
          const inside = Math.floor(address / size) === Math.floor(network / size)
          expect(checked.ok && checked.refuseAddress(dotted(address))).toBe(inside ? null : 'allowed_ips_excludes_host')
        },
      ),
      { numRuns: 1_000 },
    )
  })
})
