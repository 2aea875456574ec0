import http from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createClient, createHttpTransport } from '../../src/client/index.js'
import { createPoolTransport } from '../../src/client/pool.js'
import type { Transport } from '../../src/client/transport.js'
import { paths } from '../../src/secure/index.js'
import { type CliServer, cliServer } from '../support/cli/server.js'
import { type RecordingProxy, recordingProxy } from '../support/conform/recording-proxy.js'
import { listen } from '../support/listen.js'
import { secureFaults } from '../support/secure/faults.js'

let server: CliServer
let code: string
beforeAll(async () => {
  server = await cliServer()
  code = (await server.issue()).credential.value
})
afterAll(() => server.close())

const key = 'canary-key-1'
/** Values that must not appear in the network traffic: verbatim, in base64 and percent-encoded. */
const canaries = () =>
  [
    server.token,
    code,
    code.replaceAll('-', ''),
    key,
    'open-platform',
    '/redeem',
    'redeem_code',
    'Bearer ',
    'idempotency',
    'canary-till',
  ]
    .flatMap((it) => [it, Buffer.from(it).toString('base64').slice(1, -4), encodeURIComponent(it)])
    .filter((it) => it.length > 5)

function expectNothingReadable(proxy: RecordingProxy) {
  const sent = proxy.sent().toLowerCase()
  expect(canaries().filter((canary) => sent.includes(canary.toLowerCase()))).toEqual([])
  const known = [`GET ${paths.bootstrap}`, `POST ${paths.session}`, `POST ${paths.dispatch}`]
  expect(proxy.requests.filter((it) => !known.includes(it))).toEqual([])
}

function pooled(baseUrl: string): Transport {
  const pool = createPoolTransport(baseUrl)
  onTestFinished(() => pool.close())
  return pool.send
}

const transports = [
  ['http', createHttpTransport],
  ['pool', pooled],
] as const

const clientOf = (proxy: RecordingProxy, create: (baseUrl: string) => Transport) =>
  createClient({
    baseUrl: proxy.baseUrl,
    token: server.token,
    transport: create(proxy.baseUrl),
    retry: { tries: 1 },
    secure: { mode: 'required' },
  })

const redeem = (client: ReturnType<typeof clientOf>, timeoutMs = 60_000) =>
  client.vouchers.redeem(
    { credential: { type: 'redeem_code', value: code }, reference: 'canary-till' },
    { idempotencyKey: key, timeoutMs },
  )

test.each(transports)(
  'an encrypted request over the %s transport succeeds and sends no readable content',
  async (_, create) => {
    const proxy = await recordingProxy(server.baseUrl)
    expect(await redeem(clientOf(proxy, create))).toMatchObject({ ok: true, data: { reference: 'canary-till' } })
    expect(proxy.requests).toEqual([`GET ${paths.bootstrap}`, `POST ${paths.session}`, `POST ${paths.dispatch}`])
    expectNothingReadable(proxy)
  },
)

test('the search for readable content finds every value in an unencrypted request', async () => {
  const proxy = await recordingProxy(server.baseUrl)
  const client = createClient({ baseUrl: proxy.baseUrl, token: server.token })
  expect(await redeem(client)).toMatchObject({ ok: true })
  const sent = proxy.sent().toLowerCase()
  for (const it of [server.token, code, key, 'open-platform', '/redeem', 'redeem_code', 'Bearer ', 'canary-till']) {
    expect(sent).toContain(it.toLowerCase())
  }
})

/** Transports handle broken connections and redirects; the session handles the rest (secure/fail-closed.test.ts). */
const ofTransport = secureFaults.filter(({ how, name }) => typeof how === 'string' || name === 'redirects')
const cases = transports.flatMap(([name, create]) =>
  ofTransport.map((fault) => [name, fault.at.split('/').at(-1) ?? '', fault.name, create, fault] as const),
)
test.each(cases)(
  'the %s transport in mode required sends no readable content if the %s request %s',
  async (_n, _at, _f, create, fault) => {
    const proxy = await recordingProxy(server.baseUrl)
    proxy.meddle = (path) => (path === fault.at ? fault.how : 'pass')
    const client = clientOf(proxy, create)
    const timeoutMs = fault.how === 'hang' ? 300 : 60_000
    const failed = await redeem(client, timeoutMs)
    expect(failed).toMatchObject({ ok: false, code: fault.code })
    // A repeated request must also fail, and the client must recover once the fault is gone.
    expect((await redeem(client, timeoutMs)).ok).toBe(false)
    proxy.meddle = () => 'pass'
    expect(await redeem(client)).toMatchObject({ ok: true })
    expectNothingReadable(proxy)
  },
)

test('a client in mode required sends no request body to a server without encryption', async () => {
  const bodies: string[] = []
  const impostor = http.createServer((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString('latin1')))
    request.on('end', () => response.end('{"success":true,"data":{"id":"rdm_1"}}'))
  })
  const proxy = await recordingProxy(`http://127.0.0.1:${await listen(impostor)}`)
  expect(await redeem(clientOf(proxy, createHttpTransport))).toMatchObject({ code: 'SECURE_BOOTSTRAP_INVALID' })
  expect(bodies).toEqual([])
  expectNothingReadable(proxy)
})

test('a client with a wrong pin sends nothing after the bootstrap request', async () => {
  const proxy = await recordingProxy(server.baseUrl)
  const secure = { mode: 'required', pins: [`sha256:${'A'.repeat(43)}`] } as const
  const client = createClient({ baseUrl: proxy.baseUrl, token: server.token, secure })
  expect(await redeem(client)).toMatchObject({ ok: false, code: 'SECURE_PIN_MISMATCH', outcomeUnknown: false })
  expect(proxy.requests).toEqual([`GET ${paths.bootstrap}`])
  expectNothingReadable(proxy)
})
