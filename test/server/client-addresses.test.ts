import { describe, expect, it } from 'vitest'
import { ClientAddresses, type ClientRequest } from '../../src/server/limits.js'

function from(peer: string | undefined, forwardedFor?: string): ClientRequest {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
  return { carrier: { request: { headers, socket: { remoteAddress: peer } } }, inner: null } as unknown as ClientRequest
}

const proxies = ['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48']
const subject = (peer: string | undefined, forwardedFor?: string, trusted: readonly string[] = proxies) =>
  new ClientAddresses(trusted).limitSubject(from(peer, forwardedFor))

describe('rate limit subject by address', { tags: ['limits-by-address/1', 'limits-by-address/2'] }, () => {
  it.each([
    ['the peer without a trusted proxy', '192.0.2.1', '198.51.100.7', [], '192.0.2.1'],
    ['the peer if it is not the trusted proxy', '192.0.2.1', '198.51.100.7', proxies, '192.0.2.1'],
    ['the peer if the X-Forwarded-For header is absent', '10.0.0.1', undefined, proxies, '10.0.0.1'],
    ['the peer if the X-Forwarded-For header is empty', '10.0.0.1', '', proxies, '10.0.0.1'],
    ['the client that the proxy saw', '10.0.0.1', '198.51.100.7', proxies, '198.51.100.7'],
    ['the client behind a chain of proxies', '127.0.0.1', '198.51.100.7, 10.9.9.9,10.0.0.2', proxies, '198.51.100.7'],
    [
      'the client despite entries that it added',
      '10.0.0.1',
      '1.1.1.1, 10.3.3.3, 198.51.100.7',
      proxies,
      '198.51.100.7',
    ],
    ['the first hop if all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
    ['an IPv4 client with a port', '10.0.0.1', '198.51.100.7:4711', proxies, '198.51.100.7'],
    ['an IPv6 client with a port', '10.0.0.1', '[2001:db8:1:2::3]:4711', proxies, '2001:db8:1:2::/64'],
    ['an IPv6 client in brackets', '10.0.0.1', '[2001:db8:1:2::3]', proxies, '2001:db8:1:2::/64'],
    ['the proxy that reported an unknown client', '10.0.0.1', '198.51.100.7, unknown', proxies, '10.0.0.1'],
    ['the proxy that wrote an empty entry', '10.0.0.1', '198.51.100.7,', proxies, '10.0.0.1'],
    ['the proxy behind a malformed entry', '10.0.0.1', '<script>, 10.0.0.2', proxies, '10.0.0.2'],
    ['an IPv4-mapped peer as IPv4', '::ffff:192.0.2.1', undefined, [], '192.0.2.1'],
    ['an IPv4-mapped proxy', '::ffff:10.0.0.1', '::ffff:c633:6407', proxies, '198.51.100.7'],
    ['a proxy that is trusted in its mapped form', '10.0.0.1', '198.51.100.7', ['::ffff:10.0.0.1'], '198.51.100.7'],
    ['an IPv6 proxy', '2001:db8:ffff:1::1', '2001:db8:1:2:3:4:5:6', proxies, '2001:db8:1:2::/64'],
    ['the /64 of an IPv6 peer', '2001:DB8:1:2:ffff::9', undefined, [], '2001:db8:1:2::/64'],
    ['the /64 of an abbreviated IPv6 address', '2001:db8::1', undefined, [], '2001:db8:0:0::/64'],
    ['an IPv6 peer without its zone', 'fe80::1%eth0', undefined, [], 'fe80:0:0:0::/64'],
    ['empty for a closed connection', undefined, '198.51.100.7', proxies, ''],
  ] as const)('address that a rate limit counts against is %s', (_, peer, forwardedFor, trusted, expected) => {
    expect(subject(peer, forwardedFor, trusted)).toBe(expected)
  })

  it('rate limit counts an encrypted call against the address of the outer client', () => {
    const request = { ...from('10.0.0.1', '198.51.100.7'), inner: { headers: { 'x-forwarded-for': '203.0.113.9' } } }
    expect(new ClientAddresses(proxies).limitSubject(request)).toBe('198.51.100.7')
  })
})

describe('loopback client', () => {
  it.each([
    ['a process on this machine is a loopback client', '127.0.0.1', undefined, [], true],
    ['an IPv6 process on this machine is a loopback client', '::1', undefined, [], true],
    ['an IPv4-mapped process on this machine is a loopback client', '::ffff:127.0.0.1', undefined, [], true],
    ['another machine is no loopback client', '192.0.2.1', undefined, [], false],
    [
      'a remote client of a trusted local proxy is no loopback client',
      '127.0.0.1',
      '198.51.100.7',
      ['127.0.0.1'],
      false,
    ],
    ['a client of an untrusted local proxy is no loopback client', '127.0.0.1', '127.0.0.1', [], false],
    ['a local client of a trusted proxy is no loopback client', '127.0.0.1', '127.0.0.1', ['127.0.0.1'], false],
    ['an unknown client of a trusted proxy is no loopback client', '127.0.0.1', 'unknown', ['127.0.0.1'], false],
  ] as const)('address check: %s', (_, peer, forwardedFor, trusted, expected) => {
    expect(new ClientAddresses(trusted).isLoopback(from(peer, forwardedFor))).toBe(expected)
  })
})

describe('untrusted proxy', () => {
  const reported = (trusted: readonly string[], ...requests: readonly ClientRequest[]) => {
    const peers: string[] = []
    const addresses = new ClientAddresses(trusted, (peer) => peers.push(peer))
    for (const request of requests) addresses.checkProxy(request)
    return peers
  }

  it('server logs an untrusted proxy on this machine or in a private network once', () => {
    const twice = [from('127.0.0.1', '198.51.100.7'), from('10.0.0.1', '198.51.100.7')]
    expect(reported([], ...twice)).toEqual(['127.0.0.1'])
    for (const peer of ['::1', '::ffff:10.0.0.1', '172.16.0.1', '192.168.0.1', 'fd00::1']) {
      expect(reported([], from(peer, '198.51.100.7'))).toHaveLength(1)
    }
  })

  it('server does not log a peer that is trusted, sends no X-Forwarded-For or is public', () => {
    expect(reported(['10.0.0.1'], from('10.0.0.1', '198.51.100.7'))).toEqual([])
    expect(reported([], from('10.0.0.1'))).toEqual([])
    expect(reported([], from('198.51.100.1', '198.51.100.7'))).toEqual([])
  })
})
