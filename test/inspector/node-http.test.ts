import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import http from 'node:http'
import { expect, test } from 'vitest'
import { Inspector } from '../../src/inspector/inspector.js'
import { servePage } from '../../src/inspector/node-http.js'
import { listen } from '../support/listen.js'
import { seededRandom } from '../support/server/app.js'

/** A server with a page, whose own responses are the text `own`. */
async function pageServer() {
  const features = { source: 'listener', test_clock: false, views: ['deliveries'], started_at: '' } as const
  const inspector = new Inspector({
    random: seededRandom('node'),
    now: () => 1_000,
    sessions: { key: 'key' },
    features,
  })
  const server = http.createServer((request, response) => {
    servePage(inspector, request, response).then(
      (isServed) => isServed || response.end('own'),
      (error) => response.destroy(error),
    )
  })
  const origin = `http://127.0.0.1:${await listen(server)}`
  inspector.listen(origin)
  const fromPage = { origin, 'sec-fetch-site': 'same-origin' }
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${origin}${path}`, { ...init, headers: { ...fromPage, ...init.headers } })
  const exchange = (body: string, type = 'application/json') =>
    send('/_platform/ui/session', { method: 'POST', body, headers: { 'content-type': type } })
  const ticket = () => inspector.newLink().url.split('#ticket=')[1]
  /** Headers with the token of a new session. */
  const session = async () => {
    const response = await exchange(JSON.stringify({ ticket: ticket() }))
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []])
    const { token } = (await response.json()) as { token: string }
    return { 'page-token': token }
  }
  const prove = async (body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await send('/_platform/ui/proof', { method: 'POST', body: JSON.stringify(body), headers })
    return [response.status, await response.json()]
  }
  return { inspector, origin, send, exchange, session, prove }
}

test('plain server serves the page, its session and the routes for sessions', async () => {
  const { origin, send, session } = await pageServer()
  const page = await send('/_platform/ui/deliveries/1-17')
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")

  expect((await send('/_platform/v1/activity')).status).toBe(401)
  const headers = await session()
  const features = await send('/_platform/ui/features', { headers })
  expect(await features.json()).toMatchObject({ source: 'listener', base_url: origin, views: ['deliveries'] })
  expect(await (await send('/_platform/v1/activity', { headers })).text()).toBe('own')
})

const nonce = '0f'.repeat(32)
const hashOf = (it: { readonly 'page-token': string }) => createHash('sha256').update(it['page-token']).digest('hex')

test('plain server proves a session to a page that knows its hash, and nothing to others', async () => {
  const { send, session, prove } = await pageServer()
  const hash = hashOf(await session())
  expect(await prove({ session: hash, nonce })).toEqual([
    200,
    { proof: expect.stringMatching(/^[\da-f]{64}$/), build: expect.stringMatching(/^[\da-f]{16}$/) },
  ])
  for (const body of [{}, { session: hash }, { session: hash, nonce: 'short' }, { session: nonce, nonce }])
    expect(await prove(body)).toMatchObject([401, { code: 'PAGE_SESSION_REQUIRED' }])
  const form = await send('/_platform/ui/proof', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'text/plain' },
  })
  expect(form.status).toBe(415)
})

test('server that stops proves no session: another program may take its port', { tags: 'page/6' }, async () => {
  const { inspector, session, prove } = await pageServer()
  const headers = await session()
  inspector.close()
  expect(await prove({ session: hashOf(headers), nonce })).toMatchObject([503, { code: 'SERVICE_UNAVAILABLE' }])
  expect(await prove({ session: nonce, nonce })).toMatchObject([401, { code: 'PAGE_SESSION_REQUIRED' }])
})

test('plain server handles no request outside /_platform, also with a session', async () => {
  const { send, session } = await pageServer()
  const headers = await session()
  expect((await send('/hook')).status).toBe(404)
  expect((await send('//host/_platform/v1/activity', { headers })).status).toBe(404)
})

test.each([
  ['a ticket of no link', '{"ticket":"x"}', 'application/json', 401, 'PAGE_SESSION_REQUIRED'],
  ['a malformed body', '{', 'application/json', 400, 'INVALID_JSON'],
  ['a body over 1 KiB', JSON.stringify({ ticket: 'x'.repeat(2_000) }), 'application/json', 400, 'INVALID_JSON'],
  ['a type that other sites can send', '{}', 'text/plain', 415, 'UNSUPPORTED_MEDIA_TYPE'],
])('plain server refuses an exchange with %s', async (_name, body, type, status, code) => {
  const { exchange } = await pageServer()
  const refused = await exchange(body, type)
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([status, code])
})

test('plain server refuses other sites and methods, and files that the page lacks', async () => {
  const { send } = await pageServer()
  expect((await send('/_platform/ui/', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
  expect((await send('/_platform/ui/', { method: 'DELETE' })).status).toBe(405)
  expect((await send('/_platform/ui/other.js')).status).toBe(404)
  const head = await send('/_platform/ui/', { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('command that starts a server again names port 80, which URLs leave out', async () => {
  const inspector = new Inspector({
    random: seededRandom('port'),
    now: () => 1_000,
    sessions: { key: 'key' },
    features: { source: 'server', test_clock: false, views: [], started_at: '' },
    startCommand: (port) => `start --port=${port}`,
  })
  inspector.listen('http://127.0.0.1:80')
  const bodyOf = (response: object) => JSON.parse(String((response as { body: unknown }).body))
  const { token } = bodyOf(inspector.startSession({ ticket: inspector.newLink().url.split('#ticket=')[1] }))
  const socket = Object.assign(new EventEmitter(), { destroyed: false, readableEnded: false })
  const features = await inspector.get({
    url: '/_platform/ui/features',
    rawHeaders: ['Page-Token', token],
    socket,
  })
  expect(bodyOf(features)).toMatchObject({ start_command: 'start --port=80' })
})
