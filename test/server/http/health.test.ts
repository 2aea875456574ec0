import inject from 'light-my-request'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildApp } from '../../../src/server/app.js'
import { createMetrics } from '../../../src/server/observe/metrics.js'
import { operatorKey, testDeps } from '../../support/server/app.js'
import { bearerLine, rawResponse } from '../../support/server/raw.js'
import { type LiveServer, liveServer, standaloneServer } from '../../support/server/server.js'

let server: LiveServer
beforeAll(async () => {
  server = await liveServer()
})
afterAll(() => server.close())

/** Sends lines in which PORT stands for the port of the server; returns the status, and the code of a refusal. */
async function ask({ port }: Pick<LiveServer, 'port'>, ...lines: readonly string[]): Promise<unknown[]> {
  const response = await rawResponse(port, `${lines.join('\r\n').replaceAll('PORT', String(port))}\r\n\r\n`)
  return [response.status, response.status === 200 ? null : response.code]
}
const get = 'GET /metrics HTTP/1.1'
const ownHost = 'Host: 127.0.0.1:PORT'
const foreignHost = [403, 'HOST_NOT_ALLOWED']
const open = [200, null]
const unknown = [404, 'ROUTE_NOT_FOUND']
const key = ({ operatorKey: value }: Pick<LiveServer, 'operatorKey'>) => bearerLine(value).trim()

const forwarding = [
  'Forwarded: for=192.0.2.1',
  'X-Forwarded-For: 192.0.2.1',
  'x-FORWARDED-for:',
  'X-Forwarded-Host: shop.example',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Port: 443',
  'X-Forwarded: for=192.0.2.1',
  'X-Real-IP: 192.0.2.1',
]

test.each(['127.0.0.1:PORT', 'localhost:PORT', 'LocalHost:PORT', '[::1]:PORT'])(
  '/metrics responds to a client on this machine that asks for the Host %s',
  async (host) => {
    expect(await ask(server, get, `Host: ${host}`)).toEqual(open)
  },
)

test.each([
  'evil.example',
  'evil.example:PORT',
  '127.0.0.1.nip.io:PORT',
  '127.0.0.1',
  '127.0.0.1:1',
  '127.0.0.1:PORT.',
  'localhost:PORT.',
  'localhost.:PORT',
  'LOCALHOST.EVIL.EXAMPLE:PORT',
  '127.0.0.2:PORT',
  '127.1:PORT',
  '[::]:PORT',
  '[::2]:PORT',
  '[0:0:0:0:0:0:0:1]:PORT',
  '[::ffff:127.0.0.1]:PORT',
  '::1:PORT',
  'user@127.0.0.1:PORT',
  '',
])('/metrics refuses the Host %j, also with the operator key', { tags: 'health-routes/2' }, async (host) => {
  for (const more of [[], [key(server)]]) {
    expect(await ask(server, get, `Host: ${host}`, ...more)).toEqual(foreignHost)
  }
})

test.each([
  ['a missing Host in HTTP/1.0', ['GET /metrics HTTP/1.0']],
  ['a second Host', [get, ownHost, 'Host: evil.example']],
  ['its own Host twice', [get, ownHost, ownHost]],
  ['an absolute target of another host', ['GET http://evil.example/metrics HTTP/1.1', ownHost]],
  ['an absolute target of its own', ['GET http://127.0.0.1:PORT/metrics HTTP/1.1', ownHost]],
  ['another Host on an escaped path', ['GET /%6Detrics HTTP/1.1', 'Host: evil.example']],
])('/metrics refuses %s', async (_name, lines) => {
  expect(await ask(server, ...lines)).toEqual(foreignHost)
})

test.each(forwarding)('/metrics needs the operator key with header %s', { tags: 'health-routes/2' }, async (header) => {
  expect(await ask(server, get, ownHost, header)).toEqual(unknown)
  expect(await ask(server, get, ownHost, header, `Authorization: Bearer opk_${'0'.repeat(36)}`)).toEqual(unknown)
  expect(await ask(server, get, ownHost, header, key(server))).toEqual(open)
  expect(await ask(server, get, 'Host: shop.example', header)).toEqual(unknown)
})

test('server without the operator API refuses another Host on /metrics, and every proxy', async () => {
  const closed = await standaloneServer({ operator: false })
  onTestFinished(() => closed.close())
  expect(await ask(closed, get, ownHost)).toEqual(open)
  expect(await ask(closed, get, 'Host: evil.example:PORT')).toEqual(foreignHost)
  for (const header of forwarding) expect(await ask(closed, get, ownHost, header)).toEqual(unknown)
})

test('/metrics beyond loopback responds to a foreign Host only with the key', { tags: 'health-routes/2' }, async () => {
  const beyond = await standaloneServer({ host: '0.0.0.0', operator: true })
  onTestFinished(() => beyond.close())
  expect(await ask(beyond, get, ownHost)).toEqual(open)
  expect(await ask(beyond, get, 'Host: shop.example')).toEqual(foreignHost)
  expect(await ask(beyond, get, 'Host: shop.example', 'X-Real-IP: 192.0.2.1')).toEqual(unknown)
  expect(await ask(beyond, get, 'Host: shop.example', 'X-Real-IP: 192.0.2.1', key(beyond))).toEqual(open)
})

test.each(['/healthz', '/readyz'])('%s responds under every Host', { tags: 'health-routes/1' }, async (path) => {
  for (const lines of [['Host: shop.example'], [ownHost, ...forwarding]]) {
    expect(await ask(server, `GET ${path} HTTP/1.1`, ...lines)).toEqual(open)
  }
})

test('/metrics has the same text for a second, also for a refused client and the operator', async () => {
  let now = 0
  const deps = testDeps()
  const metrics = createMetrics(deps, () => now)
  const app = buildApp(deps, metrics, { onRequestDone: () => {}, onError: () => {} })
  onTestFinished(() => app.close())
  onTestFinished(() => deps.store.close())
  const read = async (headers: Readonly<Record<string, string>> = {}) =>
    (await inject(app.respond, { method: 'GET', url: '/metrics', headers })).body
  const byKey = { authorization: `Bearer ${operatorKey}`, 'x-real-ip': '192.0.2.1' }
  const first = await read()
  now = 999
  await read({ 'x-real-ip': '192.0.2.1' })
  expect([await read(), await read(byKey)]).toEqual([first, first])
  now = 1_000
  expect(await read(byKey)).not.toBe(first)
})
