import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BotScope, botScopes } from '../../../src/contract/endpoint.js'
import {
  appliedBot,
  type BotDecision,
  type BotPatch,
  botDetail,
  botRecord,
  decideBot,
  patchedBot,
  refuseTemplateCall,
} from '../../../src/domain/bot/bot.js'
import type { BotRow } from '../../../src/domain/bot/rows.js'

fc.configureGlobal({ seed: 1 })

const row = (overrides: Partial<BotRow> = {}): BotRow => ({
  ...appliedBot('bot_1', 'acc', { name: 'Coffee bot', username: 'coffee' }, 1_000),
  ...overrides,
})

describe('application for a bot', () => {
  it('new bot waits for review without token, link and profile', { tags: ['bot-states/1', 'bot-records/3'] }, () => {
    const { profile, ...bot } = appliedBot('bot_1', 'acc', { name: 'Coffee bot', username: 'coffee' }, 1_000)
    expect(bot).toEqual({
      id: 'bot_1',
      account_id: 'acc',
      name: 'Coffee bot',
      username: 'coffee',
      review_status: 'pending',
      review_note: null,
      status: 'inactive',
      scopes: '["messages:send","messages:receive"]',
      token_prefix: null,
      command_menus: '[]',
      application_id: null,
      linked_at: null,
      submitted_at: 1_000,
      created_at: 1_000,
      updated_at: 1_000,
    })
    expect(JSON.parse(profile)).toEqual({
      avatar: null,
      description: null,
      short_description: null,
      about: null,
      cover_url: null,
      links: [],
      contact: {},
      supports_inline_queries: false,
      friend_request_mode: 'manual',
      group_privacy: true,
    })
  })

  it('new bot has avatar, description and scopes of its application', { tags: 'bot-states/1' }, () => {
    const bot = appliedBot(
      'bot_1',
      'acc',
      { name: 'Coffee bot', username: 'coffee', avatar: 'https://a.example/a.png', description: 'x', scopes: [] },
      1_000,
    )
    expect(JSON.parse(bot.profile)).toMatchObject({ avatar: 'https://a.example/a.png', description: 'x' })
    expect(bot.scopes).toBe('[]')
  })
})

describe('bot records', () => {
  it('response for a bot omits the account and shows only the origin of the webhook URL', () => {
    const webhook = {
      origin: 'https://shop.example:8443',
      allowed_ips: '["203.0.113.0/24"]',
      max_connections: 7,
      url: 'SEALED',
      secret: 'SEALED',
    }
    const shown = botDetail(row(), webhook, '["ping"]')
    expect(shown).toMatchObject({
      delivery_mode: 'webhook',
      webhook: {
        url: 'https://shop.example:8443/…',
        has_secret_token: true,
        allowed_updates: ['ping'],
        allowed_ips: ['203.0.113.0/24'],
        max_connections: 7,
      },
    })
    expect(JSON.stringify(shown)).not.toMatch(/SEALED|acc"/)
    expect(botDetail(row(), undefined, null)).toMatchObject({ delivery_mode: 'polling', webhook: null })
    expect(botRecord(row(), false)).toMatchObject({ delivery_mode: 'polling', has_token: false })
    expect(botRecord(row({ token_prefix: 'sbot_abc' }), true)).toMatchObject({
      delivery_mode: 'webhook',
      has_token: true,
      token_prefix: 'sbot_abc',
    })
  })
})

describe('bot review states', () => {
  const decisions = fc.constantFrom<BotDecision>('approve', 'disable', 'enable', { reject: 'no' })

  it('bot is active only while it is approved, after any sequence of review decisions', () => {
    fc.assert(
      fc.property(fc.array(decisions), (all) => {
        let bot = row()
        for (const decision of all) {
          const decided = decideBot(bot, decision, 2_000)
          if ('ok' in decided) expect(decided.details).toEqual({ review_status: bot.review_status, status: bot.status })
          else bot = decided
          expect(bot.status === 'inactive').toBe(bot.review_status !== 'approved')
          expect(bot.review_note !== null).toBe(bot.review_status === 'rejected')
        }
      }),
    )
  })

  const approved = { review_status: 'approved', status: 'active' } as const
  it.each<[BotDecision, Partial<BotRow>, Partial<BotRow> | null]>([
    ['approve', {}, approved],
    [{ reject: 'no' }, {}, { review_status: 'rejected', review_note: 'no' }],
    ['disable', {}, null],
    ['enable', {}, null],
    ['disable', approved, { status: 'disabled' }],
    ['enable', approved, null],
    ['approve', approved, null],
    [{ reject: 'no' }, approved, null],
    ['enable', { ...approved, status: 'disabled' }, { status: 'active' }],
    ['disable', { ...approved, status: 'disabled' }, null],
  ])('decision %j about a bot with %j changes %j', (decision, before, change) => {
    const bot = row(before)
    const { review_status, status } = bot
    expect(decideBot(bot, decision, 2_000)).toEqual(
      change === null
        ? { ok: false, code: 'BOT_STATE_CONFLICT', details: { review_status, status } }
        : { ...bot, ...change, updated_at: 2_000 },
    )
  })

  it('review decision changes only state, note and updated_at of a bot', () => {
    expect(decideBot(row(), 'approve', 2_000)).toEqual(
      row({ review_status: 'approved', status: 'active', updated_at: 2_000 }),
    )
    expect(decideBot(row(), { reject: 'no' }, 2_000)).toEqual(
      row({ review_status: 'rejected', review_note: 'no', updated_at: 2_000 }),
    )
  })
})

describe('bot template calls', () => {
  const all = row({ review_status: 'approved', status: 'active', scopes: JSON.stringify(botScopes) })
  const without = (scope: BotScope) => JSON.stringify(botScopes.filter((it) => it !== scope))

  it('bot template call checks approval, then state, then the scope', {
    tags: ['scopes/1', 'bot-side-templates/1'],
  }, () => {
    const scope = 'vouchers:read'
    const lacking = { ...all, scopes: without(scope) }
    expect(refuseTemplateCall({ ...lacking, review_status: 'pending', status: 'inactive' }, scope)).toEqual({
      ok: false,
      code: 'BOT_NOT_APPROVED',
      details: { review_status: 'pending' },
    })
    expect(refuseTemplateCall({ ...lacking, status: 'disabled' }, scope)).toMatchObject({
      code: 'BOT_DISABLED',
      details: { bot_id: lacking.id },
    })
    expect(refuseTemplateCall(lacking, scope)).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      details: { required_scope: scope },
    })
    expect(refuseTemplateCall(all, scope)).toBeNull()
  })
})

describe('PATCH of a bot', () => {
  const text = fc.string({ minLength: 1, maxLength: 5 })
  const patches: fc.Arbitrary<BotPatch> = fc.record(
    {
      name: text,
      avatar: fc.option(text),
      description: fc.option(text),
      short_description: fc.option(text),
      about: fc.option(text),
      cover_url: fc.option(text),
      links: fc.array(fc.record({ title: text, url: text }), { maxLength: 2 }),
      contact: fc.record({ email: text, phone: text, url: text }, { requiredKeys: [] }),
      supports_inline_queries: fc.boolean(),
      friend_request_mode: fc.constantFrom('auto_accept' as const, 'manual' as const, 'disabled' as const),
      group_privacy: fc.boolean(),
      command_menus: fc.array(fc.record({ command: text, description: text }), { maxLength: 2 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  const membersOf = (bot: BotRow): Record<string, unknown> => ({
    name: bot.name,
    command_menus: JSON.parse(bot.command_menus),
    ...JSON.parse(bot.profile),
  })

  it('PATCH of a bot replaces each named member as a whole and keeps the others', { tags: 'bot-records/1' }, () => {
    fc.assert(
      fc.property(patches, patches, (first, second) => {
        const before = patchedBot(row(), first, 2_000)
        expect(membersOf(patchedBot(before, second, 3_000))).toEqual({ ...membersOf(before), ...second })
      }),
    )
  })

  it('PATCH of a bot changes updated_at only if it changes a member', { tags: 'bot-records/4' }, () => {
    fc.assert(
      fc.property(patches, patches, (first, second) => {
        const before = patchedBot(row(), first, 2_000)
        const after = patchedBot(before, second, 3_000)
        const differs = JSON.stringify(membersOf(after)) !== JSON.stringify(membersOf(before))
        expect(after === before).toBe(!differs)
        expect(after.updated_at).toBe(differs ? 3_000 : before.updated_at)
        expect(patchedBot(after, second, 4_000)).toBe(after)
      }),
    )
  })

  it.each<BotPatch>([
    { name: 'Tea bot' },
    { about: 'Tea' },
    { command_menus: [{ command: 'tea', description: 'Tea' }] },
  ])('PATCH of a bot that changes only %j is stored', (patch) => {
    const patched = patchedBot(row(), patch, 2_000)
    expect(membersOf(patched)).toEqual({ ...membersOf(row()), ...patch })
    expect(patched.updated_at).toBe(2_000)
  })

  it('PATCH of a bot with another order of members in an object changes nothing', () => {
    const before = patchedBot(row(), { contact: { email: 'a@b.example', phone: '1' } }, 2_000)
    expect(patchedBot(before, { contact: { phone: '1', email: 'a@b.example' } }, 3_000)).toBe(before)
  })
})
