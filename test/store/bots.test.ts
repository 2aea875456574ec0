import { describe, expect, it } from 'vitest'
import type { Bot } from '../../src/contract/bots.js'
import { makeToken } from '../../src/domain/tokens.js'
import * as apps from '../../src/store/apps.js'
import * as bots from '../../src/store/bots/bots.js'
import * as botTemplates from '../../src/store/bots/templates.js'
import { all } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { beforeEachStore, engines } from '../support/engines.js'
import { templateRow } from '../support/rows.js'
import { seededRandom } from '../support/server-app.js'

const NOW = 1_000
const LATER = 2_000

describe.each(engines)('bots on $name', ({ create, hasOneWriter }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  const application = (username: string) => ({ name: 'Coffee bot', username })
  const applied = async (id: string, accountId = 'acc'): Promise<Bot> => {
    const answer = await store.write(() => bots.apply(accountId, id, application(id), NOW, false))
    if ('ok' in answer) throw new Error(answer.code)
    return answer
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

  it('refused, repeated and reading bot operations write nothing to the database', async () => {
    await approved('bot_1')
    await applied('bot_2')
    await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, NOW))
    await store.write(() => apps.create('acc', 'app_2', { name: 'Shop' }, NOW))
    await store.write(() => apps.linkBot('acc', 'app_1', 'bot_1', NOW))
    await store.write(() => bots.showToken('acc', 'bot_1', token('first'), NOW))
    const before = await everything()
    const draft = templateRow({ status: 'draft' })
    const answers = [
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
    expect(answers.map((it) => ('ok' in it ? it.code : 'fine'))).toEqual([
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

  it('exactly one of several concurrent showToken calls returns the bot token', async () => {
    await approved('bot_1')
    const seeds = ['a', 'b', 'c']
    const answers = await Promise.all(
      seeds.map((seed) => store.write(() => bots.showToken('acc', 'bot_1', token(seed), NOW))),
    )
    const shown = answers.map((it) => ('ok' in it ? it : [it.one_time_token, it.token_prefix]))
    const first = shown.findIndex((it) => Array.isArray(it) && it[0] !== undefined)
    if (hasOneWriter) expect(first).toBe(0)
    const shownToken = token(seeds[first] as string)
    const prefix = shownToken.slice(0, 8)
    expect(shown).toEqual(seeds.map((_, index) => [index === first ? shownToken : undefined, prefix]))
    expect((await everything()).bot_tokens).toHaveLength(1)
  })

  it('bot has exactly one active bot token after several regenerations', async () => {
    await approved('bot_1')
    for (const seed of ['a', 'b', 'c']) {
      await store.write(() => bots.regenerateToken('acc', 'bot_1', token(seed), NOW))
    }
    const { bot_tokens = [] } = await everything()
    expect(bot_tokens).toHaveLength(3)
    expect(bot_tokens.filter((it) => (it as { revoked_at: number | null }).revoked_at === null)).toHaveLength(1)
  })
})
