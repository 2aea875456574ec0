import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BotScope, botScopes } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { TemplateInput } from '../../../src/contract/templates.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { newTenant, serial, type Tenant, templateBody } from '../../support/server/tenant.js'

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const { apps, bots, platform, templates, vouchers } = contract

/** The template calls of one bot, made with its account's JWT. */
const botCallsOf = (tenant: Tenant, botId: string) => ({
  create: (overrides: Partial<TemplateInput> = {}) =>
    tenant.console(bots.createTemplate, { botId, ...templateBody(overrides) }),
  submit: (templateId: string) => tenant.console(bots.submitTemplate, { botId, templateId }),
  list: async (filter: object = {}) =>
    (await tenant.console(bots.templates, { botId, ...filter })).data.items.map((it) => it.id),
  reject: (templateId: string) =>
    tenant.operator(platform.rejectTemplate, { templateId, code: 'UNCLEAR', reason: 'What is it?' }),
})

describe('templates of a bot without an application', () => {
  it('unlinked bot can create and submit a template of its own, which the operator approves', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id: botId } = await tenant.bot()
    const botCalls = botCallsOf(tenant, botId)
    const created = await botCalls.create()
    expect([created.status, created.data]).toMatchObject([201, { status: 'draft', applicationId: null, botId }])
    const { id } = created.data
    expect(await botCalls.list()).toEqual([id])
    expect((await tenant.runtime(templates.list, {})).data.items).toEqual([])
    const submitted = await botCalls.submit(id)
    expect([submitted.status, submitted.data.status]).toEqual([200, 'reviewing'])
    expect((await tenant.operator(platform.reviews, { kind: 'template' })).data.items).toMatchObject([
      { id, application_id: null, account_id: tenant.accountId },
    ])
    expect((await botCalls.reject(id)).data.status).toBe('rejected')
    await botCalls.submit(id)
    expect((await tenant.operator(platform.approveTemplate, { templateId: id })).data).toMatchObject({
      status: 'active',
      applicationId: null,
    })
    const again = await botCalls.submit(id)
    expect([again.code, again.details]).toEqual(['TEMPLATE_STATE_CONFLICT', { status: 'active' }])
    await own.close()
  })

  it('voucher of a template that belongs to an unlinked bot cannot be issued', async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.bot()
    const botCalls = botCallsOf(tenant, botId)
    const { id } = (await botCalls.create()).data
    await botCalls.submit(id)
    await tenant.operator(platform.approveTemplate, { templateId: id })
    const input = { template_id: id, external_issue_id: 'x', recipient_user_id: 'user' }
    expect((await tenant.runtime(vouchers.issue, input)).code).toBe('TEMPLATE_NOT_FOUND')
    expect((await tenant.runtime(templates.submit, { templateId: id })).code).toBe('TEMPLATE_NOT_FOUND')
  })

  it('unlinked bot can reuse the external id of a template only after its rejection', async () => {
    const tenant = await newTenant(server)
    const [one, other] = [await tenant.bot(), await tenant.bot()].map(({ id }) => botCallsOf(tenant, id))
    if (one === undefined || other === undefined) throw new Error('two bots were made')
    const same = { external_template_id: `same-${serial()}` }
    const { id } = (await one.create(same)).data
    expect((await other.create(same)).status).toBe(201)
    expect(await one.create(same)).toMatchObject({
      status: 409,
      code: 'EXTERNAL_TEMPLATE_ID_EXISTS',
      details: { template_id: id },
    })
    await one.submit(id)
    await one.reject(id)
    const { id: second } = (await one.create(same)).data
    expect(await one.submit(id)).toMatchObject({
      code: 'EXTERNAL_TEMPLATE_ID_EXISTS',
      details: { template_id: second },
    })
    expect((await one.list()).sort()).toEqual([id, second].sort())
    expect((await other.submit(second)).code).toBe('TEMPLATE_NOT_FOUND')
  })

  it('exactly one of several concurrent template creations with one external id succeeds', async () => {
    const tenant = await newTenant(server)
    const { create } = botCallsOf(tenant, (await tenant.bot()).id)
    const same = { external_template_id: 'same' }
    const responses = await Promise.all([1, 2, 3, 4].map(() => create(same)))
    expect(responses.map((it) => it.status).sort()).toEqual([201, 409, 409, 409])
  })
})

describe('templates of a linked bot', () => {
  it('linked bot can create, list and submit templates of its application', async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.linkedBot()
    const botCalls = botCallsOf(tenant, botId)
    const direct = await tenant.draft()
    const { data } = await botCalls.create()
    expect(data).toMatchObject({ applicationId: tenant.appId, botId, status: 'draft' })
    expect((await botCalls.list()).sort()).toEqual([direct.id, data.id].sort())
    expect((await botCalls.create({ external_template_id: direct.externalTemplateId })).details).toEqual({
      template_id: direct.id,
    })
    expect((await botCalls.submit(direct.id)).data.status).toBe('reviewing')
    expect((await tenant.runtime(templates.submit, { templateId: data.id })).data.status).toBe('reviewing')
    expect(await botCalls.list({ status: 'draft' })).toEqual([])
    expect(await botCalls.list({ external_template_id: data.externalTemplateId })).toEqual([data.id])
    await tenant.operator(platform.approveTemplate, { templateId: data.id })
    expect((await tenant.issue(data.id)).templateId).toBe(data.id)
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

describe('link adopts templates', () => {
  it("link moves the bot's templates to the application, where they stay after unlinking", async () => {
    const tenant = await newTenant(server)
    const { appId } = tenant
    const { id: botId } = await tenant.bot()
    const botCalls = botCallsOf(tenant, botId)
    const made: string[] = []
    for (let have = 0; have < 4; have++) made.push((await botCalls.create()).data.id)
    const [, reviewing, rejected, active] = made as [string, string, string, string]
    for (const id of [reviewing, rejected, active]) await botCalls.submit(id)
    await botCalls.reject(rejected)
    await tenant.operator(platform.approveTemplate, { templateId: active })
    await tenant.console(apps.linkBot, { appId, botId })
    const adopted = (await tenant.runtime(templates.list, {})).data.items
    expect(new Map(adopted.map((it) => [it.id, [it.applicationId, it.botId, it.status]]))).toEqual(
      new Map(
        ['draft', 'reviewing', 'rejected', 'active'].map((status, n) => [made[n] as string, [appId, botId, status]]),
      ),
    )
    expect((await tenant.issue(active)).templateId).toBe(active)
    await tenant.console(apps.unlinkBot, { appId, botId })
    expect(await botCalls.list()).toEqual([])
    expect((await tenant.issue(active)).templateId).toBe(active)
  })

  it('linking leaves a bot template at the bot if the application already uses its external id', async () => {
    const tenant = await newTenant(server)
    const { appId } = tenant
    const { id: botId } = await tenant.bot()
    const botCalls = botCallsOf(tenant, botId)
    const held = await tenant.draft()
    const { id: taken } = (await botCalls.create({ external_template_id: held.externalTemplateId })).data
    const { id: free } = (await botCalls.create()).data
    await tenant.console(apps.linkBot, { appId, botId })
    expect((await botCalls.list()).sort()).toEqual([held.id, free].sort())
    expect((await botCalls.submit(taken)).code).toBe('TEMPLATE_NOT_FOUND')
    await tenant.console(apps.unlinkBot, { appId, botId })
    expect(await botCalls.list()).toEqual([taken])
    await tenant.runtime(templates.submit, { templateId: held.id })
    await botCalls.reject(held.id)
    await tenant.console(apps.linkBot, { appId, botId })
    expect((await botCalls.list()).sort()).toEqual([held.id, free, taken].sort())
  })

  it('linking moves a rejected bot template even if the application already uses its external id', async () => {
    const tenant = await newTenant(server)
    const { appId } = tenant
    const { id: botId } = await tenant.bot()
    const botCalls = botCallsOf(tenant, botId)
    const held = await tenant.draft()
    const { id } = (await botCalls.create({ external_template_id: held.externalTemplateId })).data
    await botCalls.submit(id)
    await botCalls.reject(id)
    await tenant.console(apps.linkBot, { appId, botId })
    expect((await botCalls.list()).sort()).toEqual([held.id, id].sort())
    expect(await botCalls.submit(id)).toMatchObject({
      code: 'EXTERNAL_TEMPLATE_ID_EXISTS',
      details: { template_id: held.id },
    })
  })

  it('linking a bot to an application moves no template of another bot of the account', async () => {
    const tenant = await newTenant(server)
    const [linked, other] = [await tenant.bot(), await tenant.bot()]
    const { id } = (await botCallsOf(tenant, other.id).create()).data
    await tenant.console(apps.linkBot, { appId: tenant.appId, botId: linked.id })
    expect((await tenant.runtime(templates.list, {})).data.items).toEqual([])
    expect(await botCallsOf(tenant, other.id).list()).toEqual([id])
  })
})

describe('checks of bot template calls', () => {
  const calls = [
    ['templates', 'vouchers:read'],
    ['createTemplate', 'vouchers:templates:write'],
    ['submitTemplate', 'vouchers:templates:write'],
  ] as const
  const input = async (tenant: Tenant, name: (typeof calls)[number][0], botId: string) => {
    if (name === 'templates') return { botId }
    return name === 'createTemplate' ? { botId, ...templateBody() } : { botId, templateId: (await tenant.draft()).id }
  }

  it.each(calls)('bot template call %s requires an approved and enabled bot with the scope %s', async (name, scope) => {
    const tenant = await newTenant(server)
    const call = async (botId: string) =>
      tenant.console(bots[name], (await input(tenant, name, botId)) as { botId: string } & never)
    const scopes: BotScope[] = [scope]
    const { id: pending } = await tenant.appliedBot({ scopes })
    expect(await call(pending)).toMatchObject({ status: 409, code: 'BOT_NOT_APPROVED' })
    const bot = await tenant.linkedBot(scopes)
    await tenant.operator(platform.disableBot, { botId: bot.id })
    expect(await call(bot.id)).toMatchObject({ status: 403, code: 'BOT_DISABLED' })
    await tenant.operator(platform.enableBot, { botId: bot.id })
    expect((await call(bot.id)).envelope.success).toBe(true)
    const lacking = await tenant.linkedBot(botScopes.filter((it) => it !== scope))
    expect(await call(lacking.id)).toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_SCOPE',
      details: { required_scope: scope },
    })
  })

  it('bot template submitted under auto-approval is reviewing, and active at the next read', async () => {
    const own = testApp({ autoApprove: true })
    const tenant = await newTenant(own)
    const { id: botId } = await tenant.appliedBot({ scopes: [...botScopes] })
    const botCalls = botCallsOf(tenant, botId)
    const { id } = (await botCalls.create()).data
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
