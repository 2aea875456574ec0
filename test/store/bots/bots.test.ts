import { describe, expect, it } from 'vitest'
import type { Bot } from '../../../src/contract/bots.js'
import { hashToken, makeToken } from '../../../src/domain/tokens.js'
import * as apps from '../../../src/store/apps.js'
import * as bots from '../../../src/store/bots/bots.js'
import * as botTemplates from '../../../src/store/bots/templates.js'
import { all, run } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import { seededRandom } from '../../support/server/app.js'
import { plantWebhook } from '../../support/server/webhooks.js'
import { beforeEachStore, engines } from '../../support/store/engines.js'
import { templateRow } from '../../support/store/rows.js'
import { locksOf, noticesOf, stepsOf } from '../../support/store/store-steps.js'

const NOW = 1_000
const LATER = 2_000

describe.each(engines)('bots on $name', ({ create, hasOneWriter }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  const application = (username: string) => ({ name: 'Coffee bot', username })
  const applied = async (id: string, accountId = 'acc'): Promise<Bot> => {
    const response = await store.write(() => bots.apply(accountId, id, application(id), NOW, false))
    if ('ok' in response) throw new Error(response.code)
    return response
  }
  const approved = async (id: string) => {
    await applied(id)
    await store.write(() => bots.decide(id, 'approve', NOW))
  }
  const token = (seed: string) => makeToken('sbot_', seededRandom(seed))
  const everything = () =>
    store.read(function* () {
      const rows: Record<string, unknown[]> = {}
      for (const table of ['bots', 'bot_tokens', 'update_queues', 'templates', 'applications']) {
        rows[table] = yield* all(`select * from ${table}`)
      }
      return rows
    })

  it('creation of a bot creates its update queue', async () => {
    await applied('bot_1')
    const { bots: rows, update_queues } = await everything()
    expect(rows).toMatchObject([{ id: 'bot_1', account_id: 'acc', review_status: 'pending', token_prefix: null }])
    const settled = { confirmed_to: null, dropped_to: null, switched_to: null }
    expect(update_queues).toEqual([{ bot_id: 'bot_1', last_update_id: 0, allowed_updates: null, ...settled }])
  })

  it('refused, repeated and reading bot operations write nothing', { tags: 'bot-records/1' }, async () => {
    await approved('bot_1')
    await applied('bot_2')
    await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, NOW))
    await store.write(() => apps.create('acc', 'app_2', { name: 'Shop' }, NOW))
    await store.write(() => apps.linkBot('acc', 'app_1', 'bot_1', NOW))
    await store.write(() => bots.showToken('acc', 'bot_1', token('first'), NOW))
    const before = await everything()
    const draft = templateRow({ status: 'draft' })
    const responses = [
      await store.write(() => bots.apply('other', 'bot_3', application('bot_1'), LATER, true)),
      await store.write(() => bots.update('acc', 'bot_2', { name: 'x' }, LATER)),
      await store.write(() => bots.update('acc', 'bot_1', { name: 'Coffee bot' }, LATER)),
      await store.write(() => bots.showToken('acc', 'bot_1', token('second'), LATER)),
      await store.write(() => bots.showToken('acc', 'bot_2', token('second'), LATER)),
      await store.write(() => bots.showToken('other', 'bot_1', token('second'), LATER)),
      await store.write(() => bots.regenerateToken('acc', 'bot_2', token('second'), LATER)),
      await store.write(() => bots.decide('bot_1', 'approve', LATER)),
      await store.write(() => apps.linkBot('acc', 'app_1', 'bot_1', LATER)),
      await store.write(() => apps.linkBot('acc', 'app_2', 'bot_1', LATER)),
      await store.write(() => apps.linkBot('acc', 'app_1', 'bot_2', LATER)),
      await store.write(() => apps.unlinkBot('acc', 'app_2', 'bot_1', LATER)),
      await store.write(() => botTemplates.create('acc', 'bot_1', draft)),
      await store.write(() => botTemplates.submit('acc', 'bot_1', 'tpl_1', LATER, true)),
    ]
    expect(responses.map((it) => ('ok' in it ? it.code : 'fine'))).toEqual([
      'USERNAME_TAKEN',
      'BOT_NOT_APPROVED',
      'fine',
      'fine',
      'fine',
      'BOT_NOT_FOUND',
      'BOT_NOT_APPROVED',
      'BOT_STATE_CONFLICT',
      'fine',
      'BOT_ALREADY_LINKED',
      'BOT_NOT_APPROVED',
      'fine',
      'INSUFFICIENT_SCOPE',
      'INSUFFICIENT_SCOPE',
    ])
    expect(await everything()).toEqual(before)
  })

  it('exactly one of several concurrent showToken calls returns the bot token', { tags: 'bot-records/2' }, async () => {
    await approved('bot_1')
    const seeds = ['a', 'b', 'c']
    const responses = await Promise.all(
      seeds.map((seed) => store.write(() => bots.showToken('acc', 'bot_1', token(seed), NOW))),
    )
    const shown = responses.map((it) => ('ok' in it ? it : [it.one_time_token, it.token_prefix]))
    const first = shown.findIndex((it) => Array.isArray(it) && it[0] !== undefined)
    if (hasOneWriter) expect(first).toBe(0)
    const shownToken = token(seeds[first] as string)
    const prefix = shownToken.slice(0, 8)
    expect(shown).toEqual(seeds.map((_, index) => [index === first ? shownToken : undefined, prefix]))
    expect((await everything()).bot_tokens).toHaveLength(1)
  })

  const iso = (ms: number) => new Date(ms).toISOString()
  const get = (id: string, accountId = 'acc') => store.read(() => bots.get(accountId, id))
  const reject = (id: string) => store.write(() => bots.decide(id, { reject: 'Unclear' }, LATER))
  const idsOf = (listed: { readonly items: readonly Bot[] }) => listed.items.map(({ id }) => id)

  describe('application for a bot', () => {
    it('rejected bot of the account is submitted again with its id and time of creation', async () => {
      await applied('bot_1')
      await reject('bot_1')
      const again = { name: 'Tea bot', username: 'bot_1' }
      const bot = await store.write(() => bots.apply('acc', 'bot_2', again, LATER, false, 1))
      const changed = { review_status: 'pending', review_note: null, created_at: iso(NOW), updated_at: iso(LATER) }
      expect(bot).toMatchObject({ id: 'bot_1', name: 'Tea bot', ...changed })
      expect(await get('bot_1')).toMatchObject({ name: 'Tea bot', ...changed })
    })

    it('username of a pending or rejected bot is taken for other bots', { tags: 'bot-records/1' }, async () => {
      await applied('bot_1')
      const taken = { code: 'USERNAME_TAKEN' }
      expect(await store.write(() => bots.apply('acc', 'bot_2', application('bot_1'), LATER, false))).toMatchObject(
        taken,
      )
      await reject('bot_1')
      expect(await store.write(() => bots.apply('other', 'bot_2', application('bot_1'), LATER, false))).toMatchObject(
        taken,
      )
    })

    it('application is refused at the limit of the account; bots of other accounts do not count', async () => {
      await applied('bot_other', 'other')
      const limited = (id: string) => store.write(() => bots.apply('acc', id, application(id), NOW, false, 1))
      expect(await limited('bot_1')).toMatchObject({ id: 'bot_1' })
      expect(await limited('bot_2')).toMatchObject({ code: 'BOT_LIMIT_REACHED', details: { limit: 1 } })
    })

    it('application with automatic approval returns pending and stores an approved, active bot', async () => {
      const bot = await store.write(() => bots.apply('acc', 'bot_1', application('bot_1'), NOW, true))
      expect(bot).toMatchObject({ review_status: 'pending', status: 'inactive', delivery_mode: 'polling' })
      expect(await get('bot_1')).toMatchObject({ review_status: 'approved', status: 'active' })
    })

    it('pending reviews are the bots of all accounts, oldest submission first, then by id', async () => {
      await applied('bot_2')
      await applied('bot_1', 'other')
      await approved('bot_3')
      await store.write(() => bots.apply('acc', 'bot_0', application('bot_0'), LATER, false))
      const review = { kind: 'bot', application_id: null, name: 'Coffee bot', submitted_at: iso(NOW) }
      expect(await store.read(bots.pendingReviews)).toEqual([
        { ...review, id: 'bot_1', account_id: 'other' },
        { ...review, id: 'bot_2', account_id: 'acc' },
        { ...review, id: 'bot_0', account_id: 'acc', submitted_at: iso(LATER) },
      ])
    })
  })

  describe('reads of bots', () => {
    it('list has the bots of one account, newest first, with modes', { tags: 'credential-kinds/1' }, async () => {
      await approved('bot_1')
      await applied('bot_other', 'other')
      await store.write(() => bots.apply('acc', 'bot_0', application('bot_0'), LATER, false))
      await store.write(() => plantWebhook('bot_1'))
      const listed = await store.read(() => bots.list('acc', {}))
      expect(listed.items.map((it) => [it.id, it.delivery_mode])).toEqual([
        ['bot_0', 'polling'],
        ['bot_1', 'webhook'],
      ])
      expect(idsOf(await store.read(() => bots.list('acc', { page: 2, limit: 1 })))).toEqual(['bot_1'])
    })

    it('detail of a bot has its webhook with the selected types, or null', { tags: 'bot-records/2' }, async () => {
      await approved('bot_1')
      expect(await get('bot_1')).toMatchObject({ delivery_mode: 'polling', webhook: null })
      await store.write(() => plantWebhook('bot_1'))
      await store.write(() => run(`update update_queues set allowed_updates = '["ping"]'`))
      expect(await get('bot_1')).toMatchObject({
        delivery_mode: 'webhook',
        webhook: { url: 'https://hook.example/…', allowed_updates: ['ping'], allowed_ips: [], max_connections: 40 },
      })
    })

    it('bot of another account and unknown bot are not found', async () => {
      await approved('bot_1')
      const notFound = { code: 'BOT_NOT_FOUND' }
      for (const [accountId, botId] of [
        ['other', 'bot_1'],
        ['acc', 'bot_2'],
      ] as const) {
        expect(await get(botId, accountId)).toMatchObject(notFound)
        expect(await store.write(() => bots.update(accountId, botId, { name: 'x' }, LATER))).toMatchObject(notFound)
        expect(await store.write(() => bots.showToken(accountId, botId, token('a'), LATER))).toMatchObject(notFound)
        expect(await store.write(() => bots.regenerateToken(accountId, botId, token('a'), LATER))).toMatchObject(
          notFound,
        )
        expect(await store.read(() => botTemplates.list(accountId, botId, {}))).toMatchObject(notFound)
      }
      expect(await store.write(() => bots.decide('bot_2', 'approve', LATER))).toMatchObject(notFound)
      expect(await store.read(() => bots.approvedById('bot_2'))).toMatchObject(notFound)
    })

    it('operator finds an approved bot of any account by its id', async () => {
      await applied('bot_1', 'other')
      const found = () => store.read(() => bots.approvedById('bot_1'))
      expect(await found()).toMatchObject({ code: 'BOT_NOT_APPROVED', details: { review_status: 'pending' } })
      await store.write(() => bots.decide('bot_1', 'approve', NOW))
      expect(await found()).toMatchObject({ id: 'bot_1', account_id: 'other' })
    })
  })

  describe('changes of a bot', () => {
    it('update stores the new values and the time of the change', async () => {
      await approved('bot_1')
      const patch = { name: 'Tea bot', about: 'Tea', command_menus: [] }
      const changed = await store.write(() => bots.update('acc', 'bot_1', patch, LATER))
      expect(changed).toMatchObject({ name: 'Tea bot', profile: { about: 'Tea' }, updated_at: iso(LATER) })
      expect(await get('bot_1')).toEqual(changed)
    })

    it('update that changes no value writes nothing', async () => {
      await approved('bot_1')
      const steps = await stepsOf(store, () => bots.update('acc', 'bot_1', { name: 'Coffee bot' }, LATER))
      expect(steps.filter(({ kind }) => kind !== 'one')).toEqual([])
    })

    it('decisions of the operator store the new states and return the bot with its delivery mode', async () => {
      await approved('bot_1')
      await store.write(() => plantWebhook('bot_1'))
      const disabled = await store.write(() => bots.decide('bot_1', 'disable', LATER))
      expect(disabled).toMatchObject({ status: 'disabled', delivery_mode: 'webhook', updated_at: iso(LATER) })
      expect(await get('bot_1')).toMatchObject({ status: 'disabled' })
      await applied('bot_2')
      expect(await reject('bot_2')).toMatchObject({
        review_status: 'rejected',
        review_note: 'Unclear',
        delivery_mode: 'polling',
      })
      expect(await get('bot_2')).toMatchObject({ review_status: 'rejected', review_note: 'Unclear' })
    })

    it('lookup of a bot token returns its bot, application and revocation time', async () => {
      await approved('bot_1')
      await store.write(() => bots.showToken('acc', 'bot_1', token('a'), NOW))
      const caller = () => store.read(() => bots.callerByHash(hashToken(token('a'))))
      const unlinked = { bot_id: 'bot_1', account_id: 'acc', bot_status: 'active', application_id: null, status: null }
      expect(await caller()).toMatchObject({ ...unlinked, revoked_at: null })
      await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, NOW))
      await store.write(() => apps.linkBot('acc', 'app_1', 'bot_1', NOW))
      expect(await caller()).toMatchObject({ application_id: 'app_1', status: 'active', suspended: 0 })
      await store.write(() => bots.regenerateToken('acc', 'bot_1', token('b'), LATER))
      expect(await caller()).toMatchObject({ revoked_at: LATER })
      expect(await store.read(() => bots.callerByHash(hashToken(token('c'))))).toBeUndefined()
    })

    it('first token is returned with its prefix and stored; the second read shows only the prefix', async () => {
      await approved('bot_1')
      const show = () => store.write(() => bots.showToken('acc', 'bot_1', token('a'), LATER))
      const shown = { has_token: true, token_prefix: token('a').slice(0, 8) }
      expect(await show()).toMatchObject({ ...shown, one_time_token: token('a') })
      expect(await show()).toMatchObject(shown)
      expect(await show()).not.toHaveProperty('one_time_token')
    })

    it('regeneration returns the token and revokes only the active one', { tags: 'bot-records/1' }, async () => {
      await approved('bot_1')
      await approved('bot_2')
      await store.write(() => bots.showToken('acc', 'bot_2', token('other'), NOW))
      const regenerate = (seed: string, now: number) =>
        store.write(() => bots.regenerateToken('acc', 'bot_1', token(seed), now))
      const prefix = token('a').slice(0, 8)
      expect(await regenerate('a', NOW)).toEqual({ bot_id: 'bot_1', one_time_token: token('a'), token_prefix: prefix })
      await regenerate('b', LATER)
      await regenerate('c', LATER + 1)
      const rows = await store.read(() =>
        all<{ bot_id: string; revoked_at: number | null }>('select * from bot_tokens'),
      )
      expect(rows.map(({ bot_id, revoked_at }) => [bot_id, revoked_at]).sort()).toEqual([
        ['bot_1', null],
        ['bot_1', LATER],
        ['bot_1', LATER + 1],
        ['bot_2', null],
      ])
      const last = { has_token: true, token_prefix: token('c').slice(0, 8), updated_at: iso(LATER + 1) }
      expect(await get('bot_1')).toMatchObject(last)
    })

    it('regeneration and decisions notify the polls of the bot', async () => {
      await approved('bot_1')
      expect(await noticesOf(store, () => bots.regenerateToken('acc', 'bot_1', token('a'), NOW))).toEqual(['bot_1'])
      expect(await noticesOf(store, () => bots.decide('bot_1', 'disable', NOW))).toEqual(['bot_1'])
    })

    it('operations lock the rows on which they decide', async () => {
      const locked = (op: Parameters<typeof locksOf>[1]) => locksOf(store, op)
      expect(await locked(() => bots.apply('acc', 'bot_1', application('bot_1'), NOW, false))).toEqual([
        'subject bots of acc',
        'row bots',
      ])
      expect(await locked(() => bots.decide('bot_1', 'approve', NOW))).toEqual(['row bots'])
      expect(await locked(() => bots.showToken('acc', 'bot_1', token('a'), NOW))).toEqual(['row bots'])
      const [first] = await stepsOf(store, () => bots.update('acc', 'bot_1', {}, NOW))
      expect(first).toMatchObject({ lock: 'row', params: ['bot_1'] })
    })
  })
})
