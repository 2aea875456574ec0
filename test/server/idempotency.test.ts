import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import { createLimits } from '../../src/server/limits.js'
import { sharedApp, testApp } from '../support/server/app.js'
import { Scene } from '../support/server/scene.js'
import { codeOf, newTenant } from '../support/server/tenant.js'
import { holdWrites } from '../support/store/held-writes.js'

const DAY_MS = 86_400_000

const server = sharedApp()

const keyed: [string, Endpoint][] = [contract.vouchers.issue, contract.vouchers.redeem, contract.vouchers.reverse].map(
  (it) => [it.id, it],
)

describe.each(keyed)('%s', (_id, endpoint) => {
  it('request refused with 429 does not consume its Idempotency-Key', { tags: 'idempotency-keys/4' }, async () => {
    const scene = await Scene.of(server, endpoint)
    const to = scene.twin({ limits: createLimits({ [endpoint.limit as 'issue']: { calls: 1, seconds: 60 } }, () => 0) })
    await scene.send({ key: null, to })
    expect((await scene.send({ key: 'K', to })).status).toBe(429)
    const after = await scene.send({ key: 'K' })
    expect([after.status, after.headers['idempotent-replayed']]).toEqual([endpoint.status, undefined])
    await scene.close()
  })

  it('request that ends with 503 does not consume its Idempotency-Key', async () => {
    const scene = await Scene.of(server, endpoint)
    await scene.request()
    const { operator } = scene.tenant
    await operator(contract.platform.addFault, { endpoint: endpoint.id, kind: 'error', times: 1 })
    expect(await scene.send({ key: 'K' })).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    const after = await scene.send({ key: 'K' })
    expect([after.status, after.headers['idempotent-replayed']]).toEqual([endpoint.status, undefined])
  })
})

describe('lifetime of idempotency records', { tags: 'idempotency-keys/5' }, () => {
  it('record of an issue expires after 30 days, of a redemption never', { tags: 'idempotency-keys/1' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.template({ validity: { type: 'relative', duration_days: 300 } })
    const input = { template_id: id, external_issue_id: 'order', recipient_user_id: 'user-1' }
    const credential = codeOf(await tenant.issue())
    const redeem = () => tenant.runtime(contract.vouchers.redeem, { credential }, { key: 'R' })
    const redeemed = await redeem()
    await tenant.runtime(contract.vouchers.issue, input, { key: 'K' })
    const other = { ...input, external_issue_id: 'other' }
    own.clock.advance(30 * DAY_MS - 1)
    expect((await tenant.runtime(contract.vouchers.issue, input, { key: 'K' })).status).toBe(201)
    expect((await tenant.runtime(contract.vouchers.issue, other, { key: 'K' })).code).toBe('IDEMPOTENCY_KEY_REUSED')
    own.clock.advance(1)
    // The idempotency record has expired: the repeat finds the voucher by its external_issue_id instead.
    expect((await tenant.runtime(contract.vouchers.issue, input, { key: 'L' })).status).toBe(200)
    expect((await redeem()).data).toEqual(redeemed.data)
    expect((await tenant.runtime(contract.vouchers.issue, other, { key: 'K' })).status).toBe(201)
    await own.close()
  })
})

describe('external_issue_id of an issue', () => {
  const issueOf = async (limit: number) => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.template({ issue_limit: limit, validity: { type: 'relative', duration_days: 10 } })
    const input = { template_id: id, external_issue_id: 'order', recipient_user_id: 'user-1' }
    const first = await tenant.runtime(contract.vouchers.issue, input)
    return { own, tenant, input, first }
  }

  it('replay of a call that repeated an external_issue_id keeps the status 200', { tags: 'envelope/5' }, async () => {
    const { own, tenant, input } = await issueOf(5)
    const under = (key: string) => tenant.runtime(contract.vouchers.issue, input, { key })
    expect([(await under('K')).status, (await under('K')).status]).toEqual([200, 200])
    await own.close()
  })
})

describe('concurrent calls with idempotency keys', () => {
  it('calls of two applications under one key both take effect', { tags: 'idempotency-keys/3' }, async () => {
    const [one, other] = [
      await Scene.of(server, contract.vouchers.issue),
      await Scene.of(server, contract.vouchers.issue),
    ]
    await Promise.all([one.request(), other.request()])
    const responses = await Promise.all([one.send({ key: 'K' }), other.send({ key: 'K' })])
    expect(responses.map((it) => [it.status, it.headers['idempotent-replayed']])).toEqual([
      [201, undefined],
      [201, undefined],
    ])
  })

  it('key in use is 409 for a different request', { tags: ['idempotency-keys/1', 'idempotency-keys/4'] }, async () => {
    const scene = await Scene.of(server, contract.vouchers.redeem)
    const { store, arrived, release } = holdWrites(server.deps.store)
    const to = scene.twin({ store })
    await scene.request()
    const first = scene.send({ key: 'K', to })
    await arrived
    const other = await scene.send({ key: 'K', to, input: { reference: 'other' } })
    expect(other).toMatchObject({ status: 409, code: 'IDEMPOTENCY_KEY_REUSED' })
    const otherTenant = await newTenant(server)
    const voucher = await otherTenant.issue()
    const free = otherTenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'K' })
    expect((await free).status).toBe(200)
    release()
    expect((await first).status).toBe(200)
    await scene.close()
  })

  it('call that waits for another with the same Idempotency-Key runs if the other is refused', async () => {
    const scene = await Scene.of(server, contract.vouchers.issue)
    const request = await scene.request({ key: 'K', input: { template_id: 'tpl_0' } })
    const responses = await Promise.all(Array.from({ length: 5 }, () => server.send(request)))
    expect(responses.map((it) => it.code)).toEqual(Array(5).fill('TEMPLATE_NOT_FOUND'))
  })
})
