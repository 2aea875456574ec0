import { beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { sharedApp, testApp } from '../../support/server/app.js'
import { newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'

const server = sharedApp()

const iso = (ms: number) => new Date(ms).toISOString()
const reject = { code: 'UNCLEAR', reason: 'What is it?' }

describe('creation of a template', () => {
  it('template creation returns 201 with a draft whose members are camelCase', async () => {
    const tenant = await newTenant(server)
    const body = templateBody({
      description: 'One cup',
      metadata: { campaign: 'spring' },
      validity: { type: 'relative', duration_days: 7, delay_days: 1, not_after: '2027-12-31T23:00:00-01:00' },
    })
    const response = await tenant.runtime(contract.templates.create, body)
    const at = iso(server.clock.now())
    expect([response.status, response.data]).toEqual([
      201,
      {
        id: expect.stringMatching(/^tpl_[0-9A-HJKMNP-TV-Z]{26}$/),
        externalTemplateId: body.external_template_id,
        name: 'One free coffee',
        type: 'gift',
        issuerName: 'Coffee shop',
        fulfillerName: 'Coffee shop',
        fulfillmentCategory: 'offline_service',
        acquisitionSource: 'free_claim',
        validity: { type: 'relative', durationDays: 7, delayDays: 1, notAfter: '2028-01-01T00:00:00.000Z' },
        issueLimit: 1000,
        issuedCount: 0,
        status: 'draft',
        rejectionCode: null,
        rejectionReason: null,
        submittedAt: null,
        reviewedAt: null,
        applicationId: tenant.appId,
        botId: null,
        description: 'One cup',
        metadata: { campaign: 'spring' },
        createdAt: at,
        updatedAt: at,
      },
    ])
  })
})

describe('submission and review of a template', () => {
  it('template shows the times of draft, reviewing, rejected, reviewing again and active', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.draft()
    const submit = () => tenant.runtime(contract.templates.submit, { templateId: id })
    const at = () => iso(own.clock.now())

    own.clock.advance(1_000)
    const first = await submit()
    expect([first.status, first.data]).toMatchObject([
      200,
      { status: 'reviewing', submittedAt: at(), reviewedAt: null },
    ])
    expect((await submit()).details).toEqual({ status: 'reviewing' })

    own.clock.advance(1_000)
    const rejected = await tenant.operator(contract.platform.rejectTemplate, { templateId: id, ...reject })
    expect(rejected.data).toMatchObject({
      status: 'rejected',
      rejectionCode: 'UNCLEAR',
      rejectionReason: 'What is it?',
      reviewedAt: at(),
    })

    own.clock.advance(1_000)
    expect((await submit()).data).toMatchObject({
      status: 'reviewing',
      rejectionCode: null,
      submittedAt: at(),
      reviewedAt: null,
    })
    const approved = await tenant.operator(contract.platform.approveTemplate, { templateId: id })
    expect(approved.data).toMatchObject({ status: 'active', reviewedAt: at() })
    expect((await submit()).details).toEqual({ status: 'active' })
    for (const endpoint of [contract.platform.approveTemplate, contract.platform.rejectTemplate]) {
      const late = await tenant.operator(endpoint, {
        templateId: id,
        ...(endpoint === contract.platform.rejectTemplate ? reject : {}),
      } as never)
      expect([late.status, late.code, late.details]).toEqual([409, 'TEMPLATE_STATE_CONFLICT', { status: 'active' }])
    }
    await own.close()
  })

  it('template submitted under auto-approval is reviewing, and active at the next read', async () => {
    const own = testApp({ autoApprove: true })
    const tenant = await newTenant(own)
    const { id } = await tenant.draft()
    const submitted = await tenant.runtime(contract.templates.submit, { templateId: id })
    expect(submitted.data).toMatchObject({ status: 'reviewing', reviewedAt: null })
    const [read] = (await tenant.runtime(contract.templates.list, {})).data.items
    expect(read).toMatchObject({ id, status: 'active', reviewedAt: iso(own.clock.now()) })
    expect((await tenant.operator(contract.platform.reviews, {})).data.items).toEqual([])
    await own.close()
  })
})

describe('list of templates', () => {
  it('objects with equal creation times have a stable order across the pages of a list', async () => {
    const own = await newTenant(server)
    const made: string[] = []
    for (let index = 0; index < 5; index++) made.unshift((await own.draft()).id)
    const page = async (input: object) => (await own.runtime(contract.templates.list, input)).data
    const whole = await page({})
    expect(whole.pagination).toEqual({ page: 1, limit: 20, total: 5, pages: 1 })
    // All templates have the same creation time, so their ids define the order.
    expect(whole.items.map((it) => it.id)).toEqual([...made].sort().reverse())
    const pages = [await page({ limit: 2 }), await page({ limit: 2, page: 2 }), await page({ limit: 2, page: 3 })]
    expect(pages.flatMap((it) => it.items)).toEqual(whole.items)
    expect(pages[2]?.pagination).toEqual({ page: 3, limit: 2, total: 5, pages: 3 })
    expect(await page({ page: 4, limit: 2 })).toEqual({
      items: [],
      pagination: { page: 4, limit: 2, total: 5, pages: 3 },
    })
  })

  it('empty list has a total of 0 and 0 pages', async () =>
    expect((await (await newTenant(server)).runtime(contract.templates.list, {})).data).toEqual({
      items: [],
      pagination: { page: 1, limit: 20, total: 0, pages: 0 },
    }))
})

describe('texts of a template', () => {
  let tenant: Tenant
  beforeAll(async () => {
    tenant = await newTenant(server)
  })

  it('metadata key with a line separator is returned as sent', async () =>
    expect((await tenant.draft({ metadata: { 'a\u2028b': 'v' } })).metadata).toEqual({ 'a\u2028b': 'v' }))

  it.each(['\u212a', '\u037e', '\u1fef'])(
    'character %j, which NFC turns into ASCII, is refused in an id and kept in a text',
    async (sign) => {
      const id = templateBody({ external_template_id: `a${sign}` })
      const { details } = await tenant.runtime(contract.templates.create, id)
      expect(details.errors).toMatchObject([{ pointer: '/external_template_id' }])
      expect((await tenant.draft({ name: `0 ${sign}` })).name).toBe(`0 ${sign}`)
    },
  )

  it('metadata is returned as sent, including names of Object.prototype', async () => {
    const metadata = {
      constructor: 'a',
      toString: 'b',
      toJSON: 'c',
      hasOwnProperty: 'd',
      '0': 'e',
      'a/b~c': 'f',
      'Ünïcode ☕': '',
    }
    expect((await tenant.draft({ metadata: metadata as Record<string, string> })).metadata).toEqual(metadata)
  })
})
