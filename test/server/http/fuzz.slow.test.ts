import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Endpoint, membersOf } from '../../../src/contract/endpoint.js'
import { failures, isFailureCode } from '../../../src/contract/errors.js'
import { endpoints } from '../../../src/contract/index.js'
import { anyCharacter } from '../../support/any-character.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { Scene, samples } from '../../support/server/scene.js'

fc.configureGlobal({ seed: 1 })

/** Random bodies per endpoint. Over all endpoints they try every kind of value within a few seconds. */
const RUNS = 20

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const oddText = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '',
    '\u0000',
    '\ud800',
    '🎟',
    'x'.repeat(300),
    '__proto__',
    'constructor',
    '1',
    'true',
    'null',
    '2027-01-01T00:00:00Z',
  ),
)
const oddNumber = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 0.5, 1e21, 1e308, -1e308, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 5e-324),
)
const anything: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  oddNumber,
  fc.constantFrom(null, true, false, [], {}),
  fc.array(oddText, { maxLength: 3 }),
  fc.dictionary(oddText, fc.oneof(oddText, oddNumber), { maxKeys: 4 }),
  fc.jsonValue({ maxDepth: 4 }),
)

/** The sample body of an endpoint with some members replaced, removed or added. */
function spoiled(endpoint: Endpoint): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(membersOf(endpoint.body))
  const name = fc.oneof(fc.constantFrom(...names, 'unknown'), oddText)
  return fc.dictionary(name, anything, { maxKeys: 3, noNullPrototype: true })
}

const withBody = endpoints.filter((it) => it.body !== undefined)

describe.each(withBody.map((it) => [it.id, it] as const))('%s', (_id, endpoint) => {
  it('endpoint responds to any JSON body with a success or a declared failure, never a 5xx', async () => {
    const scene = await Scene.of(server, endpoint)
    const { body, path } = await scene.request()
    const sound = body === undefined ? {} : (JSON.parse(String(body)) as Record<string, unknown>)
    const text = fc.oneof(
      spoiled(endpoint).map((members) => JSON.stringify({ ...sound, ...members })),
      anything.map((value) => JSON.stringify(value)),
      fc.tuple(fc.nat(200), oddText).map(([at, cut]) => JSON.stringify(sound).slice(0, at) + cut),
    )
    await fc.assert(
      fc.asyncProperty(text, async (sent) => {
        const response = await scene.send({ body: sent })
        const { envelope } = response
        expect(path).toBeTypeOf('string')
        if (envelope.success) {
          expect([200, 201]).toContain(response.status)
          return
        }
        if (!isFailureCode(envelope.code)) throw new Error(response.text)
        expect(response.status).toBe(failures[envelope.code].status)
        expect(response.status).toBeLessThan(500)
      }),
      { numRuns: RUNS },
    )
    expect(server.errors).toEqual([])
  })
})

it('list endpoint responds to any query with 200 or 400', async () => {
  const scene = await Scene.of(server, endpoints.find((it) => it.id === 'templates.list') as Endpoint)
  const name = fc.oneof(fc.constantFrom('page', 'limit', 'status', 'external_template_id'), oddText)
  const query = fc.array(fc.tuple(name, oddText), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(query, async (members) => {
      const text = members.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&')
      const response = await scene.send({ query: text })
      expect([200, 400]).toContain(response.status)
    }),
    { numRuns: 300 },
  )
})

it('endpoint refuses any text as an id in its path like an unknown id', { tags: 'order-of-checks/4' }, async () => {
  const scene = await Scene.of(server, endpoints.find((it) => it.id === 'vouchers.redemption') as Endpoint)
  const absent = await scene.send({ input: { redemptionId: 'rdm_0' } })
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, unit: anyCharacter }), async (id) => {
      if (wellFormed(id) !== id || ['.', '..'].includes(id)) return
      const response = await scene.send({ input: { redemptionId: id } })
      expect([response.status, response.sameness]).toEqual([404, absent.sameness])
    }),
    { numRuns: 200 },
  )
})

it('endpoint responds to any text as Authorization header with 401', async () => {
  const scene = await Scene.of(server, endpoints.find((it) => it.id === 'templates.list') as Endpoint)
  const visible = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) })
  const value = fc.oneof(
    visible,
    visible.map((it) => `Bearer ${it}`),
    visible.map((it) => `Bearer sop_${it}`),
    visible.map((it) => `Bearer e.${it}.s`),
  )
  await fc.assert(
    fc.asyncProperty(value, async (authorization) => {
      const response = await scene.send({ credential: null, headers: { authorization } })
      expect(response.status).toBe(401)
    }),
    { numRuns: 200 },
  )
})

/** Replaces lone surrogates, which UTF-8 cannot represent. */
const wellFormed = (text: string): string => Buffer.from(text, 'utf8').toString('utf8')
const encode = (text: string): string => encodeURIComponent(wellFormed(text))

it('every endpoint with a body has a sample body', () => expect(withBody.every((it) => it.id in samples)).toBe(true))
