import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { pageClient } from '../support/page/client.js'
import { newLink } from '../support/page/server.js'
import { testApp, testInspector } from '../support/server/app.js'
import { portOf, rawResponse } from '../support/server/raw.js'
import { type LiveServer, liveServer, standaloneServer } from '../support/server/server.js'

let server: LiveServer
beforeAll(async () => {
  server = await liveServer()
})
afterAll(() => server.close())

type Headers = Readonly<Record<string, string>>
const fromPage = (): Headers => ({ 'sec-fetch-site': 'same-origin', origin: server.baseUrl })
const json = { 'content-type': 'application/json' }

async function send(method: string, target: string, headers: Headers = {}, body = '') {
  const all = { host: `127.0.0.1:${server.port}`, 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const response = await rawResponse(server.port, `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  const isJson = /json/.test(response.headers['content-type'] ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text: response.text,
    body: isJson ? JSON.parse(response.text) : undefined,
  }
}

const bearer = (): Headers => ({ authorization: `Bearer ${server.operatorKey}` })

async function newTicket(): Promise<string> {
  const { status, body } = await send('POST', '/_platform/v1/page-tickets', bearer())
  expect(status).toBe(200)
  return new URLSearchParams(new URL(body.data.url).hash.slice(1)).get('ticket') as string
}

const exchange = (ticket: string) =>
  send('POST', '/_platform/ui/session', { ...fromPage(), ...json }, JSON.stringify({ ticket }))

/** Headers with the token of a new session. */
async function session(): Promise<Headers> {
  const { body } = await exchange(await newTicket())
  return { 'page-token': body.token }
}

test('page is served for view paths, with headers that limit what it loads', { tags: 'page-headers/1' }, async () => {
  for (const path of ['', '/', '/requests/req_01', '/vouchers/vch_1?tab=life']) {
    const { status, headers, text } = await send('GET', `/_platform/ui${path}`, { 'sec-fetch-site': 'none' })
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain('<script type="module" src="/_platform/ui/app.js">')
    expect(text).not.toMatch(/<script[^>]*>[^<]|style=|https?:/)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    expect(String(headers['content-security-policy']).split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
  }
})

test.each([
  ['app.js', 200, 'text/javascript; charset=utf-8'],
  ['views.js', 200, 'text/javascript; charset=utf-8'],
  ['app.css', 200, 'text/css; charset=utf-8'],
  ['icon.svg', 200, 'image/svg+xml'],
  ['other.js', 404, 'application/json; charset=utf-8'],
  ['../../package.json', 404, 'application/json; charset=utf-8'],
  ['%2e%2e/%2e%2e/package.json', 404, 'application/json; charset=utf-8'],
  ['constructor.name', 404, 'application/json; charset=utf-8'],
])('file %s of the page responds with %d', async (file, status, type) => {
  const response = await send('GET', `/_platform/ui/${file}`, { 'sec-fetch-site': 'same-origin' })
  expect([response.status, response.headers['content-type']]).toEqual([status, type])
})

test('first view of the page is at most 25 kB with gzip', async () => {
  let bytes = 0
  for (const file of ['index.html', 'icon.svg', 'app.css', 'app.js'])
    bytes += gzipSync((await send('GET', `/_platform/ui/${file}`)).text).length
  expect(bytes).toBeLessThanOrEqual(25_000)
  // What those scripts and styles load at once would count too.
  expect((await send('GET', '/_platform/ui/app.js')).text).not.toMatch(/\bfrom\s*["'`]|@import/)
})

test('ticket of a link gives a token once, with which the page is the operator', { tags: 'page/2' }, async () => {
  const ticket = await newTicket()
  const { status, headers, body } = await exchange(ticket)
  expect([status, headers['set-cookie'], headers['cache-control']]).toEqual([200, undefined, 'no-store'])
  expect(body).toEqual({
    token: expect.stringMatching(/^[\w-]{43}$/),
    proof_key: expect.stringMatching(/^[\da-f]{64}$/),
  })
  expect(await exchange(ticket)).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })

  const token = { 'page-token': body.token }
  const reviews = await send('GET', '/_platform/v1/reviews', { ...token, 'sec-fetch-site': 'same-origin' })
  expect(reviews).toMatchObject({ status: 200, body: { data: { items: [] } } })
  const changes = { ...token, ...fromPage(), ...json }
  expect(await send('POST', '/_platform/v1/clock/advance', changes, '{"seconds":1}')).toMatchObject({ status: 200 })
})

test('page of a server sets no cookie, and obeys none', async () => {
  const token = await session()
  for (const target of ['/_platform/ui/', '/_platform/ui/app.js', '/_platform/ui/features', '/_platform/v1/reviews']) {
    const { status, headers } = await send('GET', target, { ...token, 'sec-fetch-site': 'same-origin' })
    expect([target, status, headers['set-cookie']]).toEqual([target, 200, undefined])
  }
  const cookie = ['voucherctl_page', `voucherctl_page_${server.port}`, 'page-token']
    .map((name) => `${name}=${token['page-token']}`)
    .join('; ')
  const reviews = await send('GET', '/_platform/v1/reviews', { cookie, 'sec-fetch-site': 'same-origin' })
  expect(reviews).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
  const features = await send('GET', '/_platform/ui/features', { cookie, 'sec-fetch-site': 'same-origin' })
  expect(features).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })
})

test('link names the address of the server, and keeps its secret in the fragment', { tags: 'page/2' }, async () => {
  const { body } = await send('POST', '/_platform/v1/page-tickets', bearer())
  const { origin, pathname, search, hash } = new URL(body.data.url)
  expect([origin, pathname, search]).toEqual([server.baseUrl, '/_platform/ui/', ''])
  expect(hash).toMatch(/^#ticket=[\w-]{43}$/)
  expect(Date.parse(body.data.expires_at)).not.toBeNaN()
})

test('features tell a page with a session which views it can show', { tags: 'page/4' }, async () => {
  const headers = { ...(await session()), 'sec-fetch-site': 'same-origin' }
  const { status, body } = await send('GET', '/_platform/ui/features', headers)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    source: 'server',
    base_url: server.baseUrl,
    test_clock: true,
    views: [
      ...['requests', 'vouchers', 'deliveries', 'faults', 'reviews', 'templates', 'clock'],
      ...['errors', 'state', 'reference', 'chats', 'bots'],
    ],
  })
  expect(body.version).toMatch(/^\d+\.\d+\.\d+/)
  const without = await send('GET', '/_platform/ui/features', { 'sec-fetch-site': 'same-origin' })
  const lacking = { code: 'PAGE_SESSION_REQUIRED', details: { source: 'server' } }
  expect(without).toMatchObject({ status: 401, body: lacking })
})

test('session of a page creates no further link', async () => {
  const response = await send('POST', '/_platform/v1/page-tickets', { ...(await session()), ...fromPage() })
  expect(response).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
})

test('session of a page makes calls as an application, shows credentials, seeds and finds', async () => {
  const own = { ...(await session()), ...fromPage(), ...json }
  const post = async (path: string, body: object, headers: Headers = own) => {
    const response = await send('POST', `/_platform/v1/${path}`, headers, JSON.stringify(body))
    return [response.status, response.body.code ?? response.body.data]
  }
  const calls = [
    ['seed', { seed: { account: 'acme' } }, [200, { planted: true, applications: [], bots: [] }]],
    ['find', { text: 'nothing' }, [200, { items: [], note: expect.any(String) }]],
    ['applications/app_1/calls', { endpoint: 'templates.list', input: {} }, [404, 'APPLICATION_NOT_FOUND']],
    ['vouchers/vch_1/credentials', {}, [404, 'VOUCHER_NOT_FOUND']],
  ] as const
  for (const [path, body, expected] of calls) {
    expect(await post(path, body)).toEqual(expected)
    expect(await post(path, body, { ...own, origin: 'http://evil.example' })).toEqual([403, 'CROSS_SITE_REQUEST'])
    expect(await post(path, body, { ...fromPage(), ...json })).toEqual([401, 'TOKEN_MISSING'])
  }
})

test('session of a page is no credential outside the operator API', { tags: 'page/3' }, async () => {
  const headers = { ...(await session()), 'sec-fetch-site': 'same-origin' }
  const response = await send('GET', '/api/v1/open-platform/applications', headers)
  expect(response.body.code).toBe('TOKEN_MISSING')
})

test('ticket and token of another server are refused', async () => {
  const other = await liveServer()
  try {
    const link = await fetch(`${other.baseUrl}/_platform/v1/page-tickets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other.operatorKey}` },
    })
    const { data } = (await link.json()) as { data: { url: string } }
    const ticket = data.url.split('#ticket=')[1] as string
    expect(await exchange(ticket)).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })
    const { token } = await pageClient(data.url)
    const headers = { 'page-token': token, 'sec-fetch-site': 'same-origin' }
    const reviews = await send('GET', '/_platform/v1/reviews', headers)
    expect(reviews).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })
  } finally {
    await other.close()
  }
})

test('token of a page ends after an hour without use or open stream', { tags: 'page/3' }, async () => {
  let now = 0
  const inspector = testInspector(() => now)
  const { app, close } = testApp({ inspector })
  try {
    inspector.listen(`http://127.0.0.1:${await portOf(app)}`)
    const sockets: Socket[] = []
    app.server.on('connection', (socket) => sockets.push(socket))
    const allClosed = () =>
      vi.waitFor(() => expect(sockets.filter((it) => !it.readableEnded && !it.destroyed)).toEqual([]), 30_000)
    const client = await pageClient(inspector.newLink().url)
    const read = async () => (await client.send('GET', '/_platform/v1/reviews')).status
    const stream = await client.follow('/_platform/v1/activity?follow=true')
    now += 7_200_000
    expect(await read()).toBe(200)
    stream.close()
    await allClosed()
    now += 3_599_999
    expect(await read()).toBe(200)
    await allClosed()
    now += 3_600_000
    expect(await read()).toBe(401)
  } finally {
    await close()
  }
})

test('activity and log of a server show neither ticket nor token of a page', async () => {
  const watched = await standaloneServer({ inspect: true })
  try {
    const client = createClient({ baseUrl: watched.baseUrl, token: () => watched.operatorKey })
    const link = await newLink(client)
    const page = await pageClient(link)
    await page.send('GET', '/_platform/ui/features')
    await page.send('POST', '/_platform/v1/clock/advance', { body: { seconds: 1 } })
    const { body } = await page.send('GET', '/_platform/v1/activity?bodies=true')
    const lines = String(body).split('\n').filter(Boolean)
    const shown = lines.map((it) => JSON.stringify(JSON.parse(it), decoded)).join('\n') + watched.logs.join('\n')
    expect(shown).toContain('["page-token","[hidden]"]')
    for (const secret of [page.token, link.split('#ticket=')[1] as string]) expect(shown).not.toContain(secret)
  } finally {
    await watched.close()
  }
})

/** Replaces base64 bodies of exchanges by their text. */
const decoded = (name: string, value: unknown) =>
  name === 'body' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value

test.each([
  ['text/plain', '{"ticket":"x"}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['application/json', '{"ticket":', 400, 'INVALID_JSON'],
  ['application/json', '{"ticket":1}', 401, 'PAGE_SESSION_REQUIRED'],
  ['application/json', '[]', 401, 'PAGE_SESSION_REQUIRED'],
])('exchange refuses the type %s with the body %s', async (type, body, status, code) => {
  const response = await send('POST', '/_platform/ui/session', { ...fromPage(), 'content-type': type }, body)
  expect(response).toMatchObject({ status, body: { code } })
})

test('other methods of the routes of the page get 405 with the methods that exist', async () => {
  const put = await send('PUT', '/_platform/ui/session', fromPage())
  expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
  const post = await send('POST', '/_platform/ui/', fromPage())
  expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('preflight of another site gets 403 and no header of CORS', { tags: 'page-requests/2' }, async () => {
  for (const target of ['/_platform/ui/session', '/_platform/v1/reviews', '/_platform/v1/unknown']) {
    const headers = { origin: 'http://evil.example', 'access-control-request-method': 'POST' }
    const response = await send('OPTIONS', target, headers)
    expect(response).toMatchObject({ status: 403, body: { code: 'CROSS_SITE_REQUEST', details: { header: 'Origin' } } })
    expect(Object.keys(response.headers).filter((it) => it.startsWith('access-control'))).toEqual([])
  }
})

test.each([
  '/_platform',
  '/_platform/v1/reviews',
  '/_platform/v1/unknown',
  '/%5Fplatform/v1/reviews',
  '/_platform/ui/',
])('path %s refuses another Host of an operator', { tags: ['page-requests/1', 'page-headers/1'] }, async (target) => {
  const response = await send('GET', target, { ...bearer(), host: 'evil.example' })
  expect(response).toMatchObject({ status: 403, body: { code: 'HOST_NOT_ALLOWED' } })
  expect(response.body.details.allowed).toContain(`localhost:${server.port}`)
  const limits = { 'cross-origin-resource-policy': 'same-origin', 'x-content-type-options': 'nosniff' }
  expect(response.headers).toMatchObject(limits)
})

test('call with an absolute target below /_platform is refused', async () => {
  const response = await send('GET', `${server.baseUrl}/_platform/v1/reviews`, bearer())
  expect(response).toMatchObject({ status: 403, body: { code: 'HOST_NOT_ALLOWED' } })
})

test('runtime and console calls accept every Host, since they run behind proxies', async () => {
  for (const host of ['evil.example', 'shop.example:443', '']) {
    const response = await send('GET', '/api/v1/open-platform/applications', { host })
    expect(response.body.code).toBe('TOKEN_MISSING')
  }
})

test('operator API without a credential still asks for one', async () => {
  expect(await send('GET', '/_platform/v1/reviews')).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
})

test('server beyond loopback has no page, and its operator API accepts every Host', { tags: 'page/1' }, async () => {
  const public_ = await standaloneServer({ host: '0.0.0.0', operator: true })
  try {
    const headers = { Authorization: `Bearer ${public_.operatorKey}`, Host: 'shop.example' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const ask = (line: string) => rawResponse(public_.port, `${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
    expect(await ask('POST /_platform/v1/page-tickets')).toMatchObject({ status: 409, code: 'PAGE_OFF' })
    expect(await ask('GET /_platform/v1/reviews')).toMatchObject({ status: 200 })
    expect(await ask('GET /_platform/ui/')).toMatchObject({ status: 404 })
  } finally {
    await public_.close()
  }
})

test('server without the operator API has no page', { tags: 'page/1' }, async () => {
  const closed = await standaloneServer({ operator: false })
  try {
    const page = `GET /_platform/ui/ HTTP/1.1\r\nHost: 127.0.0.1:${closed.port}\r\n\r\n`
    expect(await rawResponse(closed.port, page)).toMatchObject({ status: 404 })
  } finally {
    await closed.close()
  }
})
