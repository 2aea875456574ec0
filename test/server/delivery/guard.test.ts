import { describe, expect, it, test } from 'vitest'
import {
  checkAllowedIp,
  checkUrl,
  isPublicAddress,
  resolve,
  type UrlPolicy,
} from '../../../src/server/delivery/guard.js'
import { hostileUrls } from './hostile-urls.js'

const hostOf = (url: string, policy?: UrlPolicy) => {
  const checked = checkUrl(url, policy)
  return checked.ok ? { host: checked.host, port: checked.port, addresses: checked.addresses } : checked
}

const hostile = Object.entries(hostileUrls).flatMap(([reason, urls]) =>
  urls.map((url): [string, string] => [reason, url]),
)

test.each(hostile)('webhook URL is refused: %s, %j', { tags: ['webhook-urls/1', 'webhook-urls/2'] }, (reason, url) => {
  expect(checkUrl(url.replaceAll('PORT', '8787'))).toEqual({ ok: false, reason })
})

describe('accepted webhook URL', () => {
  it.each([
    ['https://hooks.example.com', 'hooks.example.com', 443],
    ['HTTPS://Hooks.Example.COM/Path?q=@', 'hooks.example.com', 443],
    ['https://hooks.example.com:443/', 'hooks.example.com', 443],
    ['https://hooks.example.com:/', 'hooks.example.com', 443],
    ['https://hooks.example.com:8443/a/../b', 'hooks.example.com', 8443],
    ['https://hooks.example.com:1024/', 'hooks.example.com', 1024],
    ['https://hooks.example.com:65535/', 'hooks.example.com', 65535],
    ['https://hooks.example.com./', 'hooks.example.com', 443],
    ['https://a_b.example.com/@x', 'a_b.example.com', 443],
    ['https://bücher.example/ü', 'xn--bcher-kva.example', 443],
    ['https://localhost.example.com/', 'localhost.example.com', 443],
    ['https://internal.example.com/', 'internal.example.com', 443],
    ['https://notlocal.example/', 'notlocal.example', 443],
    ['https://127.0.0.1.example.com/', '127.0.0.1.example.com', 443],
    ['https://a.local.example.com/', 'a.local.example.com', 443],
  ])('webhook URL %s with a host name is accepted', (url, host, port) => {
    expect(hostOf(url)).toEqual({ host, port, addresses: null })
  })

  it.each([
    ['https://93.184.216.34/', '93.184.216.34'],
    ['https://1572395042/', '93.184.216.34'],
    ['https://0x5d.0270.216.34./', '93.184.216.34'],
    ['https://[2606:4700:0:0:0:0:0:1]/', '2606:4700::1'],
    ['https://[2001:200::1]/', '2001:200::1'],
    ['https://[2606:4700::93.184.216.34]/', '2606:4700::5db8:d822'],
  ])('webhook URL %s with an IP address is accepted without a DNS lookup', (url, address) => {
    expect(hostOf(url)).toEqual({ host: address, port: 443, addresses: [address] })
  })

  it('webhook URL of 2048 characters is accepted', () => {
    const longest = `https://hooks.example.com/${'a'.repeat(2048 - 26)}`
    expect(longest).toHaveLength(2048)
    expect(checkUrl(longest).ok).toBe(true)
  })

  it('webhook URL with a host name of 253 characters is accepted, one of 254 is not', () => {
    const host = `${'a.'.repeat(121)}example.com`
    expect(host).toHaveLength(253)
    expect(checkUrl(`https://${host}/`).ok).toBe(true)
    expect(checkUrl(`https://b${host}/`)).toEqual({ ok: false, reason: 'malformed' })
  })
})

describe('--dev-webhook-loopback', () => {
  const loopbackPorts = new Set([8787])

  it.each([
    ['https://127.0.0.1:8787/', ['127.0.0.1']],
    ['http://127.0.0.1:8787/', ['127.0.0.1']],
    ['http://[::1]:8787/', ['::1']],
    ['http://localhost:8787/', ['127.0.0.1', '::1']],
    ['http://LOCALHOST:8787/', ['127.0.0.1', '::1']],
    // The URL parser turns other notations of the address into 127.0.0.1.
    ['http://127.1:8787/', ['127.0.0.1']],
    ['http://2130706433:8787/', ['127.0.0.1']],
    ['http://[0:0:0:0:0:0:0:1]:8787/', ['::1']],
  ])('--dev-webhook-loopback accepts %s without a DNS lookup', { tags: 'webhook-urls/5' }, (url, addresses) => {
    expect(hostOf(url, { loopbackPorts })).toMatchObject({ port: 8787, addresses })
  })

  it.each([
    ['http://127.0.0.1/', 80],
    ['https://127.0.0.1/', 443],
  ])('--dev-webhook-loopback uses the default port of the scheme for %s', (url, port) => {
    expect(hostOf(url, { loopbackPorts: new Set([80, 443]) })).toMatchObject({ port })
  })

  it.each([
    ['http://127.0.0.1:8788/', 'scheme'],
    ['https://127.0.0.1:8788/', 'forbidden_address'],
    ['http://127.0.0.1/', 'scheme'],
    ['http://127.0.0.2:8787/', 'scheme'],
    ['https://127.0.0.2:8787/', 'forbidden_address'],
    ['https://0.0.0.0:8787/', 'forbidden_address'],
    ['https://[::]:8787/', 'forbidden_address'],
    ['https://[::ffff:127.0.0.1]:8787/', 'forbidden_address'],
    ['https://[::127.0.0.1]:8787/', 'forbidden_address'],
    ['https://10.0.0.1:8787/', 'forbidden_address'],
    ['https://localhost.:8787/', 'local_name'],
    ['https://a.localhost:8787/', 'local_name'],
    ['https://router:8787/', 'local_name'],
    ['http://hooks.example.com:8787/', 'scheme'],
    ['http://user@127.0.0.1:8787/', 'userinfo'],
    ['http://127.0.0.1:8787/#', 'fragment'],
    ['ftp://127.0.0.1:8787/', 'scheme'],
  ])('--dev-webhook-loopback does not accept the webhook URL %s', (url, reason) => {
    expect(checkUrl(url, { loopbackPorts })).toEqual({ ok: false, reason })
  })

  it('--dev-webhook-loopback does not accept a host name that resolves to the loopback', () => {
    const checked = checkUrl('https://hooks.example.com:8787/', { loopbackPorts })
    expect(checked.ok && checked.refuseAddress('127.0.0.1')).toBe('forbidden_address')
  })

  it('with --dev-webhook-loopback, a URL with 127.0.0.1 can connect to no other address', () => {
    const checked = checkUrl('http://127.0.0.1:8787/', { loopbackPorts })
    const refused = ['127.0.0.1', '::1', '127.0.0.2', '93.184.216.34'].map(
      (it) => checked.ok && checked.refuseAddress(it),
    )
    expect(refused).toEqual([null, 'forbidden_address', 'forbidden_address', 'forbidden_address'])
  })

  it('--dev-webhook-loopback does not override allowed_ips', () => {
    const policy = { loopbackPorts, allowedIps: ['93.184.216.34'] }
    expect(checkUrl('http://127.0.0.1:8787/', policy)).toEqual({ ok: false, reason: 'allowed_ips_excludes_host' })
  })
})

describe('allowed_ips', () => {
  it.each([
    '93.184.216.34',
    '93.184.216.0/24',
    '93.184.216.34/24',
    '93.184.216.34/32',
    '8.0.0.0/7',
    '2606:4700::/32',
    '2606:4700::1',
    '2606:4700::1/128',
    '2400::/8',
  ])('allowed_ips accepts the entry %s', (entry) => {
    expect(checkAllowedIp(entry)).toBe(true)
  })

  it.each([
    '',
    '/',
    'hooks.example.com',
    '127.0.0.1',
    '127.0.0.0/8',
    '10.1.2.3/32',
    '0.0.0.0/0',
    '93.184.216.34/0',
    '8.0.0.0/5',
    '192.0.0.0/8',
    '198.16.0.0/12',
    '128.0.0.0/1',
    '93.184.216.34/33',
    '93.184.216.34/-1',
    '93.184.216.34/024',
    '93.184.216.34/24/24',
    '93.184.216.34/',
    '93.184.216.34/2a',
    '93.184.216.34 ',
    '93.184.216',
    '093.184.216.34',
    '0x5d.184.216.34',
    '1572395042',
    '::/0',
    '2000::/3',
    '2606:4700::1/2',
    '2606:4700::1/0',
    '2001::/16',
    '2001:db8::/48',
    '2606:4700::1/129',
    '2606:4700::1%eth0',
    '2606:4700::1%eth0/64',
    '[2606:4700::1]',
    '::ffff:93.184.216.34',
    '::1',
    'fd00::/8',
    'fe80::1',
  ])('allowed_ips rejects the entry %j', { tags: 'webhook-settings/4' }, (entry) => {
    expect(checkAllowedIp(entry)).toBe(false)
    expect(checkUrl('https://hooks.example.com/', { allowedIps: ['93.184.216.34', entry] })).toEqual({
      ok: false,
      reason: 'allowed_ip_invalid',
    })
  })

  it('forbidden address in a webhook URL is refused before allowed_ips is checked', () => {
    expect(checkUrl('https://127.0.0.1/', { allowedIps: ['x'] })).toEqual({ ok: false, reason: 'forbidden_address' })
  })

  it('address without a prefix in allowed_ips allows exactly this address', () => {
    const checked = checkUrl('https://hooks.example.com/', { allowedIps: ['93.184.216.34', '2606:4700::1'] })
    const addresses = ['93.184.216.34', '2606:4700::1', '93.184.216.35', '2606:4700::2']
    const out = 'allowed_ips_excludes_host'
    expect(addresses.map((it) => checked.ok && checked.refuseAddress(it))).toEqual([null, null, out, out])
  })

  it('webhook address must be public and in allowed_ips', { tags: 'webhook-settings/4' }, () => {
    const checked = checkUrl('https://hooks.example.com/', { allowedIps: ['93.184.216.0/24', '2606:4700::/32'] })
    const addresses = ['93.184.216.34', '2606:4700::1', '93.184.217.1', '2607::1', '127.0.0.1', '::ffff:93.184.216.34']
    const out = 'allowed_ips_excludes_host'
    expect(addresses.map((it) => checked.ok && checked.refuseAddress(it))).toEqual([
      ...[null, null],
      ...[out, out],
      ...['forbidden_address', 'forbidden_address'],
    ])
  })

  it('webhook URL with an IP address outside allowed_ips is refused', () => {
    const allowedIps = ['93.184.216.0/24']
    expect(checkUrl('https://93.184.216.1/', { allowedIps }).ok).toBe(true)
    expect(checkUrl('https://93.184.217.1/', { allowedIps })).toEqual({
      ok: false,
      reason: 'allowed_ips_excludes_host',
    })
    expect(checkUrl('https://127.0.0.1/', { allowedIps })).toEqual({ ok: false, reason: 'forbidden_address' })
  })

  it('empty allowed_ips allow every public address', () => {
    expect(checkUrl('https://93.184.216.34/', { allowedIps: [] }).ok).toBe(true)
  })
})

it.each([
  '',
  'x',
  'localhost',
  '1.2.3',
  '01.2.3.4',
  '1.2.3.4.',
  ' 1.2.3.4',
  '[2606:4700::1]',
  '2606:4700::1%lo',
  '2606:4700::1%',
])('isPublicAddress() returns false for the text %j', (text) => {
  expect(isPublicAddress(text)).toBe(false)
})

describe('address check after the DNS lookup', () => {
  const lookUp = async (respond: () => Promise<readonly string[]>, url = 'https://hooks.example.com./') => {
    const asked: string[] = []
    const checked = checkUrl(url)
    if (!checked.ok) throw new Error(checked.reason)
    const lookup = (host: string) => {
      asked.push(host)
      return respond()
    }
    return { resolved: await resolve(checked, lookup), asked }
  }

  it('host name is looked up without its final dot, and all its public addresses are returned', async () => {
    const addresses = ['93.184.216.34', '2606:4700::1']
    expect(await lookUp(async () => addresses)).toEqual({
      resolved: { ok: true, addresses },
      asked: ['hooks.example.com'],
    })
  })

  it('webhook URL with a public IP address is resolved without a DNS lookup', async () => {
    expect(await lookUp(async () => [], 'https://93.184.216.34/')).toEqual({
      resolved: { ok: true, addresses: ['93.184.216.34'] },
      asked: [],
    })
  })

  it.each([
    [['127.0.0.1']],
    [['93.184.216.34', '127.0.0.1']],
    [['127.0.0.1', '93.184.216.34']],
    [['93.184.216.34', '::1']],
    [['93.184.216.34', '2606:4700::1', 'fd00::1']],
    [['93.184.216.34', '::ffff:93.184.216.34']],
    [['93.184.216.34', '64:ff9b::7f00:1']],
    [['93.184.216.34', 'fe80::1%eth0']],
    [['93.184.216.34', '2606:4700::1%eth0']],
    [['93.184.216.34', 'localhost']],
    [['93.184.216.34', '']],
  ])('host name is refused if one of its addresses is forbidden: %j', { tags: 'webhook-urls/4' }, async (addresses) => {
    const { resolved } = await lookUp(async () => addresses)
    expect(resolved).toEqual({ ok: false, reason: 'forbidden_address' })
  })

  it.each([
    ['returns no address', async () => []],
    ['fails', () => Promise.reject(new Error('SERVFAIL'))],
  ])('host name stays unresolved if the DNS lookup %s', async (_, respond) => {
    expect((await lookUp(respond)).resolved).toEqual({ ok: false, reason: 'unresolved' })
  })
})

describe('loopback-only policy', () => {
  const policy = { loopbackPorts: { has: (port: number) => port >= 1_024, only: true } }

  it.each([
    'https://hooks.example.com/',
    'https://hooks.example.com:8443/',
    'http://hooks.example.com:8787/',
    'https://localhost.example.com:8787/',
    'https://93.184.216.34/',
    'https://1572395042:8787/',
    'https://[2606:4700::1]:8787/',
    'https://[::ffff:93.184.216.34]:8787/',
    'http://127.0.0.2:8787/',
    'http://localhost.:8787/',
    'http://127.0.0.1:80/',
    'https://localhost/',
    'http://10.0.0.1:8787/',
  ])('a loopback-only policy refuses %s before a look-up', { tags: 'webhook-urls/5' }, (url) => {
    expect(checkUrl(url, policy)).toEqual({ ok: false, reason: 'not_loopback' })
  })

  it.each(['http://127.0.0.1:8787/a', 'https://localhost:1024/', 'http://[::1]:65535/', 'http://0x7f.1:8787/'])(
    'a loopback-only policy accepts %s',
    (url) => {
      expect(checkUrl(url, policy)).toMatchObject({ ok: true, addresses: expect.any(Array) })
    },
  )
})
