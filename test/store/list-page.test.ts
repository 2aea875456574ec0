import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '../../src/domain/application.js'
import * as apps from '../../src/store/apps.js'
import * as bots from '../../src/store/bots/bots.js'
import { metrics } from '../../src/store/bots/calls.js'
import * as chats from '../../src/store/bots/chats.js'
import * as deliveries from '../../src/store/delivery/deliveries.js'
import { listPage } from '../../src/store/list-page.js'
import { all, type Op, run } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import * as templates from '../../src/store/templates.js'
import * as tokens from '../../src/store/tokens.js'
import * as vouchers from '../../src/store/voucher-history.js'
import { plantBot } from '../support/server/webhooks.js'
import { onPostgres } from '../support/store/engine-name.js'
import { openTestStore } from '../support/store/engines.js'
import { templateRow } from '../support/store/rows.js'
import { planOf } from '../support/store/store-steps.js'

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, 0))
  await store.write(() => plantBot('bot_1'))
})
afterEach(() => store.close())

it('list of several slices has each row once, in order, whatever its times', async () => {
  // Slices after the first one have 10,000 rows on PostgreSQL.
  const last = onPostgres ? 12_500 : 2_500
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${last}) select i from n`
  await store.write(() =>
    run(`insert into applications select 'app_' || i, 'other', 'a', null, 'active', 0, '[]', '[]', 'optional', i / 700, 1
         from (${numbers}) n where i > 1`),
  )
  const rows = await store.read(() => all('select id from applications order by created_at desc, id desc'))
  const ids = rows.map((it) => it.id)
  for (const page of [1, 10, 11, last / 100 - 15, last / 100, last / 100 + 1]) {
    const { items, pagination } = await store.read(() =>
      listPage<{ id: string }, string>('applications where true', [], { page, limit: 100 }, (row) => row.id),
    )
    expect(items).toEqual(ids.slice((page - 1) * 100, page * 100))
    expect(pagination.total).toBe(last)
  }
})

it('list since a time leaves out older rows in every slice, and only these', async () => {
  const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500) select i from n'
  await store.write(() =>
    run(`insert into applications select 'app_' || i, 'other', 'a', null, 'active', 0, '[]', '[]', 'optional', i, 1
         from (${numbers}) n where i > 1`),
  )
  for (const since of [1, 500, 2000, 2500, 2501]) {
    const { pagination } = await store.read(() =>
      listPage<{ id: string }, string>('applications where true', [], {}, (row) => row.id, { since }),
    )
    expect(pagination.total).toBe(2501 - Math.max(2, since))
  }
})

/** Each list and count, with the index of its order. */
const lists: readonly (readonly [name: string, op: () => Op<unknown>, index: string])[] = [
  ['tokens', () => tokens.list('acc', 'app_1', {}, 1), 'tokens_by_application'],
  [
    'templates of an application',
    () => templates.list({ applicationId: 'app_1' }, { status: 'draft' }),
    'templates_by_age',
  ],
  ['templates of a bot', () => templates.list({ botId: 'bot_1' }, {}), 'templates_of_bots'],
  ['all templates', () => templates.listAll({ status: 'draft' }), 'templates_of_all_by_age'],
  ['reviews of templates', templates.pendingReviews, 'templates_waiting'],
  ['reviews of bots', bots.pendingReviews, 'bots_waiting'],
  ['bots of an account', () => bots.list('acc', {}), 'bots_by_account'],
  ['applications of an account', () => apps.list('acc', {}), 'applications_by_account'],
  ['all applications', () => apps.listAll({}), 'applications_by_age'],
  ['chats of a bot', () => chats.list({ bot_id: 'bot_1' }), 'chats_by_bot'],
  ['chats of a user', () => chats.list({ user_id: 'user' }), 'chats_by_age'],
  ['all vouchers', () => vouchers.list({ status: 'issued', recipient_user_id: 'user' }, 1), 'vouchers_by_age'],
  [
    'vouchers since a time',
    () => vouchers.list({ since: 5 }, 1),
    'vouchers_by_age ((issued_at,id)>(?,?) AND (issued_at,id)<(?,?))',
  ],
  ['all deliveries', () => deliveries.listAll({ status: 'failed' }), 'deliveries_by_age'],
  ['deliveries of a chat', () => deliveries.listAll({ chat_id: 'chat_1', status: 'failed' }), 'deliveries_by_chat'],
  ['metrics', () => metrics('acc', 'bot_1', 1), 'delivery_attempts_by_bot'],
]

describe.skipIf(onPostgres)('indexes that SQLite chooses for empty tables', () => {
  it.each(lists)('%s come from the index of their order', async (_name, op, index) => {
    const plan = await planOf(store, op)
    const table = plan.find((it) => it.includes(`INDEX ${index}`))?.split(' ')[1]
    const others = plan.filter((it) => it.split(' ')[1] === table && !it.includes(`INDEX ${index}`))
    expect([table === undefined, others]).toEqual([false, []])
  })

  it.each([{ applicationId: 'app_1' }, { botId: 'bot_1' }])(
    'templates of an external id of %j are found by it',
    async (owner) => {
      const plan = await planOf(store, () => templates.list(owner, { external_template_id: 'a' }))
      // Entries of this index end with the primary key, which begins with the application.
      expect(plan.join()).toContain('INDEX templates_by_own_id (external_template_id=? AND application_id=?)')
      expect(
        plan.filter((it) => it.startsWith('SEARCH templates') && !it.endsWith('(application_id=? AND id=?)')),
      ).toEqual([])
    },
  )

  it('active tokens are counted in an index of tokens that are not revoked', async () => {
    const token = newToken('tok_1', 'app_1', { name: 'a', token: 'sop_secret', scopes: [], days: 1 }, 1)
    const plan = await planOf(store, () => tokens.create('acc', token, 1))
    expect(plan.filter((it) => it.includes('INDEX tokens_active (application_id=? AND expires_at'))).toHaveLength(2)
  })

  it('vouchers of an external id are found by it', async () => {
    const plan = await planOf(store, () => vouchers.list({ external_issue_id: 'order-1' }, 1))
    expect(plan.join()).toContain('INDEX vouchers_by_external_id (external_issue_id=?)')
    expect(plan.join()).not.toContain('vouchers_by_age')
  })

  it('vouchers of a small template come from the index of external ids', async () => {
    await store.write(() => run(insertTemplate()))
    const plan = await planOf(store, () => vouchers.list({ template_id: 'tpl_1' }, 1))
    expect(plan.join()).not.toContain('vouchers_by_age')
  })
})

const insertTemplate = () => {
  const row = templateRow({ id: 'tpl_1' })
  const text = (it: unknown) => (typeof it === 'string' ? `'${it}'` : String(it))
  return `insert into templates (${Object.keys(row).join(', ')}) values (${Object.values(row).map(text).join(', ')})`
}
