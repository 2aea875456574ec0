import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Endpoint, membersOf } from '../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../src/contract/index.js'
import type { Store } from '../../../src/store/store.js'
import { allowedBy, refusedBy } from '../../support/from-schema.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import type { ApiResponse } from '../../support/server/client.js'
import { Scene } from '../../support/server/scene.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'

/** `VOUCHERCTL_REQUESTS` sets the number of bodies of each kind per endpoint, `VOUCHERCTL_SEED` repeats them. */
const numRuns = Number(process.env.VOUCHERCTL_REQUESTS ?? 15)
const seed = Number(process.env.VOUCHERCTL_SEED ?? 1)

// A run takes a few milliseconds; the rest is reserve for a busy machine.
vi.setConfig({ testTimeout: 240_000 + 500 * numRuns })

/** Members that the schema describes only in part. Generated bodies keep the values that the sample has for them. */
const kept: Readonly<Record<string, readonly string[]>> = {
  'vouchers.verify': ['credential'],
  'vouchers.redeem': ['credential'],
  'platform.findVoucher': ['credential'],
  'platform.callAsApp': ['endpoint', 'input', 'voucher_id'],
  'platform.callAsBot': ['endpoint', 'input'],
  'platform.callAsAccount': ['endpoint', 'input'],
  // A seed has its own schema; test/server/seed has a case for each rule.
  'platform.seedStore': ['seed'],
  // The schema cannot exclude a window that ends before it begins.
  'templates.create': ['validity'],
  'bots.createTemplate': ['validity'],
  'webhook.set': ['url', 'allowed_ips'],
  'webhook.setByBot': ['url', 'allowed_ips'],
  // A poll with a random timeout would wait that long.
  'bots.updates': ['timeout'],
  'apps.create': ['allowed_origins'],
  'apps.update': ['allowed_origins'],
  'platform.addUpdate': ['payload', 'type'],
  // Each kind has its own members; test/testing/faults.test.ts has a case for each.
  'platform.addFault': Object.keys(membersOf(contract.platform.addFault.body)),
  // The test clock refuses to move backwards.
  'platform.setClock': ['now'],
}

let store: Store
beforeAll(() => {
  store = openTestStore()
})
afterAll(() => store.close())

let server: TestApp
beforeEach(() => {
  server = testApp({ store })
})
afterEach(() => server.close())

type Members = Readonly<Record<string, unknown>>

const withBody = endpoints.filter(({ body }) => Object.keys(membersOf(body)).length > 0)

async function soundBody(scene: Scene): Promise<Members> {
  const { body } = await scene.request()
  return body === undefined ? {} : (JSON.parse(String(body)) as Members)
}

async function send(scene: Scene, body: Members): Promise<ApiResponse> {
  const response = await scene.send({ body: JSON.stringify(body) })
  // A generated call may have set faults, which would affect the next call.
  server.deps.faults.clear()
  expect(response.status).toBeLessThan(500)
  expect(JSON.parse(response.text)).toMatchObject({
    success: response.status < 400,
    requestId: response.headers['x-request-id'],
  })
  return response
}

describe.each(withBody.map((it): [string, Endpoint] => [it.id, it]))('%s', (id, endpoint) => {
  const members = membersOf(endpoint.body)
  const free = Object.keys(members).filter((name) => !kept[id]?.includes(name))
  const required = (endpoint.body as { required?: readonly string[] }).required ?? []

  it('endpoint accepts every body that its schema allows', async () => {
    const scene = await Scene.of(server, endpoint)
    const sound = await soundBody(scene)
    const body = fc.record(Object.fromEntries(free.map((name) => [name, allowedBy(members[name] ?? {})])), {
      requiredKeys: [],
      noNullPrototype: true,
    })
    await fc.assert(
      fc.asyncProperty(body, async (drawn) => {
        const response = await send(scene, { ...sound, ...drawn })
        expect([response.code, response.details]).not.toEqual(['VALIDATION_FAILED', expect.anything()])
      }),
      { numRuns, seed },
    )
  })

  // A refused body reaches no store.
  if (onPostgres) return
  it('endpoint refuses a body with one invalid member and names the member', async () => {
    const scene = await Scene.of(server, endpoint)
    const sound = await soundBody(scene)
    const wrong = fc
      .constantFrom(...Object.keys(members))
      .chain((name) =>
        fc
          .tuple(fc.constant(name), refusedBy(members[name] ?? {}))
          .map(([it, value]): [string, Members] => [it, { [it]: value }]),
      )
    const extra = fc.constantFrom('unknown', 'toString', '').map((it): [string, Members] => [it, { [it]: 1 }])
    const missing = required.map((it): fc.Arbitrary<[string, Members]> => fc.constant([it, { [it]: undefined }]))
    await fc.assert(
      fc.asyncProperty(fc.oneof(wrong, extra, ...missing), async ([name, spoiled]) => {
        const response = await send(scene, { ...sound, ...spoiled })
        expect([response.status, response.code]).toEqual([400, 'VALIDATION_FAILED'])
        const pointers = (response.details.errors as { pointer: string }[]).map(({ pointer }) => pointer)
        expect(
          pointers.some((it) => it === `/${name}` || it.startsWith(`/${name}/`)),
          `${name}: ${pointers}`,
        ).toBe(true)
      }),
      { numRuns: 2 * numRuns, seed },
    )
    expect(server.errors).toEqual([])
  })
})
