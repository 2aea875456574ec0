import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashToken } from '../../src/domain/tokens.js'
import { plantSeed as plantAny, seedRows } from '../../src/server/seed/plant.js'
import type { Seed } from '../../src/server/seed/schema.js'
import * as apps from '../../src/store/apps.js'
import * as bots from '../../src/store/bots/bots.js'
import { poll } from '../../src/store/delivery/updates.js'
import { all, run } from '../../src/store/operation.js'
import { addUpdate } from '../../src/store/outbox.js'
import { plant } from '../../src/store/seed.js'
import type { Store } from '../../src/store/store.js'
import * as templates from '../../src/store/templates.js'
import * as tokens from '../../src/store/tokens.js'
import * as vouchers from '../../src/store/voucher-history.js'
import { type Issue, issueNow } from '../../src/store/vouchers.js'
import { testKey } from '../support/server/app.js'
import { seed, seedBotToken, seedToken } from '../support/server/seed.js'
import { beforeEachStore, engines } from '../support/store/engines.js'
import { stepsOf } from '../support/store/store-steps.js'

const NOW = Date.UTC(2027, 2, 1)
const page = { page: 1, limit: 20 }

const keys = { current: testKey, all: [testKey] }
const plantSeed = (store: Store, planted: Seed, now: number) =>
  plantAny(store, planted, now, { keys, random: randomBytes })

const issueCall: Issue = {
  applicationId: 'app_coffee',
  template_id: 'tpl_coffee',
  external_issue_id: 'order-1',
  recipient_user_id: 'user-1',
  voucherId: 'vch_1',
  metadata: {},
  idempotencyKey: undefined,
  newDeliveryId: () => 'dlv_0',
  requestId: 'req_1',
  calledBy: 'tok_till',
  now: NOW + 3,
  keys,
}

function seedWithLifetime(days: number) {
  const copy = structuredClone(seed)
  Object.assign(copy.applications?.[0]?.tokens?.[0] ?? {}, { expires_in_days: days })
  return copy
}

function seedWithVouchers(): Seed {
  const copy = structuredClone(seed)
  const statuses = ['issued', 'redeemed', 'reversed', 'expired'] as const
  const voucher = { template_id: 'tpl_coffee', recipient_user_id: 'user-1' }
  const planted = statuses.map((status, n) => ({ ...voucher, status, external_issue_id: `order-${n + 1}` }))
  Object.assign(copy.applications?.[0] ?? {}, { vouchers: planted })
  return copy
}

describe.each(engines)('plantSeed on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  it('plantSeed() plants applications, tokens, templates and bots with states', { tags: 'seeds/1' }, async () => {
    expect(await plantSeed(store, seed, NOW)).toBe('planted')
    expect(await store.read(() => apps.get('acme', 'app_coffee'))).toMatchObject({
      name: 'Coffee shop',
      linkedBots: [{ botId: 'bot_coffee', username: 'coffee_bot' }],
    })
    const listed = await store.read(() => templates.list({ applicationId: 'app_coffee' }, page))
    expect(listed.items.map(({ id, status }) => [id, status]).sort()).toEqual([
      ['tpl_coffee', 'active'],
      ['tpl_tea', 'draft'],
    ])
    expect(await store.read(() => tokens.callerByHash(hashToken(seedToken)))).toMatchObject({
      token_id: 'tok_till',
      expires_at: null,
    })
    expect(await store.read(() => bots.callerByHash(hashToken(seedBotToken)))).toMatchObject({
      bot_id: 'bot_coffee',
      application_id: 'app_coffee',
      bot_status: 'active',
    })
    expect(await store.read(() => bots.get('acme', 'bot_new'))).toMatchObject({ review_status: 'pending' })
  })

  it('stores the hash of a token and not the token', async () => {
    await plantSeed(store, seed, NOW)
    const rows = await store.read(function* () {
      const read = []
      for (const table of ['applications', 'tokens', 'templates', 'bots', 'bot_tokens'])
        read.push(...(yield* all(`select * from ${table}`)))
      return read
    })
    expect(JSON.stringify(rows)).not.toContain(seedToken)
    expect(JSON.stringify(rows)).not.toContain(seedBotToken)
  })

  it('plantSeed() finds its seed after calls changed counters, times and types', { tags: 'seeds/3' }, async () => {
    await plantSeed(store, seed, NOW)
    await store.write(() => tokens.saveLastUses(new Map([['tok_till', NOW + 1]])))
    await store.write(() => apps.create('acme', 'app_other', { name: 'Other' }, NOW + 2))
    expect(await store.write(() => issueNow(issueCall))).toMatchObject({ ok: true })
    const botId = 'bot_coffee'
    const update = { type: 'ping', chatId: null, payload: {}, newDeliveryId: () => 'dlv_1' } as const
    await store.write(() => addUpdate({ ...update, botId, now: NOW + 4 }))
    await store.write(() => poll({ botId, limit: 1, allowedUpdates: ['ping'], now: NOW + 5 }))
    expect(await plantSeed(store, seed, NOW + 86_400_000)).toBe('present')
  })

  it('plantSeed() compares token lifetimes relative to the start', async () => {
    await plantSeed(store, seedWithLifetime(7), NOW)
    expect(await plantSeed(store, seedWithLifetime(7), NOW + 86_400_000)).toBe('present')
  })

  it('plantSeed() plants vouchers as calls would have left them, without an update', { tags: 'seeds/2' }, async () => {
    const planted = seedWithVouchers()
    Object.assign(planted.bots?.[0] ?? {}, { allowed_updates: ['voucher_issued', 'voucher_redeemed'] })
    expect(await plantSeed(store, planted, NOW)).toBe('planted')
    const { items } = await store.read(() => vouchers.list(page, NOW))
    const byStatus = (wanted: string) => items.filter(({ status }) => status === wanted)
    expect(
      byStatus('issued')
        .map(({ externalIssueId }) => externalIssueId)
        .sort(),
    ).toEqual(['order-1', 'order-3'])
    expect(byStatus('redeemed')).toMatchObject([
      { externalIssueId: 'order-2', redeemedAt: new Date(NOW).toISOString() },
    ])
    expect(byStatus('expired')).toMatchObject([
      { externalIssueId: 'order-4', validUntil: new Date(NOW - 86_400_000).toISOString() },
    ])
    const events = []
    for (const { id } of items) {
      const life = await store.read(() => vouchers.history({ id }, () => [], NOW))
      if (life.ok) events.push(life.data.events.map(({ type, token_id }) => `${type} ${token_id}`).join(', '))
    }
    expect(events.sort()).toEqual([
      'issued tok_till',
      'issued tok_till, expired null',
      'issued tok_till, redeemed tok_till',
      'issued tok_till, redeemed tok_till, reversed null',
    ])
    const counts = await store.read(() => templates.list({ applicationId: 'app_coffee' }, page))
    expect(counts.items.find(({ id }) => id === 'tpl_coffee')).toMatchObject({ issuedCount: 4 })
    expect(await store.read(() => all('select * from updates'))).toEqual([])
  })

  it('issueNow() returns the codes of a planted voucher for its external id and recipient', async () => {
    await plantSeed(store, seedWithVouchers(), NOW)
    const repeat = await store.write(() => issueNow(issueCall))
    expect(repeat).toMatchObject({ ok: true, replayed: true, data: { status: 'issued', credentials: [{}, {}] } })
    const other = await store.write(() => issueNow({ ...issueCall, recipient_user_id: 'user-2' }))
    expect(other).toMatchObject({ ok: false, code: 'EXTERNAL_ISSUE_ID_CONFLICT' })
  })

  it('plantSeed() finds its vouchers by external id after calls changed them', { tags: 'seeds/2' }, async () => {
    await plantSeed(store, seedWithVouchers(), NOW)
    await store.write(() => run(`update redemptions set reversed_at = ${NOW} where reversed_at is null`))
    expect(await plantSeed(store, seedWithVouchers(), NOW + 86_400_000)).toBe('present')
    const other = seedWithVouchers()
    Object.assign(other.applications?.[0]?.vouchers?.[1] ?? {}, { recipient_user_id: 'user-9' })
    Object.assign(other.applications?.[0]?.vouchers?.[2] ?? {}, { external_issue_id: 'order-9' })
    await expect(plantSeed(store, other, NOW)).rejects.toThrow(
      'voucher order-2 of tpl_coffee has another recipient_user_id, voucher order-9 of tpl_coffee is missing.',
    )
  })

  it('plant locks the seed before it looks for records', async () => {
    const none = seedRows({ account: 'acme' }, NOW, { keys, random: randomBytes })
    expect((await stepsOf(store, () => plant(none)))[0]).toEqual({ kind: 'lock', subject: 'seed' })
  })

  it('concurrent plants of one seed plant it once', async () => {
    const results = await Promise.all([1, 2, 3].map((n) => plantSeed(store, seed, NOW + n)))
    expect(results.sort()).toEqual(['planted', 'present', 'present'])
  })

  it.each<[string, (store: Store) => Promise<unknown>, RegExp]>([
    [
      'lacks a record',
      (it) => it.write(() => apps.create('acme', 'app_other', { name: 'Other' }, NOW)),
      /app_coffee is/,
    ],
    [
      'has only a bot',
      (it) => it.write(() => bots.apply('acme', 'bot_other', { name: 'Other', username: 'other_bot' }, NOW, false)),
      /app_coffee is missing, /,
    ],
    [
      'has another name of it',
      async (it) => {
        await plantSeed(it, seed, NOW)
        await it.write(() => apps.update('acme', 'app_coffee', { name: 'Tea shop' }, NOW))
      },
      /seed: app_coffee has another name\.$/,
    ],
    [
      'has revoked its token',
      async (it) => {
        await plantSeed(it, seed, NOW)
        await it.write(() => tokens.revoke('acme', 'app_coffee', 'tok_till', NOW))
      },
      /seed: tok_till has another revoked_at\.$/,
    ],
    [
      'has another token of its bot',
      async (it) => {
        const copy = structuredClone(seed)
        delete copy.bots?.[0]?.token
        await plantSeed(it, copy, NOW)
      },
      /seed: the token of bot_coffee is missing\.$/,
    ],
    [
      'has a token with another lifetime',
      async (it) => {
        await plantSeed(it, seedWithLifetime(7), NOW)
      },
      /seed: tok_till has another expires_at\.$/,
    ],
  ])('refuses a store that %s and changes nothing', async (_, prepare, expected) => {
    await prepare(store)
    const before = await store.read(() => apps.list('acme', page))
    const refused = plantSeed(store, seed, NOW)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY', message: expect.stringMatching(expected) })
    expect(await store.read(() => apps.list('acme', page))).toEqual(before)
  })
})
