import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isFailureCode } from '../../../src/contract/errors.js'
import { contract } from '../../../src/contract/index.js'
import { MEDIA_TYPE, paths } from '../../../src/secure/index.js'
import { anyCharacter } from '../../support/any-character.js'
import { type WireSession, wireSession } from '../../support/secure/wire.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import type { ApiResponse } from '../../support/server/client.js'
import { portOf, rawResponse } from '../../support/server/raw.js'

fc.configureGlobal({ seed: 1 })

const RUNS = 90

let server: TestApp
let port: number
let session: WireSession
beforeAll(async () => {
  server = testApp()
  port = await portOf(server.app)
  session = await wireSession(server.send)
})
afterAll(() => server.close())

/** Expects the status `taken` of a success, or a failure envelope with a declared code and no 5xx. */
function expectWell({ status, text, headers }: ApiResponse, taken: number): void {
  if (status === taken) return
  const { success, code, requestId } = JSON.parse(text) as Record<string, unknown>
  expect([success, isFailureCode(String(code)), requestId]).toEqual([false, true, headers['x-request-id']])
  expect(status).toBeLessThan(500)
}

const post = (path: string, type: string, body: Buffer, more = '') =>
  rawResponse(
    port,
    Buffer.concat([
      Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${more}`, 'latin1'),
      Buffer.from(`Content-Length: ${body.length}\r\n\r\n`),
      body,
    ]),
  )

const number = fc.constantFrom('1e400', '-0', '1.0', '01', '1e3', '9007199254740993', '-1', '0x1', '1759999995000')
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((it) => JSON.stringify(it)),
  number,
  fc.string({ unit: anyCharacter }).map((it) => JSON.stringify(it)),
  fc.constantFrom('"\\ud800"', '{"__proto__":{}}', '"a\\u0000b"', '', 'null', '[', '{', '"'),
)
/** Generates JSON objects whose members are duplicate, missing or unknown, in any order, with any value. */
const members = (names: readonly string[]) =>
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names, '__proto__', 'constructor'), fc.string()), odd), {
      maxLength: 10,
    })
    .map((pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`)
const nested = fc.integer({ min: 1, max: 70_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth))
const noise = fc.uint8Array({ maxLength: 200 }).map((it) => Buffer.from(it).toString('latin1'))
const spoilBytes = (text: string) =>
  fc.tuple(fc.nat(text.length - 1), fc.nat(255)).map(([at, byte]) => {
    const bytes = Buffer.from(text)
    bytes[at] = byte
    return bytes.toString('latin1')
  })

it('secure session endpoint refuses any malformed body with a failure envelope', async () => {
  const names = ['clientPublicKey', 'publicKey', 'kid', 'v', 'suite']
  const body = fc.oneof(members(names), nested, noise, odd)
  const type = fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain', MEDIA_TYPE, '')
  await fc.assert(
    fc.asyncProperty(type, body, async (contentType, text) => {
      expectWell(await post(paths.session, contentType, Buffer.from(text, 'latin1')), 200)
    }),
    { numRuns: RUNS },
  )
})

it('dispatch endpoint refuses any altered envelope with a failure envelope', async () => {
  const { body } = session.seal({ method: 'GET', path: contract.templates.list.path })
  const names = ['v', 'suite', 'kid', 'sid', 'rid', 'ts', 'iv', 'ciphertext']
  const doubled = fc.constantFrom(...names).map((name) => `{"${name}":1,${body.slice(1)}`)
  const replaced = fc.tuple(fc.constantFrom(...names), odd).map(([name, value]) => {
    const { [name]: _, ...rest } = JSON.parse(body) as Record<string, unknown>
    return `${JSON.stringify(rest).slice(0, -1)},"${name}":${value}}`
  })
  const input = fc.oneof(members(names), nested, noise, odd, doubled, replaced, spoilBytes(body))
  await fc.assert(
    fc.asyncProperty(input, async (text) => {
      expectWell(await post(paths.dispatch, MEDIA_TYPE, Buffer.from(text, 'latin1')), 200)
    }),
    { numRuns: RUNS },
  )
})

it('dispatch endpoint refuses any malformed inner request with a failure envelope', async () => {
  const names = ['method', 'path', 'query', 'headers', 'body']
  const inner = fc.record(
    {
      method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
      path: fc.oneof(
        fc.constantFrom(contract.vouchers.issue.path, contract.templates.list.path, '/api/v1/bots/getUpdates'),
        fc.string({ unit: fc.constantFrom('a', '.', '~', '-', '/') }).map((it) => `/api/v1/${it}`),
      ),
      query: fc.dictionary(
        fc.string({ unit: anyCharacter }),
        fc.oneof(fc.string(), fc.double(), fc.array(fc.boolean())),
      ),
      headers: fc.dictionary(
        fc.constantFrom('authorization', 'content-type', 'idempotency-key', 'accept', 'content-length', 'x-other'),
        fc.oneof(fc.string(), fc.constantFrom('application/json', 'Bearer sop_x', 'é', '0')),
      ),
      body: fc.jsonValue({ maxDepth: 20 }),
    },
    { requiredKeys: ['method', 'path'] },
  )
  const plaintext = fc.oneof(
    inner.map((it) => JSON.stringify(it)),
    members(names),
    nested.map((it) => it.slice(0, 60_000)),
    noise,
  )
  await fc.assert(
    fc.asyncProperty(plaintext, async (text) => {
      const bytes = Buffer.from(text, 'latin1')
      const fresh = await wireSession(server.send)
      const sent = fresh.seal(bytes.length < 2 ? Buffer.from('{}') : bytes)
      const response = await post(sent.path, MEDIA_TYPE, Buffer.from(sent.body))
      expect(response.status).toBe(200)
      const opened = fresh.open(sent, response)
      // No inner call can succeed, because none has a valid credential.
      expectWell(opened, 0)
    }),
    { numRuns: RUNS / 3 },
  )
})

it('secure endpoints respond to any malformed headers with a failure envelope', async () => {
  const { body } = session.seal({ method: 'GET', path: contract.templates.list.path })
  const header = fc.constantFrom(
    'Content-Encoding: br',
    'Content-Type: application/vnd.platform.secure+json; charset=x',
    'Content-Type: ,',
    'Origin: https://a.example',
    'Origin:',
    `Origin: ${'x'.repeat(5_000)}`,
    'Origin: \u00ff',
    'Transfer-Encoding: gzip, chunked',
    'Expect: 100-continue',
    'Expect: something',
    'Connection: Upgrade\r\nUpgrade: platform-secure/1',
    'Authorization: Bearer sop_x',
    `X-Long: ${'y'.repeat(20_000)}`,
    'Content-Length: 3',
    'Cookie: a=b',
  )
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'PATCH')
  const target = fc
    .tuple(
      fc.constantFrom(paths.bootstrap, paths.session, paths.dispatch),
      fc.constantFrom('', '/', '?a=1&a=2', '?%ff', '#x', '%2e', '/../session', '//'),
    )
    .map(([path, more]) => path + more)
  await fc.assert(
    fc.asyncProperty(method, target, fc.array(header, { maxLength: 3 }), async (verb, path, headers) => {
      const lines = headers.map((it) => `${it}\r\n`).join('')
      const text = `${verb} ${path} HTTP/1.1\r\nHost: x\r\n${lines}Content-Type: ${MEDIA_TYPE}\r\nContent-Length: ${body.length}\r\n\r\n`
      const response = await rawResponse(port, text + body)
      if (response.status !== 100) expectWell(response, 200)
    }),
    { numRuns: RUNS },
  )
})

it('server logs no error during the fuzz tests and still responds afterwards', async () => {
  expect(server.errors).toEqual([])
  const { call } = await wireSession(server.send)
  expect((await call({ method: 'GET', path: contract.templates.list.path })).code).toBe('TOKEN_MISSING')
})
