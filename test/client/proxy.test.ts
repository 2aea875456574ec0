import { createServer } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseBaseUrl } from '../../src/client/base-url.js'
import { findProxy } from '../../src/client/find-proxy.js'
import { createHttpTransport } from '../../src/client/http.js'
import { createClient } from '../../src/client/index.js'
import { createPoolTransport } from '../../src/client/pool.js'
import type { Environment } from '../../src/client/proxy.js'

import { createStream } from '../../src/client/stream.js'
import type { TransportRequest } from '../../src/client/transport.js'
import { contract } from '../../src/contract/index.js'
import { httpProxy } from '../support/http-proxy.js'
import { listen } from '../support/listen.js'
import { selfSigned } from '../support/secure/self-signed.js'

const CREDENTIALS = 'ann:CANARY p@ss'
const post: TransportRequest = { method: 'POST', path: '/api/v1/things?x=1', headers: { 'x-a': 'b' }, body: '{"a":1}' }
const get: TransportRequest = { method: 'GET', path: '/api', headers: {} }

/** A server that repeats method, path, host and body. */
const repeating = () =>
  createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const { method, url, headers } = request
    response.end(JSON.stringify({ method, url, host: headers.host, credentials: headers['proxy-authorization'], body }))
  })

function pooled(baseUrl: string, env?: Environment) {
  const pool = createPoolTransport(baseUrl, {}, env)
  onTestFinished(() => pool.close())
  return pool.send
}

describe.each([
  ['http', createHttpTransport],
  ['pool', pooled],
])('%s transport through a proxy', (_name, create) => {
  test('a transport sends an http call to the proxy of HTTP_PROXY with its credentials', async () => {
    const proxy = await httpProxy(await listen(repeating()), CREDENTIALS)
    for (const name of ['HTTP_PROXY', 'http_proxy']) {
      const { status, body } = await create('http://vouchers.example/gateway', { [name]: proxy.url })(post)
      expect([status, JSON.parse(body)]).toMatchObject([
        200,
        { method: 'POST', url: '/gateway/api/v1/things?x=1', host: 'vouchers.example', body: '{"a":1}' },
      ])
    }
    expect(proxy.received.map((it) => it.url)).toEqual(
      Array(2).fill('http://vouchers.example/gateway/api/v1/things?x=1'),
    )
  })

  test('a transport tunnels an https call, and the proxy sees only the host', { tags: 'proxies/1' }, async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const server = createHttps(selfSigned)
    server.on('request', repeating().listeners('request')[0] as () => void)
    const proxy = await httpProxy(await listen(server), CREDENTIALS)
    const { body } = await create('https://vouchers.example', { HTTPS_PROXY: proxy.url })(post)
    expect(JSON.parse(body)).toEqual({
      method: 'POST',
      url: '/api/v1/things?x=1',
      host: 'vouchers.example',
      body: '{"a":1}',
    })
    expect(proxy.received.map((it) => [it.method, it.url, it.headers['x-a']])).toEqual([
      ['CONNECT', 'vouchers.example:443', undefined],
    ])
  })

  test('a transport verifies the certificate of the server at the end of a tunnel', async () => {
    const proxy = await httpProxy(await listen(createHttps(selfSigned)), CREDENTIALS)
    const sent = create('https://vouchers.example', { HTTPS_PROXY: proxy.url })(post)
    const message = expect.stringContaining('SELF_SIGNED_CERT')
    await expect(sent).rejects.toMatchObject({ kind: 'untrusted', maybeProcessed: false, message })
  })

  test.each(['http', 'https'])('a failure of an %s call names the proxy without its credentials', async (scheme) => {
    const proxy = await httpProxy(1, 'ann:other')
    const env = { HTTP_PROXY: proxy.url.replace('other', 'CANARY'), HTTPS_PROXY: proxy.url.replace('other', 'CANARY') }
    const error = await create(`${scheme}://vouchers.example`, env)(post).catch((it) => it)
    expect(error).toMatchObject({ kind: 'refused', maybeProcessed: false })
    expect(error.message).toContain(`${proxy.origin} (${scheme.toUpperCase()}_PROXY)`)
    expect(JSON.stringify([error.message, error.stack])).not.toMatch(/CANARY|ann/)
  })

  test('a transport removes credentials from a response in which the proxy repeats them', async () => {
    const proxy = await httpProxy(1, CREDENTIALS)
    const { status, body } = await create('http://vouchers.example', { HTTP_PROXY: proxy.url })({
      ...get,
      path: '/broken',
    })
    expect(status).toBe(502)
    expect(body).toContain('Basic [credential]')
    expect(body).not.toContain('CANARY')
    expect(body).not.toContain(Buffer.from(CREDENTIALS).toString('base64'))
  })

  test('a transport never sends a call to a loopback address through a proxy', async () => {
    const env = { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'malformed:x:y' }
    const { status } = await create(`http://127.0.0.1:${await listen(repeating())}`, env)(get)
    expect(status).toBe(200)
  })
})

test('an aborted call closes the tunnel that it is opening', async () => {
  const aborting = new AbortController()
  const proxy = createServer()
  const closed = new Promise((resolve) => {
    proxy.on('connect', (_request, socket) => {
      socket
        .on('end', resolve)
        .on('error', () => {})
        .resume()
      aborting.abort()
    })
  })
  const env = { HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}` }
  const sent = createHttpTransport('https://vouchers.example', env)({ ...get, signal: aborting.signal })
  await expect(sent).rejects.toMatchObject({ kind: 'aborted', maybeProcessed: false })
  await closed
})

test('a stream goes through the proxy', async () => {
  const server = createServer((_request, response) => response.end('{"status":200}\n'))
  const proxy = await httpProxy(await listen(server))
  const result = await createStream(
    'http://vouchers.example',
    {},
    { HTTP_PROXY: proxy.url },
  )(contract.platform.requests, {})
  if (!result.ok) return expect.unreachable(result.message)
  for await (const entry of result.data) expect(entry.status).toBe(200)
  expect(proxy.received).toHaveLength(1)
})

test.each([false, true])(
  'a client returns PROXY_INVALID for a malformed variable, encrypted: %s',
  async (isEncrypted) => {
    vi.stubEnv('HTTPS_PROXY', 'socks5://ann:CANARY@proxy')
    onTestFinished(() => void vi.unstubAllEnvs())
    const secure = isEncrypted ? { secure: { mode: 'required' as const } } : {}
    const result = await createClient({ baseUrl: 'https://vouchers.example', ...secure }).templates.list()
    expect(result).toMatchObject({ ok: false, code: 'PROXY_INVALID', status: 0, retryable: false })
    expect(result).toMatchObject({ message: expect.stringContaining('HTTPS_PROXY') })
    expect(JSON.stringify(result)).not.toContain('CANARY')
  },
)

const proxyOf = async (baseUrl: string, env: Environment) => (await findProxy(parseBaseUrl(baseUrl), env))?.label

test.each([
  ['http://proxy.example:3128', 'http://proxy.example:3128 (HTTPS_PROXY)'],
  ['proxy.example:3128', 'http://proxy.example:3128 (HTTPS_PROXY)'],
  ['https://proxy.example/', 'https://proxy.example (HTTPS_PROXY)'],
  ['http://u:p@[2001:db8::1]:8', 'http://[2001:db8::1]:8 (HTTPS_PROXY)'],
  ['', undefined],
  ['  ', undefined],
])('the value %j of HTTPS_PROXY names the proxy %s', async (value, expected) => {
  expect(await proxyOf('https://vouchers.example', { HTTPS_PROXY: value })).toBe(expected)
  expect(await proxyOf('http://vouchers.example', { HTTPS_PROXY: value })).toBeUndefined()
})

test('lower-case variables take precedence, empty ones switch the proxy off', { tags: 'proxies/1' }, async () => {
  const env = { HTTPS_PROXY: 'http://b', https_proxy: 'http://a' }
  expect(await proxyOf('https://vouchers.example', env)).toBe('http://a (https_proxy)')
  expect(await proxyOf('https://vouchers.example', { ...env, https_proxy: '' })).toBeUndefined()
})

test.each([
  ['*', true],
  ['other.example, vouchers.example', true],
  ['example', true],
  ['.example', true],
  ['*.example', true],
  ['VOUCHERS.EXAMPLE:443', true],
  ['vouchers.example:8443', false],
  ['chers.example', false],
  ['10.0.0.0/8', false],
])('NO_PROXY=%s excepts https://vouchers.example: %s', { tags: 'proxies/1' }, async (value, expected) => {
  const env = { HTTPS_PROXY: 'http://proxy', NO_PROXY: value }
  expect((await proxyOf('https://vouchers.example', env)) === undefined).toBe(expected)
})

test.each([
  ['10.0.0.0/8', 'https://10.9.8.7', true],
  ['10.0.0.0/8', 'https://11.9.8.7', false],
  ['10.9.8.7', 'https://10.9.8.7', true],
  ['[2001:db8::1]:443', 'https://[2001:db8::1]', true],
  ['2001:db8::/32', 'https://[2001:db8::1]', true],
  ['8.7', 'https://10.9.8.7', false],
  ['/var/run/docker.sock', 'https://10.9.8.7', false],
  ['10/8', 'https://10.9.8.7', false],
  ['10.0.0.0/33', 'https://10.9.8.7', false],
  ['http://10.9.8.7', 'https://10.9.8.7', false],
  ['/run/x.sock 10.9.8.7', 'https://10.9.8.7', true],
])('NO_PROXY=%s excepts %s: %s', async (value, baseUrl, expected) => {
  const env = { HTTPS_PROXY: 'http://proxy', NO_PROXY: value }
  expect((await proxyOf(baseUrl, env)) === undefined).toBe(expected)
})

test.each([
  ['HTTPS_PROXY', 'http://CANARY:x:y'],
  ['HTTPS_PROXY', 'socks5://CANARY'],
  ['HTTPS_PROXY', 'http://proxy/CANARY'],
  ['HTTPS_PROXY', 'http://CANARY%zz@proxy'],
  ['https_proxy', 'http://'],
])('a malformed %s (%s) is refused with its name and without its value', async (name, value) => {
  const env = { ...(name === 'https_proxy' ? {} : { HTTPS_PROXY: 'http://proxy' }), [name]: value }
  const error = await proxyOf('https://vouchers.example', env).catch((it) => it)
  expect(error).toMatchObject({ message: expect.stringContaining(name), secure: { code: 'PROXY_INVALID' } })
  expect(error.message).not.toContain('CANARY')
})

test.each(['localhost', '127.0.0.1', '127.1.2.3', '[::1]', 'localhost.'])(
  '%s is never called through a proxy',
  { tags: 'proxies/1' },
  async (host) => {
    expect(await proxyOf(`http://${host}`, { HTTP_PROXY: 'http://proxy' })).toBeUndefined()
  },
)
