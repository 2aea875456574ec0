import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { type StandaloneServer, standaloneServer, temporaryFolder } from '../support/server/server.js'
import { codeOf, newTenant, templateBody } from '../support/server/tenant.js'

/** A server with real sockets and a real database file. */
let server: StandaloneServer
let dataDir: string
beforeAll(async () => {
  dataDir = temporaryFolder()
  server = await standaloneServer({ dataDir })
})
afterAll(async () => {
  await server.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const times = <T>(count: number, call: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)))

const tally = (values: readonly (string | number | null)[]) => {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}

describe('races', () => {
  it('one of 100 concurrent redeems with 100 keys succeeds; all refusals name that redemption', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const responses = await times(100, (index) =>
      tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher, index % 2 ? 'qr_token' : 'redeem_code') }),
    )
    expect(tally(responses.map((it) => it.code))).toEqual({ null: 1, VOUCHER_ALREADY_REDEEMED: 99 })
    const won = responses.find((it) => it.code === null)
    expect(new Set(responses.filter((it) => it.code !== null).map((it) => it.details.redemption_id))).toEqual(
      new Set([won?.data.id]),
    )
  })

  it('120 concurrent issues against a quota of 40 create 40 different vouchers', async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.template({ issue_limit: 40 })
    const responses = await times(120, (index) =>
      tenant.runtime(contract.vouchers.issue, {
        template_id: id,
        external_issue_id: `o-${index}`,
        recipient_user_id: 'u',
      }),
    )
    expect(tally(responses.map((it) => it.code))).toEqual({ null: 40, TEMPLATE_QUOTA_EXHAUSTED: 80 })
    const issued = responses.filter((it) => it.code === null).map((it) => it.data)
    expect(new Set(issued.flatMap((it) => it.credentials.map((credential) => credential.value))).size).toBe(80)
    expect((await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount).toBe(40)
  })

  it('100 concurrent redeems under one key have one effect', { tags: 'idempotency-keys/1' }, async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const responses = await times(100, () =>
      tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'K' }),
    )
    expect(tally(responses.map((it) => it.status))).toEqual({ 200: 100 })
    expect(new Set(responses.map((it) => it.sameness)).size).toBe(1)
    expect(responses.filter((it) => it.headers['idempotent-replayed'] === undefined)).toHaveLength(1)
  })

  it('50 concurrent issues of one external_issue_id create one voucher', async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.template()
    const input = { template_id: id, external_issue_id: 'same', recipient_user_id: 'u' }
    const responses = await times(50, () => tenant.runtime(contract.vouchers.issue, input))
    expect(tally(responses.map((it) => it.status))).toEqual({ 200: 49, 201: 1 })
    expect(new Set(responses.map((it) => it.data.id)).size).toBe(1)
    expect((await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount).toBe(1)
  })

  it('one of 20 concurrent reversals and at most one of the redeems sent with them succeed', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const { id } = await tenant.redeem(voucher)
    const reversals = times(20, () => tenant.runtime(contract.vouchers.reverse, { redemptionId: id }))
    const redeems = times(20, () => tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }))
    expect(tally((await reversals).map((it) => it.code))).toEqual({ null: 1, REDEMPTION_ALREADY_REVERSED: 19 })
    expect((await redeems).filter((it) => it.code === null).length).toBeLessThanOrEqual(1)
  })

  it('one of 30 concurrent creates of a template succeeds, and one of 30 concurrent submits', async () => {
    const tenant = await newTenant(server)
    const body = templateBody()
    const created = await times(30, () => tenant.runtime(contract.templates.create, body))
    expect(tally(created.map((it) => it.code))).toEqual({ null: 1, EXTERNAL_TEMPLATE_ID_EXISTS: 29 })
    const templateId = created.find((it) => it.code === null)?.data.id as string
    const submitted = await times(30, () => tenant.runtime(contract.templates.submit, { templateId }))
    expect(tally(submitted.map((it) => it.code))).toEqual({ null: 1, TEMPLATE_STATE_CONFLICT: 29 })
  })

  it('concurrent creates stop at 50 applications of an account and 20 tokens of an application', async () => {
    const tenant = await newTenant(server)
    const apps = await times(60, () => tenant.console(contract.apps.create, { name: 'Shop' }))
    expect(tally(apps.map((it) => it.code))).toEqual({ null: 49, APPLICATION_LIMIT_REACHED: 11 })
    const input = { appId: tenant.appId, name: 'till', scopes: ['vouchers:read' as const] }
    const tokens = await times(30, () => tenant.console(contract.tokens.create, input))
    expect(tally(tokens.map((it) => it.code))).toEqual({ null: 19, TOKEN_LIMIT_REACHED: 11 })
  })
})
