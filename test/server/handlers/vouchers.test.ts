import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { START_MS, type TestApp, testApp } from '../../support/server/app.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'

const DAY_MS = 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

/** Runs a test with a server of its own, whose clock the test may advance. */
async function alone(use: (server: TestApp, tenant: Tenant) => Promise<void>): Promise<void> {
  const own = testApp()
  await use(own, await newTenant(own)).finally(() => own.close())
}

const verify = (tenant: Tenant, voucher: Parameters<typeof codeOf>[0], recipient?: string) =>
  tenant.runtime(contract.vouchers.verify, {
    credential: codeOf(voucher),
    ...(recipient === undefined ? {} : { recipient_user_id: recipient }),
  })
const redeem = (tenant: Tenant, voucher: Parameters<typeof codeOf>[0]) =>
  tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })

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
      type: 'exchange',
      name: 'Free coffee',
      issuerName: 'Corner Cafe',
      fulfillerName: 'Corner Cafe',
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

  it('issue of a voucher counts towards the quota; a reversal does not restore it', async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.template({ issue_limit: 2 })
    const first = await tenant.issue(id)
    await tenant.issue(id)
    const redemption = await tenant.redeem(first)
    await tenant.runtime(contract.vouchers.reverse, { redemptionId: redemption.id })
    const input = { template_id: id, external_issue_id: 'one more', recipient_user_id: 'user-1' }
    const response = await tenant.runtime(contract.vouchers.issue, { ...input, external_issue_id: 'one-more' })
    expect(response).toMatchObject({ status: 409, code: 'TEMPLATE_QUOTA_EXHAUSTED', details: { issue_limit: 2 } })
    const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
    expect(template?.issuedCount).toBe(2)
  })

  it.each(['draft', 'reviewing', 'rejected'])(
    'issue from a template in the state %s is refused with that state',
    async (status) => {
      const tenant = await newTenant(server)
      const { id } = status === 'draft' ? await tenant.draft() : await tenant.reviewing()
      if (status === 'rejected') {
        await tenant.operator(contract.platform.rejectTemplate, { templateId: id, code: 'NO', reason: 'no' })
      }
      const input = { template_id: id, external_issue_id: 'order', recipient_user_id: 'user-1' }
      const response = await tenant.runtime(contract.vouchers.issue, input)
      expect(response).toMatchObject({ status: 409, code: 'TEMPLATE_NOT_ACTIVE', details: { status } })
    },
  )

  it.each(['', ' ', 'a b', 'é', 'x'.repeat(129), 'a\u0000'])(
    'issue with the external_issue_id or recipient_user_id %j is refused',
    async (id) => {
      const tenant = await newTenant(server)
      const template_id = (await tenant.template()).id
      const good = { template_id, external_issue_id: 'order', recipient_user_id: 'user-1' }
      for (const member of ['external_issue_id', 'recipient_user_id']) {
        const response = await tenant.runtime(contract.vouchers.issue, { ...good, [member]: id })
        expect(response).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' })
        expect(response.details.errors).toMatchObject([{ pointer: `/${member}` }])
      }
    },
  )
})

describe('validity windows', () => {
  it('relative validity window opens delay_days after the issue and closes duration_days later', () =>
    alone(async (own, tenant) => {
      const { id } = await tenant.template({ validity: { type: 'relative', duration_days: 2, delay_days: 3 } })
      const voucher = await tenant.issue(id)
      expect([voucher.validFrom, voucher.validUntil]).toEqual([iso(START_MS + 3 * DAY_MS), iso(START_MS + 5 * DAY_MS)])
      expect(voucher.redeemable).toBe(false)
      const at = async (ms: number) => {
        own.clock.advance(START_MS + ms - own.clock.now())
        const { data } = await verify(tenant, voucher)
        return [data.reason, data.voucher.status, (await redeem(tenant, voucher)).code]
      }
      expect(await at(3 * DAY_MS - 1)).toEqual(['not_yet_valid', 'issued', 'VOUCHER_NOT_YET_VALID'])
      const redemption = async () => {
        const response = await redeem(tenant, voucher)
        await tenant.runtime(contract.vouchers.reverse, { redemptionId: response.data.id })
      }
      own.clock.advance(1)
      await redemption()
      own.clock.advance(2 * DAY_MS - 1)
      await redemption()
      expect(await at(5 * DAY_MS)).toEqual(['expired', 'expired', 'VOUCHER_EXPIRED'])
    }))

  it('not_after of a template shortens a relative validity window and ends issuing', () =>
    alone(async (own, tenant) => {
      const not_after = iso(START_MS + 5 * DAY_MS)
      const validity = { type: 'relative' as const, duration_days: 30, delay_days: 1, not_after }
      const { id } = await tenant.template({ validity })
      expect(await tenant.issue(id)).toMatchObject({ validUntil: not_after })
      own.clock.advance(4 * DAY_MS - 1)
      await tenant.issue(id)
      own.clock.advance(1)
      const input = { template_id: id, external_issue_id: 'late', recipient_user_id: 'user-1' }
      expect((await tenant.runtime(contract.vouchers.issue, input)).code).toBe('TEMPLATE_VALIDITY_ENDED')
    }))

  it('fixed validity window of a template becomes the window of its vouchers', () =>
    alone(async (own, tenant) => {
      const validity = {
        type: 'fixed' as const,
        starts_at: '2027-03-02T14:00:00+02:00',
        ends_at: '2027-03-03T12:00:00.500Z',
      }
      const { id, validity: shown } = await tenant.template({ validity })
      const window = { startsAt: '2027-03-02T12:00:00.000Z', endsAt: '2027-03-03T12:00:00.500Z' }
      expect(shown).toEqual({ type: 'fixed', ...window })
      const voucher = await tenant.issue(id)
      expect([voucher.validFrom, voucher.validUntil]).toEqual([window.startsAt, window.endsAt])
      expect((await redeem(tenant, voucher)).details).toEqual({ valid_from: window.startsAt })
      own.clock.advance(2 * DAY_MS + 500)
      expect((await redeem(tenant, voucher)).details).toEqual({ valid_until: window.endsAt })
      const input = { template_id: id, external_issue_id: 'late', recipient_user_id: 'user-1' }
      expect((await tenant.runtime(contract.vouchers.issue, input)).code).toBe('TEMPLATE_VALIDITY_ENDED')
    }))
})

describe('verification of a voucher', () => {
  it('verify returns the state of the voucher without its credentials', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const { credentials: _credentials, ...record } = voucher
    const response = await verify(tenant, voucher)
    expect(response.status).toBe(200)
    expect(response.data).toEqual({
      redeemable: true,
      reason: null,
      voucher: record,
      checkedAt: iso(server.clock.now()),
    })
  })

  it('verify reports a wrong recipient only if the call names a recipient', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    expect((await verify(tenant, voucher, 'user-1')).data).toMatchObject({ redeemable: true, reason: null })
    expect((await verify(tenant, voucher, 'user-2')).data).toMatchObject({
      redeemable: false,
      reason: 'recipient_mismatch',
      voucher: { redeemable: true },
    })
  })

  it.each(['redeem_code', 'qr_token'] as const)('verify finds a voucher by its credential of type %s', async (type) => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const response = await tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher, type) })
    expect(response.data.voucher.id).toBe(voucher.id)
  })

  it('verify accepts a redeem code in lower case, without dashes and with extra spaces', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const { value } = codeOf(voucher)
    for (const typed of [value.toLowerCase(), value.replaceAll('-', ''), ` ${value.replaceAll('-', ' – ')} `]) {
      const response = await tenant.runtime(contract.vouchers.verify, {
        credential: { type: 'redeem_code', value: typed },
      })
      expect([typed, response.status]).toEqual([typed, 200])
    }
  })

  it('verify returns 400 for a malformed code and 404 for a wrong check symbol or unknown code', async () => {
    const tenant = await newTenant(server)
    const { value } = codeOf(await tenant.issue())
    const check = async (type: 'redeem_code' | 'qr_token', it: string) => {
      const response = await tenant.runtime(contract.vouchers.verify, { credential: { type, value: it } })
      return [response.status, response.code, response.details]
    }
    const slip = (value[0] === 'A' ? 'B' : 'A') + value.slice(1)
    expect(await check('redeem_code', slip)).toEqual([404, 'VOUCHER_NOT_FOUND', { credential_check: 'failed' }])
    const malformed = { errors: [{ pointer: '/credential/value', code: 'format', message: expect.any(String) }] }
    for (const it of ['x', `${value}A`, value.replace(/^./, 'U'), 'VQ1-']) {
      expect(await check('redeem_code', it)).toEqual([400, 'VALIDATION_FAILED', malformed])
      expect(await check('qr_token', it)).toEqual([400, 'VALIDATION_FAILED', malformed])
    }
  })
})

describe('redemption of a voucher', () => {
  it('redeem returns the redemption; verify then reports the voucher as redeemed', async () => {
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

  it('second redemption is refused with the id of the first, whichever credential is used', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const first = await tenant.redeem(voucher)
    const second = await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher, 'qr_token') })
    expect(second).toMatchObject({ status: 409, code: 'VOUCHER_ALREADY_REDEEMED' })
    expect(second.details).toEqual({ redemption_id: first.id, redeemed_at: first.redeemedAt })
  })

  it('redeemed voucher stays redeemed after its validity window', () =>
    alone(async (own, tenant) => {
      const voucher = await tenant.issue()
      await tenant.redeem(voucher)
      own.clock.advance(365 * DAY_MS)
      expect((await verify(tenant, voucher)).data).toMatchObject({
        reason: 'already_redeemed',
        voucher: { status: 'redeemed' },
      })
    }))
})

describe('reversal of a redemption', () => {
  it('reversed voucher can be redeemed again as a new redemption', async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const first = await tenant.runtime(contract.vouchers.redeem, {
      credential: codeOf(voucher),
      metadata: { till: '1', shift: 'early' },
    })
    const redemptionId = first.data.id
    const reversed = await tenant.runtime(contract.vouchers.reverse, {
      redemptionId,
      reason: 'wrong till',
      metadata: { till: '2' },
    })
    expect(reversed.data).toMatchObject({
      id: redemptionId,
      status: 'reversed',
      reversedAt: iso(server.clock.now()),
      reversalReason: 'wrong till',
      metadata: { till: '2', shift: 'early' },
      voucher: { status: 'issued', redeemable: true },
    })
    expect((await verify(tenant, voucher)).data.voucher).toMatchObject({ redeemedAt: null, redemptionId: null })
    const second = await tenant.redeem(voucher)
    expect(second.id).not.toBe(redemptionId)
    const twice = await tenant.runtime(contract.vouchers.reverse, { redemptionId })
    expect(twice).toMatchObject({ status: 409, code: 'REDEMPTION_ALREADY_REVERSED' })
    expect((await verify(tenant, voucher)).data.voucher).toMatchObject({ status: 'redeemed', redemptionId: second.id })
  })

  it('voucher with a reversed redemption is expired after its validity window', () =>
    alone(async (own, tenant) => {
      const voucher = await tenant.issue()
      const { id } = await tenant.redeem(voucher)
      own.clock.advance(31 * DAY_MS)
      const response = await tenant.runtime(contract.vouchers.reverse, { redemptionId: id })
      expect(response.data.voucher).toMatchObject({ status: 'expired', redeemable: false })
      expect((await redeem(tenant, voucher)).code).toBe('VOUCHER_EXPIRED')
    }))

  it('redemption can be reversed for exactly 90 days', () =>
    alone(async (own, tenant) => {
      const [one, two] = [await tenant.redeem(await tenant.issue()), await tenant.redeem(await tenant.issue())]
      own.clock.advance(90 * DAY_MS)
      expect((await tenant.runtime(contract.vouchers.reverse, { redemptionId: one.id })).status).toBe(200)
      own.clock.advance(1)
      const late = await tenant.runtime(contract.vouchers.reverse, { redemptionId: two.id })
      expect(late).toMatchObject({
        status: 409,
        code: 'REVERSAL_WINDOW_CLOSED',
        details: { redeemed_at: two.redeemedAt },
      })
    }))
})
