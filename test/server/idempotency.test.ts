import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import { createLimits } from '../../src/server/limits.js'
import { type TestApp, testApp } from '../support/server/app.js'
import { Scene } from '../support/server/scene.js'
import { codeOf, newTenant } from '../support/server/tenant.js'
import { holdWrites } from '../support/store/held-writes.js'

const DAY_MS = 86_400_000

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const keyed: [string, Endpoint][] = [contract.vouchers.issue, contract.vouchers.redeem, contract.vouchers.reverse].map(
  (it) => [it.id, it],
)

describe.each(keyed)('%s', (_id, endpoint) => {
  it('endpoint refuses a request without an Idempotency-Key', async () => {
    const scene = await Scene.of(server, endpoint)
    expect(await scene.send({ key: null })).toMatchObject({ status: 400, code: 'IDEMPOTENCY_KEY_REQUIRED' })
  })

  it('endpoint refuses a malformed Idempotency-Key', async () => {
    const scene = await Scene.of(server, endpoint)
    for (const key of ['', ' ', '""', 'a b', 'é', 'x'.repeat(256)]) {
      const { status, code } = await scene.send({ key })
      expect([key, status, code]).toEqual([key, 400, 'IDEMPOTENCY_KEY_INVALID'])
    }
  })

  it('repeat with the same Idempotency-Key gets the same status and body, but a new request id', async () => {
    const scene = await Scene.of(server, endpoint)
    const first = await scene.send({ key: 'K' })
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    const again = await scene.send({ key: 'K' })
    expect([again.status, again.sameness]).toEqual([first.status, first.sameness])
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
  })

  it('quoted Idempotency-Key counts as the same key as an unquoted one', async () => {
    const scene = await Scene.of(server, endpoint)
    await scene.send({ key: 'K' })
    expect((await scene.send({ key: '"K"' })).headers['idempotent-replayed']).toBe('true')
  })

  it('repeat with the same Idempotency-Key and another token of the application is replayed', async () => {
    const scene = await Scene.of(server, endpoint)
    await scene.send({ key: 'K' })
    const { token } = await scene.tenant.newToken()
    expect((await scene.send({ key: 'K', credential: token })).headers['idempotent-replayed']).toBe('true')
  })

  it('repeat whose body differs only in member order, spacing and escapes is replayed', async () => {
    const scene = await Scene.of(server, endpoint)
    const { body, path } = await scene.request()
    const members = body === undefined ? {} : (JSON.parse(String(body)) as Record<string, unknown>)
    await scene.send({ key: 'K' })
    const turned = JSON.stringify(Object.fromEntries(Object.entries(members).reverse()), null, 2)
    const escaped = turned.replace(/user-1/g, '\\u0075ser-1')
    for (const text of body === undefined ? ['{}', ' { } '] : [turned, escaped]) {
      const again = await scene.send({ key: 'K', body: text })
      expect([path, again.headers['idempotent-replayed']]).toEqual([path, 'true'])
    }
  })

  it('endpoint refuses an Idempotency-Key that another request or operation used', async () => {
    const scene = await Scene.of(server, endpoint)
    await scene.send({ key: 'K' })
    const changed = await scene.send({ key: 'K', input: { metadata: { a: 'b' } } })
    expect(changed).toMatchObject({ status: 409, code: 'IDEMPOTENCY_KEY_REUSED' })
    const { tenant } = scene
    const other =
      endpoint === contract.vouchers.redeem
        ? await tenant.runtime(contract.vouchers.reverse, { redemptionId: 'rdm_0' }, { key: 'K' })
        : await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(await tenant.issue()) }, { key: 'K' })
    expect(other).toMatchObject({ status: 409, code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  it('refused request does not consume its Idempotency-Key', async () => {
    const scene = await Scene.of(server, endpoint)
    const wrong = {
      'vouchers.issue': { template_id: 'tpl_0' },
      'vouchers.redeem': { recipient_user_id: 'user-2' },
      'vouchers.reverse': { redemptionId: 'rdm_0' },
    }[endpoint.id as 'vouchers.issue']
    expect((await scene.send({ key: 'K', input: wrong })).envelope.success).toBe(false)
    expect((await scene.send({ key: 'K' })).envelope.success).toBe(true)
  })

  it('request refused with 429 does not consume its Idempotency-Key', async () => {
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

describe('lifetime of idempotency records', () => {
  it('idempotency records of issue and reverse expire after 30 days, to the millisecond', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.template({ validity: { type: 'relative', duration_days: 300 } })
    const input = { template_id: id, external_issue_id: 'order', recipient_user_id: 'user-1' }
    await tenant.runtime(contract.vouchers.issue, input, { key: 'K' })
    const other = { ...input, external_issue_id: 'other' }
    own.clock.advance(30 * DAY_MS - 1)
    expect((await tenant.runtime(contract.vouchers.issue, input, { key: 'K' })).status).toBe(201)
    expect((await tenant.runtime(contract.vouchers.issue, other, { key: 'K' })).code).toBe('IDEMPOTENCY_KEY_REUSED')
    own.clock.advance(1)
    // The idempotency record has expired: the repeat finds the voucher by its external_issue_id instead.
    expect((await tenant.runtime(contract.vouchers.issue, input, { key: 'L' })).status).toBe(200)
    expect((await tenant.runtime(contract.vouchers.issue, other, { key: 'K' })).status).toBe(201)
    await own.close()
  })

  it('idempotency record of a redeem never expires, even after a reversal', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.template({ validity: { type: 'relative', duration_days: 1_095 } })
    const voucher = await tenant.issue(id)
    const call = () => tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'K' })
    const first = await call()
    await tenant.runtime(contract.vouchers.reverse, { redemptionId: first.data.id })
    own.clock.advance(400 * DAY_MS)
    const late = await call()
    expect([late.status, late.sameness]).toEqual([first.status, first.sameness])
    const state = await tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher) })
    expect(state.data).toMatchObject({ redeemable: true, voucher: { status: 'issued', redemptionId: null } })
    await own.close()
  })

  it('replay of an issue returns the voucher with the same credentials', async () => {
    const scene = await Scene.of(server, contract.vouchers.issue)
    const first = await scene.send({ key: 'K' })
    const again = await scene.send({ key: 'K' })
    expect(again.text).toContain('"credentials":[')
    expect(again.sameness).toBe(first.sameness)
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

  it('repeated external_issue_id with a new key returns the voucher with 200 and uses no quota', async () => {
    const { own, tenant, input, first } = await issueOf(1)
    const repeat = await tenant.runtime(contract.vouchers.issue, { ...input, metadata: { ignored: 'yes' } })
    expect(repeat.status).toBe(200)
    expect(repeat.headers['idempotent-replayed']).toBe('true')
    expect(repeat.data).toEqual(first.data)
    const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
    expect(template).toMatchObject({ issuedCount: 1, issueLimit: 1 })
    await own.close()
  })

  it('repeated external_issue_id after the validity window returns the redeemed voucher', async () => {
    const { own, tenant, input, first } = await issueOf(1)
    await tenant.redeem(first.data)
    own.clock.advance(20 * DAY_MS)
    const repeat = await tenant.runtime(contract.vouchers.issue, input)
    expect(repeat.data).toMatchObject({ id: first.data.id, status: 'redeemed', credentials: first.data.credentials })
    await own.close()
  })

  it('replay of a call that repeated an external_issue_id keeps the status 200', async () => {
    const { own, tenant, input } = await issueOf(5)
    const under = (key: string) => tenant.runtime(contract.vouchers.issue, input, { key })
    expect([(await under('K')).status, (await under('K')).status]).toEqual([200, 200])
    await own.close()
  })

  it('external_issue_id is refused for another recipient, even after 1,000 days', async () => {
    const { own, tenant, input } = await issueOf(5)
    own.clock.advance(1_000 * DAY_MS)
    const other = await tenant.runtime(contract.vouchers.issue, { ...input, recipient_user_id: 'user-2' })
    expect([other.status, other.code]).toEqual([409, 'EXTERNAL_ISSUE_ID_CONFLICT'])
    await own.close()
  })

  it('external_issue_id is unique per template', async () => {
    const { own, tenant, input } = await issueOf(5)
    const { id } = await tenant.template()
    expect((await tenant.runtime(contract.vouchers.issue, { ...input, template_id: id })).status).toBe(201)
    await own.close()
  })
})

describe('concurrent calls with idempotency keys', () => {
  it('20 concurrent equal calls with one Idempotency-Key have one effect and equal responses', async () => {
    const scene = await Scene.of(server, contract.vouchers.redeem)
    const request = await scene.request({ key: 'K' })
    const responses = await Promise.all(Array.from({ length: 20 }, () => server.send(request)))
    expect(new Set(responses.map((it) => it.sameness)).size).toBe(1)
    expect(responses.filter((it) => it.headers['idempotent-replayed'] === undefined)).toHaveLength(1)
  })

  it('concurrent calls of two applications with the same Idempotency-Key both take effect', async () => {
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

  it('different request with the Idempotency-Key of a running call is refused', async () => {
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
