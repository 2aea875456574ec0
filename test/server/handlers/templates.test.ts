import { beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { sharedApp } from '../../support/server/app.js'
import { newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'

const server = sharedApp()

const iso = (ms: number) => new Date(ms).toISOString()

describe('creation of a template', () => {
  it('template creation returns 201 with a draft in camelCase', { tags: ['envelope/2', 'envelope/5'] }, async () => {
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
  it('rejected template has code, reason and time of the decision', { tags: 'template-states/2' }, async () => {
    const tenant = await newTenant(server)
    const { id: templateId } = await tenant.reviewing()
    const rejection = { templateId, code: 'UNCLEAR', reason: 'What is it?' }
    expect((await tenant.operator(contract.platform.rejectTemplate, rejection)).data).toMatchObject({
      status: 'rejected',
      rejectionCode: 'UNCLEAR',
      rejectionReason: 'What is it?',
      reviewedAt: iso(server.clock.now()),
    })
  })
})

describe('list of templates', () => {
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
