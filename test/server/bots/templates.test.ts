import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BotScope, botScopes } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { TemplateInput } from '../../../src/contract/templates.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const { bots } = contract

/** The template calls of one bot, made with its account's JWT. */
const botCallsOf = (tenant: Tenant, botId: string) => ({
  create: (overrides: Partial<TemplateInput> = {}) =>
    tenant.console(bots.createTemplate, { botId, ...templateBody(overrides) }),
  submit: (templateId: string) => tenant.console(bots.submitTemplate, { botId, templateId }),
  list: async (filter: object = {}) =>
    (await tenant.console(bots.templates, { botId, ...filter })).data.items.map((it) => it.id),
})

describe('templates of a bot without an application', () => {
  it('exactly one of several concurrent template creations with one external id succeeds', async () => {
    const tenant = await newTenant(server)
    const { create } = botCallsOf(tenant, (await tenant.bot()).id)
    const same = { external_template_id: 'same' }
    const responses = await Promise.all([1, 2, 3, 4].map(() => create(same)))
    expect(responses.map((it) => it.status).sort()).toEqual([201, 409, 409, 409])
  })
})

describe('templates of a linked bot', () => {
  it('templates and webhook of a bot stay after it is unlinked', {
    tags: ['applications/1', 'bot-side-templates/3'],
  }, async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.linkedBot()
    const { data: template } = await botCallsOf(tenant, botId).create()
    await tenant.console(contract.webhook.set, { botId, url: 'https://hooks.example.com/hook' })
    await tenant.console(contract.apps.unlinkBot, { appId: tenant.appId, botId })
    expect((await tenant.console(bots.get, { botId })).data.delivery_mode).toBe('webhook')
    expect((await tenant.runtime(contract.templates.list, {})).data.items).toEqual([template])
  })

  it('list of bot templates has pages and validates its query', async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.linkedBot()
    for (let have = 0; have < 3; have++) await tenant.draft()
    const page = (await tenant.console(bots.templates, { botId, page: 2, limit: 2 })).data
    expect([page.items.length, page.pagination]).toEqual([1, { page: 2, limit: 2, total: 3, pages: 2 }])
    expect((await tenant.console(bots.templates, { botId, status: 'gone' as 'draft' })).code).toBe('VALIDATION_FAILED')
  })
})

describe('checks of bot template calls', () => {
  it('bot template call requires its own scope', { tags: 'scopes/1' }, async () => {
    const tenant = await newTenant(server)
    const codesWith = async (scope: BotScope) => {
      const { id: botId } = await tenant.linkedBot([scope])
      const { create, submit } = botCallsOf(tenant, botId)
      return [await tenant.console(bots.templates, { botId }), await create(), await submit('tpl_0')].map(
        (it) => it.code,
      )
    }
    expect(await codesWith('vouchers:read')).toEqual([null, 'INSUFFICIENT_SCOPE', 'INSUFFICIENT_SCOPE'])
    expect(await codesWith('vouchers:templates:write')).toEqual(['INSUFFICIENT_SCOPE', null, 'TEMPLATE_NOT_FOUND'])
  })

  it('template of a bot waits for a review, also after a rejection', { tags: 'template-states/1' }, async () => {
    const tenant = await newTenant(server)
    const { create, submit, list } = botCallsOf(tenant, (await tenant.bot()).id)
    const { id } = (await create()).data
    await submit(id)
    expect(await list({ status: 'reviewing' })).toEqual([id])
    await tenant.operator(contract.platform.rejectTemplate, { templateId: id, code: 'UNCLEAR', reason: 'What is it?' })
    expect((await submit(id)).data?.status).toBe('reviewing')
  })

  it('auto-approved bot template is reviewing, and active at the next read', {
    tags: 'operator-api/2',
  }, async () => {
    const own = testApp({ autoApprove: true })
    const tenant = await newTenant(own)
    const { id: botId } = await tenant.appliedBot({ scopes: [...botScopes] })
    const botCalls = botCallsOf(tenant, botId)
    const { id } = (await botCalls.create()).data
    const reader = botCallsOf(tenant, (await tenant.appliedBot({ scopes: ['vouchers:read'] })).id)
    expect([(await reader.submit(id)).code, await reader.list()]).toEqual(['INSUFFICIENT_SCOPE', []])
    expect((await botCalls.submit(id)).data.status).toBe('reviewing')
    expect(await botCalls.list({ status: 'active' })).toEqual([id])
    await own.close()
  })

  it('bot template and runtime template with a non-existent date get the same refusal', async () => {
    const tenant = await newTenant(server)
    const { create } = botCallsOf(tenant, (await tenant.bot()).id)
    const validity = { type: 'fixed' as const, starts_at: '2027-02-30T00:00:00Z', ends_at: '2027-03-01T00:00:00Z' }
    const refused = await create({ validity })
    expect([refused.status, refused.details.errors]).toMatchObject([400, [{ pointer: '/validity/starts_at' }]])
  })
})
