import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'

const DAY_MS = 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

/** Runs a test with its own server, whose clock the test may advance. */
async function alone(use: (server: TestApp, tenant: Tenant) => Promise<void>): Promise<void> {
  const own = testApp()
  await use(own, await newTenant(own)).finally(() => own.close())
}

const verify = (tenant: Tenant, voucher: Parameters<typeof codeOf>[0]) =>
  tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher) })

describe('issue of a voucher', () => {
  it('issue returns 201 with the voucher and both credentials', async () => {
    const tenant = await newTenant(server)
    const template = await tenant.template()
    const response = await tenant.runtime(contract.vouchers.issue, {
      template_id: template.id,
      external_issue_id: 'order-1',
      recipient_user_id: 'user-1',
      metadata: { channel: 'app' },
    })
    expect(response.status).toBe(201)
    const at = iso(server.clock.now())
    expect(response.data).toEqual({
      id: expect.stringMatching(/^vch_[0-9A-HJKMNP-TV-Z]{26}$/),
      templateId: template.id,
      externalTemplateId: template.externalTemplateId,
      applicationId: tenant.appId,
      externalIssueId: 'order-1',
      recipientUserId: 'user-1',
      status: 'issued',
      redeemable: true,
      type: 'gift',
      name: 'One free coffee',
      issuerName: 'Coffee shop',
      fulfillerName: 'Coffee shop',
      fulfillmentCategory: 'offline_service',
      validFrom: at,
      validUntil: iso(server.clock.now() + 30 * DAY_MS),
      codeHint: codeOf(response.data).value.slice(-4),
      channel: 'direct',
      botId: null,
      issuedAt: at,
      redeemedAt: null,
      redemptionId: null,
      metadata: { channel: 'app' },
      updatedAt: at,
      credentials: [
        { type: 'redeem_code', value: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/) },
        { type: 'qr_token', value: expect.stringMatching(/^VQ1-[0-9A-HJKMNP-TV-Z]{33}$/) },
      ],
    })
  })
})

describe('verification of a voucher', () => {
  it.each(['redeem_code', 'qr_token'] as const)('verify names the member of a malformed %s', async (type) => {
    const tenant = await newTenant(server)
    const response = await tenant.runtime(contract.vouchers.verify, { credential: { type, value: 'x' } })
    expect(response.details.errors).toMatchObject([{ pointer: '/credential/value', code: 'format' }])
  })
})

describe('redemption of a voucher', () => {
  it('redeem returns the redemption; verify reports it', { tags: ['redemptions/1', 'verify/1'] }, async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const response = await tenant.runtime(contract.vouchers.redeem, {
      credential: codeOf(voucher, 'qr_token'),
      recipient_user_id: 'user-1',
      reference: 'till-7',
      metadata: { shift: 'early' },
    })
    const at = iso(server.clock.now())
    expect([response.status, response.data]).toEqual([
      200,
      {
        id: expect.stringMatching(/^rdm_[0-9A-HJKMNP-TV-Z]{26}$/),
        status: 'succeeded',
        voucherId: voucher.id,
        templateId: voucher.templateId,
        applicationId: tenant.appId,
        externalIssueId: voucher.externalIssueId,
        recipientUserId: 'user-1',
        credentialType: 'qr_token',
        reference: 'till-7',
        metadata: { shift: 'early' },
        redeemedAt: at,
        reversedAt: null,
        reversalReason: null,
        voucher: {
          id: voucher.id,
          status: 'redeemed',
          redeemable: false,
          validUntil: voucher.validUntil,
          codeHint: voucher.codeHint,
        },
      },
    ])
    const now = await verify(tenant, voucher)
    expect(now.data).toMatchObject({
      reason: 'already_redeemed',
      voucher: { status: 'redeemed', redeemedAt: at, redemptionId: response.data.id, updatedAt: at },
    })
    const read = await tenant.runtime(contract.vouchers.redemption, { redemptionId: response.data.id })
    expect([read.status, read.data]).toEqual([200, response.data])
  })
})

describe('reversal of a redemption', () => {
  it('redemption can be reversed for exactly 90 days', { tags: ['redemptions/1', 'reversal/2'] }, () =>
    alone(async (own, tenant) => {
      const [one, two] = [await tenant.redeem(await tenant.issue()), await tenant.redeem(await tenant.issue())]
      own.clock.advance(90 * DAY_MS)
      expect((await tenant.runtime(contract.vouchers.reverse, { redemptionId: one.id })).status).toBe(200)
      expect((await tenant.runtime(contract.vouchers.redemption, { redemptionId: one.id })).status).toBe(200)
      own.clock.advance(1)
      const late = await tenant.runtime(contract.vouchers.reverse, { redemptionId: two.id })
      expect(late).toMatchObject({
        status: 409,
        code: 'REVERSAL_WINDOW_CLOSED',
        details: { redeemed_at: two.redeemedAt },
      })
    }),
  )
})
