import { afterAll, beforeAll, expect, test } from 'vitest'
import { rawResponse } from '../support/server/raw.js'
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

async function newCookie(): Promise<string> {
  const { headers } = await exchange(await newTicket())
  return String(headers['set-cookie']).split(';', 1)[0] as string
}

test('page is served for every path without an extension, with headers that limit what it loads', async () => {
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

test('ticket of a link gives once the cookie of this port, with which the page is the operator', async () => {
  const ticket = await newTicket()
  const { status, headers, text } = await exchange(ticket)
  expect([status, text]).toEqual([204, ''])
  const attributes = String(headers['set-cookie']).split('; ')
  expect(attributes[0]).toMatch(new RegExp(`^voucherctl_page_${server.port}=[\\w-]{43}$`))
  expect(attributes.slice(1)).toEqual(['Path=/_platform', 'HttpOnly', 'SameSite=Strict'])
  expect(await exchange(ticket)).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })

  const cookie = attributes[0] as string
  const reviews = await send('GET', '/_platform/v1/reviews', { cookie, 'sec-fetch-site': 'same-origin' })
  expect(reviews).toMatchObject({ status: 200, body: { data: { items: [] } } })
  const advanced = await send(
    'POST',
    '/_platform/v1/clock/advance',
    { cookie, ...fromPage(), ...json },
    '{"seconds":1}',
  )
  expect(advanced.status).toBe(200)
})

test('link names the address of the server, and keeps its secret in the fragment', async () => {
  const { body } = await send('POST', '/_platform/v1/page-tickets', bearer())
  const { origin, pathname, search, hash } = new URL(body.data.url)
  expect([origin, pathname, search]).toEqual([server.baseUrl, '/_platform/ui/', ''])
  expect(hash).toMatch(/^#ticket=[\w-]{43}$/)
  expect(Date.parse(body.data.expires_at)).not.toBeNaN()
})

test('features tell a page with a session what it can show', async () => {
  const headers = { cookie: await newCookie(), 'sec-fetch-site': 'same-origin' }
  const { status, body } = await send('GET', '/_platform/ui/features', headers)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    source: 'server',
    base_url: server.baseUrl,
    test_clock: true,
    views: ['requests', 'vouchers', 'deliveries', 'faults', 'reviews', 'templates', 'clock'],
  })
  expect(body.version).toMatch(/^\d+\.\d+\.\d+/)
  const without = await send('GET', '/_platform/ui/features', { 'sec-fetch-site': 'same-origin' })
  expect(without).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })
})

test('session of a page creates no further link', async () => {
  const cookie = await newCookie()
  const response = await send('POST', '/_platform/v1/page-tickets', { cookie, ...fromPage() })
  expect(response).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
})

test('session of a page is no credential outside the operator API', async () => {
  const cookie = await newCookie()
  const response = await send('GET', '/api/v1/open-platform/applications', { cookie, 'sec-fetch-site': 'same-origin' })
  expect(response.body.code).toBe('TOKEN_MISSING')
})

test('session of another process is refused, beside it the own one is found', async () => {
  const cookie = await newCookie()
  const foreign = `voucherctl_page_${server.port}=${'A'.repeat(43)}`
  const read = (value: string) =>
    send('GET', '/_platform/v1/reviews', { cookie: value, 'sec-fetch-site': 'same-origin' })
  expect(await read(foreign)).toMatchObject({ status: 401, body: { code: 'PAGE_SESSION_REQUIRED' } })
  expect(await read(`${foreign}; other=1; ${cookie}`)).toMatchObject({ status: 200 })
  expect(await read(cookie.replace(/_\d+=/, '_1='))).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
})

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

test('preflight of another site gets 403 and no header of CORS', async () => {
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
])('path %s refuses another Host even with the operator key', async (target) => {
  const response = await send('GET', target, { ...bearer(), host: 'evil.example' })
  expect(response).toMatchObject({ status: 403, body: { code: 'HOST_NOT_ALLOWED' } })
  expect(response.body.details.allowed).toContain(`localhost:${server.port}`)
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

test('server beyond loopback has no page, and its operator API accepts every Host', async () => {
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

test('server without the operator API has no page', async () => {
  const closed = await standaloneServer({ operator: false })
  try {
    const page = `GET /_platform/ui/ HTTP/1.1\r\nHost: 127.0.0.1:${closed.port}\r\n\r\n`
    expect(await rawResponse(closed.port, page)).toMatchObject({ status: 404 })
  } finally {
    await closed.close()
  }
})
