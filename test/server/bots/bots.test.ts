import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { all } from '../../../src/store/operation.js'
import { sharedApp, type TestApp, testApp } from '../../support/server/app.js'
import { wireOf } from '../../support/server/client.js'
import { botBody, newTenant, serial, type Tenant, templateBody } from '../../support/server/tenant.js'

const server = sharedApp()

const iso = (ms: number) => new Date(ms).toISOString()
const { bots, platform } = contract

/** Returns the failure code if the token is refused, or null: the invalid limit is checked only after the token. */
const refusalOf = async (place: TestApp, token: string) => {
  const path = `${contract.webhook.info.path}?unknown=1`
  const { code } = await place.send({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } })
  return code === 'VALIDATION_FAILED' ? null : code
}

describe('bots.apply', () => {
  it.each([
    ['no name', { name: '' }],
    ['a malformed avatar URL', { avatar: 'https://?' }],
    ['an avatar of 2049 characters', { avatar: `https://a.example/${'x'.repeat(2031)}` }],
    ['a description of 513 characters', { description: 'x'.repeat(513) }],
    ['a duplicate scope', { scopes: ['messages:send', 'messages:send'] }],
    ['an unknown member', { about: 'x' }],
  ])('bots.apply with %s is refused with 400', async (_what, overrides) => {
    const tenant = await newTenant(server)
    expect(await tenant.console(bots.apply, botBody(overrides as never))).toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
    })
  })

  it.each(['abc', `a${'_9'.repeat(31)}z`])('username %s is accepted', { tags: 'bot-records/1' }, async (username) => {
    const tenant = await newTenant(server)
    expect((await tenant.console(bots.apply, botBody({ username }))).data.username).toBe(username)
  })

  it('exactly one of several concurrent bots.apply of a username succeeds', { tags: 'bot-records/1' }, async () => {
    const tenants = await Promise.all(Array.from({ length: 8 }, () => newTenant(server)))
    const username = `wanted_${serial()}`
    const responses = await Promise.all(tenants.map(({ console }) => console(bots.apply, botBody({ username }))))
    expect(responses.map((it) => it.code ?? 'made').sort()).toEqual([...Array(7).fill('USERNAME_TAKEN'), 'made'])
  })

  it('21st bot of an account is refused; a bot that reapplied counts once', {
    tags: ['envelope/5', 'bot-records/4'],
  }, async () => {
    const tenant = await newTenant(server)
    const first = await tenant.appliedBot()
    for (let have = 1; have < 20; have++) await tenant.appliedBot()
    const refused = { status: 409, code: 'BOT_LIMIT_REACHED', details: { limit: 20 } }
    expect(await tenant.console(bots.apply, botBody())).toMatchObject(refused)
    await tenant.operator(platform.rejectBot, { botId: first.id, note: 'no' })
    expect(await tenant.console(bots.apply, botBody())).toMatchObject(refused)
    expect((await tenant.console(bots.apply, botBody({ username: first.username }))).status).toBe(201)
    expect(await tenant.console(bots.apply, botBody())).toMatchObject(refused)
    expect((await tenant.console(bots.list, {})).data.pagination.total).toBe(20)
    expect((await (await newTenant(server)).console(bots.apply, botBody())).status).toBe(201)
  })
})

describe('bot review', () => {
  it('rejection stores a note; reapplying makes the same bot pending', { tags: 'bot-states/2' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const applied = await tenant.appliedBot({ description: 'old', scopes: ['messages:send'] })
    const rejected = (await tenant.operator(platform.rejectBot, { botId: applied.id, note: 'What for?' })).data
    expect(rejected).toEqual({ ...applied, review_status: 'rejected', review_note: 'What for?' })
    own.clock.advance(5)
    const { username } = applied
    const again = await tenant.console(bots.apply, { name: 'Tea bot', username, avatar: 'https://shop.example/tea' })
    expect([again.status, again.data]).toEqual([
      201,
      {
        ...applied,
        name: 'Tea bot',
        scopes: ['messages:send', 'messages:receive'],
        updated_at: iso(own.clock.now()),
      },
    ])
    const read = (await tenant.console(bots.get, { botId: applied.id })).data
    expect(read.profile).toMatchObject({ avatar: 'https://shop.example/tea', description: null })
    expect((await tenant.operator(platform.reviews, { kind: 'bot' })).data.items).toMatchObject([
      { id: applied.id, submitted_at: iso(own.clock.now()) },
    ])
    await own.close()
  })

  /** For each state of a bot: a function that creates such a bot, and the resulting state of each review decision. */
  const states: [string, (tenant: Tenant) => Promise<string>, Record<string, string>][] = [
    ['pending', async (tenant) => (await tenant.appliedBot()).id, { approveBot: 'active', rejectBot: 'inactive' }],
    [
      'rejected',
      async (tenant) => {
        const { id } = await tenant.appliedBot()
        await tenant.operator(platform.rejectBot, { botId: id, note: 'no' })
        return id
      },
      {},
    ],
    ['active', async (tenant) => (await tenant.approvedBot()).id, { disableBot: 'disabled' }],
    [
      'disabled',
      async (tenant) => {
        const { id } = await tenant.approvedBot()
        await tenant.operator(platform.disableBot, { botId: id })
        return id
      },
      { enableBot: 'active' },
    ],
  ]
  const decisions = ['approveBot', 'rejectBot', 'disableBot', 'enableBot'] as const
  const cases = states.flatMap(([state, make, allowed]) =>
    decisions.map((decision) => [state, decision, allowed[decision] ?? 'a conflict', make] as const),
  )
  it.each(cases)(
    'review of a bot in the state %s: the decision %s results in %s',
    { tags: 'bot-states/2' },
    async (_state, decision, leadsTo, make) => {
      const tenant = await newTenant(server)
      const botId = await make(tenant)
      const before = (await tenant.console(bots.list, {})).data.items[0]
      const response = await tenant.operator(
        platform[decision],
        (decision === 'rejectBot' ? { botId, note: 'no' } : { botId }) as never,
      )
      if (leadsTo !== 'a conflict') {
        expect([response.status, response.data.status]).toEqual([200, leadsTo])
        return
      }
      const { review_status, status } = before as NonNullable<typeof before>
      expect(response).toMatchObject({ status: 409, code: 'BOT_STATE_CONFLICT', details: { review_status, status } })
      expect((await tenant.console(bots.list, {})).data.items[0]).toEqual(before)
    },
  )

  it('review list has bots and templates, oldest first, or one kind', { tags: 'lists/3' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const bot = await tenant.appliedBot()
    own.clock.advance(1)
    const template = await tenant.reviewing()
    own.clock.advance(1)
    const later = await tenant.appliedBot()
    await tenant.approvedBot()
    const ids = async (kind: { kind?: 'bot' | 'template' }) =>
      (await tenant.operator(platform.reviews, kind)).data.items.map((it) => it.id)
    expect(await ids({})).toEqual([bot.id, template.id, later.id])
    expect(await ids({ kind: 'bot' })).toEqual([bot.id, later.id])
    expect((await tenant.operator(platform.reviews, { kind: 'template' })).data.items).toEqual([
      {
        kind: 'template',
        id: template.id,
        application_id: tenant.appId,
        account_id: tenant.accountId,
        name: 'One free coffee',
        submitted_at: template.submittedAt,
      },
    ])
    expect((await tenant.operator(platform.reviews, { kind: 'bot' })).data.items[0]).toEqual({
      kind: 'bot',
      id: bot.id,
      application_id: null,
      account_id: tenant.accountId,
      name: 'Coffee bot',
      submitted_at: bot.created_at,
    })
    await own.close()
  })

  it('auto-approved bot is pending at first; the next read shows its token', {
    tags: ['operator-api/2', 'bot-states/1'],
  }, async () => {
    const own = testApp({ autoApprove: true })
    const tenant = await newTenant(own)
    const applied = await tenant.appliedBot()
    expect(applied).toMatchObject({ review_status: 'pending', status: 'inactive' })
    const read = (await tenant.console(bots.get, { botId: applied.id })).data
    expect(read).toMatchObject({ review_status: 'approved', status: 'active', one_time_token: expect.any(String) })
    expect((await tenant.operator(platform.reviews, {})).data.items).toEqual([])
    await own.close()
  })
})

describe('one-time token', () => {
  const read = async (tenant: Tenant, botId: string) => (await tenant.console(bots.get, { botId })).data

  it('only the first read after the approval returns the bot token', {
    tags: ['bot-states/1', 'bot-records/2', 'bot-records/5'],
  }, async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.appliedBot()
    expect(await read(tenant, id)).not.toHaveProperty('one_time_token')
    await tenant.operator(platform.approveBot, { botId: id })
    const first = await read(tenant, id)
    expect(first.one_time_token).toMatch(/^sbot_[0-9A-Za-z]{36}$/)
    expect(first).toMatchObject({ has_token: true, token_prefix: first.one_time_token?.slice(0, 8) })
    expect(await refusalOf(server, first.one_time_token as string)).toBeNull()
    const { one_time_token: _, ...rest } = first
    expect(await read(tenant, id)).toEqual(rest)
    expect((await tenant.operator(platform.disableBot, { botId: id })).text).not.toContain('one_time_token')
    expect(await read(tenant, id)).not.toHaveProperty('one_time_token')
    await tenant.operator(platform.enableBot, { botId: id })
    expect(await read(tenant, id)).not.toHaveProperty('one_time_token')
    expect(await refusalOf(server, first.one_time_token as string)).toBeNull()
  })

  it('read of a bot writes nothing to the database unless it creates the bot token', async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.bot()
    const { id: waiting } = await tenant.appliedBot()
    const { store } = server.deps
    const readOnly = testApp({ store: { ...store, write: () => Promise.reject(new Error('a read wrote')) } })
    for (const botId of [id, waiting]) {
      const headers = { authorization: `Bearer ${tenant.jwt}` }
      expect((await readOnly.send({ ...wireOf(bots.get, { botId }), headers })).status).toBe(200)
    }
    await readOnly.close()
  })

  it('no bot token is stored in the database', { tags: 'stored-secrets/2' }, async () => {
    const tenant = await newTenant(server)
    const { id, token } = await tenant.bot()
    const { one_time_token } = (await tenant.console(bots.regenerateToken, { botId: id })).data
    const rows = await server.deps.store.read(function* () {
      return [yield* all('select * from bots'), yield* all('select * from bot_tokens')]
    })
    for (const secret of [token, one_time_token]) expect(JSON.stringify(rows)).not.toContain(secret)
  })
})

describe('regeneration of a bot token', () => {
  it('regeneration of the bot token changes updated_at of the bot; the first read does not', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id: botId, updated_at } = await tenant.approvedBot()
    own.clock.advance(5)
    expect((await tenant.console(bots.get, { botId })).data).toMatchObject({ has_token: true, updated_at })
    expect((await tenant.console(bots.list, {})).data.items[0]).toMatchObject({ has_token: true, updated_at })
    await tenant.console(bots.regenerateToken, { botId })
    expect((await tenant.console(bots.get, { botId })).data.updated_at).toBe(iso(own.clock.now()))
    await own.close()
  })

  it('first read of a bot shows no token if the token was regenerated before', async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.approvedBot()
    const { one_time_token } = (await tenant.console(bots.regenerateToken, { botId: id })).data
    expect((await tenant.console(bots.get, { botId: id })).data).not.toHaveProperty('one_time_token')
    expect(await refusalOf(server, one_time_token)).toBeNull()
  })

  it('concurrent regenerations return tokens of which exactly one works', { tags: 'bot-records/1' }, async () => {
    const tenant = await newTenant(server)
    const { id } = await tenant.approvedBot()
    const calls = [1, 2, 3, 4].map(() => tenant.console(bots.regenerateToken, { botId: id }))
    const reading = tenant.console(bots.get, { botId: id })
    const tokens = (await Promise.all(calls)).map((it) => it.data.one_time_token)
    const shown = (await reading).data.one_time_token
    const codes = await Promise.all(
      [...tokens, ...(shown === undefined ? [] : [shown])].map((it) => refusalOf(server, it)),
    )
    expect(codes.filter((code) => code === null)).toHaveLength(1)
    expect(codes.filter((code) => code === 'TOKEN_REVOKED')).toHaveLength(codes.length - 1)
  })

  it.each(['regenerateToken', 'disableBot', 'enableBot'] as const)(
    'bots.%s notifies waiting polls of the bot',
    async (name) => {
      const own = testApp()
      const tenant = await newTenant(own)
      const { id } = await tenant.bot()
      if (name === 'enableBot') await tenant.operator(platform.disableBot, { botId: id })
      const notified: string[] = []
      own.deps.store.listen((subject) => notified.push(subject))
      if (name === 'regenerateToken') await tenant.console(bots.regenerateToken, { botId: id })
      else await tenant.operator(platform[name], { botId: id })
      expect(notified).toEqual([id])
      await own.close()
    },
  )

  it('disabled bot is refused with each token until it is enabled again', { tags: 'bot-states/3' }, async () => {
    const tenant = await newTenant(server)
    const { id, token } = await tenant.bot()
    await tenant.operator(platform.disableBot, { botId: id })
    expect(await refusalOf(server, token)).toBe('BOT_DISABLED')
    const { one_time_token } = (await tenant.console(bots.regenerateToken, { botId: id })).data
    expect([await refusalOf(server, token), await refusalOf(server, one_time_token)]).toEqual([
      'TOKEN_REVOKED',
      'BOT_DISABLED',
    ])
    await tenant.operator(platform.enableBot, { botId: id })
    expect(await refusalOf(server, one_time_token)).toBeNull()
  })
})

describe('order of checks of a bot console call', () => {
  it('bot console call checks body, bot, approval, state, scope, object', {
    tags: ['bot-states/3', 'bot-side-templates/1'],
  }, async () => {
    const tenant = await newTenant(server)
    const call = async (botId: string, input: object = {}) =>
      (await tenant.console(bots.createTemplate, { botId, ...templateBody(), ...input } as never)).code
    const pending = (await tenant.appliedBot()).id
    const lacking = await tenant.linkedBot(['messages:send'])
    const full = await tenant.linkedBot()
    const held = { external_template_id: (await tenant.draft()).externalTemplateId }
    for (const botId of ['bot_0', pending, lacking.id, full.id]) {
      expect([botId, await call(botId, { unknown: 1 })]).toEqual([botId, 'VALIDATION_FAILED'])
    }
    expect(await call('bot_0', held)).toBe('BOT_NOT_FOUND')
    expect(await call(pending, held)).toBe('BOT_NOT_APPROVED')
    expect(await call(lacking.id, held)).toBe('INSUFFICIENT_SCOPE')
    expect(await call(full.id, held)).toBe('EXTERNAL_TEMPLATE_ID_EXISTS')
    const submission = { botId: (await tenant.linkedBot(['vouchers:read'])).id, templateId: 'tpl_0' }
    expect((await tenant.console(bots.submitTemplate, submission)).code).toBe('INSUFFICIENT_SCOPE')
    expect((await tenant.console(bots.templates, { botId: submission.botId })).status).toBe(200)
    for (const { id } of [lacking, full]) {
      await tenant.operator(platform.disableBot, { botId: id })
      expect(await call(id, held)).toBe('BOT_DISABLED')
    }
  })
})
