import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, expect, it, test } from 'vitest'
import { listen } from '../../support/listen.js'
import { hooksExampleCom } from './certificates.js'
import { ended, httpReceiver, internet, lookup, publicAddress, senderFor, tlsReceiver } from './delivering.js'
import { hostileUrls } from './hostile-urls.js'

/** Starts a loopback listener that counts connections: no delivery may connect to it. */
async function untouchedListener() {
  let connections = 0
  const port = await listen(createServer(() => connections++))
  return { port, connections: () => connections }
}

test('sender neither looks up nor connects to a host of hostile URLs', { tags: 'webhook-urls/1' }, async () => {
  const { port, connections } = await untouchedListener()
  const lookedUp: string[] = []
  const { dialled, options } = internet(port)
  const noting = async (host: string) => {
    lookedUp.push(host)
    return [publicAddress]
  }
  const spied = senderFor({ ...options, lookup: noting })
  const real = senderFor()
  for (const [reason, urls] of Object.entries(hostileUrls)) {
    for (const url of urls.map((it) => it.replaceAll('PORT', String(port)))) {
      for (const { send } of [spied, real]) {
        expect(await send(url), url).toMatchObject({
          statusCode: null,
          error: { code: 'url_refused', message: `Deliveries are not made to this URL (${reason}).` },
          ipAddress: null,
        })
      }
    }
  }
  expect({ dialled, lookedUp, connections: connections() }).toEqual({ dialled: [], lookedUp: [], connections: 0 })
})

test.each([
  [['127.0.0.1']],
  [['::1']],
  [['::ffff:127.0.0.1']],
  [['169.254.169.254']],
  [['10.0.0.1', '93.184.216.34']],
  [['93.184.216.34', '127.0.0.1']],
  [['127.0.0.1', '93.184.216.34']],
  [['93.184.216.34', '::1']],
  [['2606:4700::1', '127.0.0.1']],
  [['93.184.216.34', '2606:4700::1', 'fe80::1%eth0']],
  [['93.184.216.34', '64:ff9b::7f00:1']],
])('delivery to a name that resolves to %j does not connect', { tags: 'webhook-urls/1' }, async (addresses) => {
  const { port, connections } = await untouchedListener()
  const { dialled, options } = internet(port)
  for (const sender of [
    senderFor({ ...options, lookup: async () => addresses }),
    senderFor({ lookup: async () => addresses }),
  ]) {
    expect(await sender.send(`https://hooks.example.com:${port}/`)).toMatchObject({
      error: { code: 'address_forbidden' },
      ipAddress: null,
    })
  }
  expect({ dialled, connections: connections() }).toEqual({ dialled: [], connections: 0 })
})

describe('resolver that alternates between a public and a loopback address', () => {
  it.each([
    ['public, then loopback addresses', [publicAddress, '127.0.0.1', publicAddress, '127.0.0.1']],
    ['loopback, then public addresses', ['127.0.0.1', publicAddress, '127.0.0.1', publicAddress]],
  ])('delivery connects only to a public address: lookup of %s', { tags: 'webhook-urls/5' }, async (_, addresses) => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const untouched = await untouchedListener()
    const { dialled, options } = internet(port)
    const left = [...addresses]
    const { send } = senderFor({ ...options, lookup: async () => [left.shift() ?? ''] })
    const results: unknown[] = []
    for (const _address of addresses) results.push((await send(`https://hooks.example.com:${untouched.port}/`)).error)
    expect(results.map((error) => error === null)).toEqual(addresses.map((address) => address === publicAddress))
    expect(left).toEqual([])
    // The sender connects once, to the checked address instead of the name, and reuses the connection.
    expect(dialled).toEqual([`${publicAddress} ${untouched.port}`])
    expect(untouched.connections()).toBe(0)
  })

  it('webhook connection is not reused after the host name resolves to another address', async () => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const { dialled, options } = internet(port)
    const left = [publicAddress, publicAddress, '93.184.216.35', publicAddress]
    const { send } = senderFor({ ...options, lookup: async () => [left.shift() ?? ''] })
    for (let attempt = 0; attempt < 4; attempt++) await send('https://hooks.example.com/')
    expect(dialled).toEqual([`${publicAddress} 443`, '93.184.216.35 443'])
  })
})

describe('peer address of an open socket', () => {
  it.each(['127.0.0.1', '::1', '10.0.0.1', '::ffff:93.184.216.34'])(
    'sender writes no bytes to a socket whose peer is %s',
    { tags: ['webhook-urls/1', 'webhook-urls/5'] },
    async (peer) => {
      const received: Buffer[] = []
      const connections: Socket[] = []
      const server = createServer((socket) => {
        connections.push(socket)
        socket.on('data', (chunk) => received.push(chunk))
      })
      const accepted = once(server, 'connection')
      const { dialled, options } = internet(await listen(server), peer)
      const { send } = senderFor({ ...options, lookup: async () => [publicAddress] })
      expect(await send('https://hooks.example.com/')).toMatchObject({ error: { code: 'address_forbidden' } })
      // The sender can close the socket before this process accepts its connection.
      await accepted
      await ended(connections[0])
      expect({ dialled, received }).toEqual({ dialled: [`${publicAddress} 443`], received: [] })
    },
  )
})

describe('allowed_ips of a bot', () => {
  it('allowed_ips of a bot are checked even if another bot has a connection to the address', async () => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const { dialled, options } = internet(port)
    const { send } = senderFor({ ...options, lookup })
    const url = 'https://hooks.example.com/'
    expect(await send(url, { allowedIps: ['93.184.216.0/24'] })).toMatchObject({ error: null })
    expect(await send(url, { allowedIps: ['93.184.217.0/24'] })).toMatchObject({
      error: { code: 'address_not_allowed' },
      ipAddress: null,
    })
    expect(await send(url)).toMatchObject({ error: null })
    expect(dialled).toHaveLength(1)
  })

  it('delivery fails if one address of its host is outside allowed_ips', { tags: 'webhook-settings/4' }, async () => {
    const { dialled, options } = internet(1)
    const { send } = senderFor({ ...options, lookup: async () => [publicAddress, '2606:4700::1'] })
    const result = await send('https://hooks.example.com/', { allowedIps: ['93.184.216.0/24'] })
    expect(result.error?.code).toBe('address_not_allowed')
    expect(dialled).toEqual([])
  })
})

describe('redirect of a delivery', () => {
  it.each([300, 301, 302, 303, 304, 307, 308, 399])(
    'delivery fails on the redirect status %i to the loopback and does not follow it',
    async (status) => {
      const untouched = await untouchedListener()
      const location = `http://127.0.0.1:${untouched.port}/`
      const { send, url, port, connections } = await httpReceiver((_request, response) =>
        response.writeHead(status, { location, refresh: `0; url=${location}` }).end(),
      )
      const options = { loopbackPorts: new Set([port, untouched.port]) }
      for (const sendTo of [send, senderFor(options).send]) {
        expect(await sendTo(url)).toMatchObject({ statusCode: status, error: { code: 'redirect' } })
      }
      expect([untouched.connections(), connections.length]).toEqual([0, 2])
    },
  )
})

test('sender ignores the proxy variables of the environment', { tags: 'webhook-urls/5' }, async () => {
  const { send, url } = await httpReceiver((_request, response) => response.end())
  const untouched = await untouchedListener()
  const names = [
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NODE_USE_ENV_PROXY',
  ]
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${untouched.port}`
  try {
    expect(await senderFor({ loopbackPorts: new Set([Number(new URL(url).port)]) }).send(url)).toMatchObject({
      error: null,
    })
    expect(await send(url)).toMatchObject({ error: null })
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
  expect(untouched.connections()).toBe(0)
})

test('delivery records contain neither path nor query of the URL nor response text', async () => {
  const secret = 'S3CRET'
  const urls = [
    `https://hooks.example.com/${secret}?${secret}`,
    `https://${secret}@x.example/`,
    `https://127.0.0.1/${secret}`,
  ]
  const { send } = senderFor({ lookup: () => Promise.reject(new Error(secret)) })
  const { send: sendOn, url } = await httpReceiver((_request, response) => response.writeHead(500, secret).end())
  const results = [...(await Promise.all(urls.map((it) => send(it)))), await sendOn(`${url}/${secret}?${secret}`)]
  expect(results.map(({ error }) => error?.code)).toEqual([
    'lookup_failed',
    'url_refused',
    'url_refused',
    'http_status',
  ])
  expect(JSON.stringify(results)).not.toMatch(/S3CRET/i)
})
