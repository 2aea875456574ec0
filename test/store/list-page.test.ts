import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '../../src/domain/application.js'
import type { TemplateRow } from '../../src/domain/template.js'
import * as apps from '../../src/store/apps.js'
import * as bots from '../../src/store/bots/bots.js'
import { metrics } from '../../src/store/bots/calls.js'
import * as chats from '../../src/store/bots/chats.js'
import { INSERT_DELIVERY } from '../../src/store/delivery/backlog.js'
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
import { planOf, statementsOf, stepsOf } from '../support/store/store-steps.js'

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, 0))
  await store.write(() => plantBot('bot_1'))
})
afterEach(() => store.close())

it('list of several slices has each row once, in order', { tags: ['lists/3', 'lists/5'] }, async () => {
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

describe('sorted list of vouchers of several slices', () => {
  // Times, recipients and external ids repeat, also across the ends of slices.
  const last = onPostgres ? 10_500 : 2_500
  const columns = `application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from, valid_until,
    code_hint, key_id, key_counter, redeem_code_hash, qr_token_hash, channel, issued_at, issue_request_id, issued_by,
    metadata, updated_at`
  beforeEach(() =>
    store.write(function* () {
      for (const application_id of ['app_0', 'app_1', 'app_2']) yield* run(insertTemplate({ application_id }))
      yield* run(`insert into vouchers (${columns}) with recursive n (i) as (select 1 union all select i + 1 from n where i < ${last})
        select 'app_' || (i % 3), 'vch_' || i, 'tpl_1', 'order-' || (i / 3), 'user-' || (i % 7), 'issued', 0, 1, 'abcd', 'k',
          0, 'r' || i, 'q' || i, 'direct', 1 + i / 700, 'req', 'tok', '{}', 1 from n`)
      if (onPostgres) yield* run('analyze vouchers')
    }),
  )

  it.each([
    ['issued_at', ['issued_at']],
    ['recipient_user_id', ['recipient_user_id', 'issued_at']],
    ['external_issue_id', ['external_issue_id']],
  ] as const)('pages by %s have each voucher once', { tags: ['lists/3', 'lists/5'] }, async (name, keys) => {
    for (const [sort, direction] of [
      [name, 'asc'],
      [`-${name}`, 'desc'],
    ] as const) {
      const order = [...keys, 'id'].map((it) => `${it} ${direction}`).join(', ')
      const rows = await store.read(() => all<{ id: string }>(`select id from vouchers order by ${order}`))
      for (const page of [1, 10, 11, last / 100, last / 100 + 1]) {
        const list = () => vouchers.list({ sort, page, limit: 100 }, 1)
        const { items, pagination } = await store.read(list)
        expect(items.map((it) => it.id)).toEqual(rows.slice((page - 1) * 100, page * 100).map((it) => it.id))
        expect(pagination.total).toBe(last)
      }
    }
  })

  it.each(['recipient_user_id', '-external_issue_id'] as const)(
    'list by %s since a time leaves out older vouchers',
    async (sort) => {
      const { pagination } = await store.read(() => vouchers.list({ sort, since: 3 }, 1))
      expect(pagination.total).toBe(last - 1_399)
    },
  )

  it.each([
    ['recipient_user_id', ['vch_3', 'vch_4', 'vch_5']],
    ['-recipient_user_id', ['vch_5', 'vch_4', 'vch_3']],
    ['-external_issue_id', ['vch_5', 'vch_4', 'vch_3']],
    ['issued_at', ['vch_3', 'vch_4', 'vch_5']],
  ] as const)('vouchers of one external id are in the order of %s', async (sort, ids) => {
    const { items } = await store.read(() => vouchers.list({ sort, external_issue_id: 'order-1' }, 1))
    expect(items.map((it) => it.id)).toEqual(ids)
  })

  it.runIf(onPostgres).each([
    ['issued_at', 'vouchers_by_age'],
    ['-recipient_user_id', 'vouchers_by_recipient'],
    ['external_issue_id', 'vouchers_by_external_id'],
  ] as const)('PostgreSQL reads the list by %s in the order of an index', async (sort, index) => {
    const steps = await stepsOf(store, () => vouchers.list({ sort }, 1))
    for (const { sql, params } of steps.flatMap(statementsOf).filter((it) => it.sql.includes('slice'))) {
      const plan = await store.read(() => all<{ 'QUERY PLAN': string }>(`explain ${sql}`, params))
      const text = plan.map((it) => it['QUERY PLAN']).join('\n')
      expect(text).toContain(`using ${index}`)
      expect(text).not.toContain('Seq Scan')
    }
  })
})

it('deliveries of one update id are in the order of their bots', { tags: 'lists/3' }, async () => {
  await store.write(function* () {
    yield* plantBot('bot_2')
    for (const bot of ['bot_1', 'bot_2']) yield* run(INSERT_DELIVERY, [`dlv of ${bot}`, bot, 7, 'ping', 'chat_1', 1])
  })
  for (const [sort, ids] of [
    ['bot_id', ['dlv of bot_1', 'dlv of bot_2']],
    ['-bot_id', ['dlv of bot_2', 'dlv of bot_1']],
  ] as const) {
    const { items } = await store.read(() => deliveries.listAll({ sort, update_id: 7 }))
    expect(items.map((it) => it.id)).toEqual(ids)
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
  ['oldest vouchers', () => vouchers.list({ sort: 'issued_at', since: 5 }, 1), 'vouchers_by_age'],
  ['vouchers by recipient', () => vouchers.list({ sort: '-recipient_user_id' }, 1), 'vouchers_by_recipient'],
  [
    'vouchers by external id',
    () => vouchers.list({ sort: 'external_issue_id', since: 5, status: 'issued' }, 1),
    'vouchers_by_external_id',
  ],
  ['oldest deliveries', () => deliveries.listAll({ sort: 'created_at', bot_id: 'bot_1' }), 'deliveries_by_age'],
  [
    'deliveries by bot',
    () => deliveries.listAll({ sort: 'bot_id', status: 'failed' }),
    'sqlite_autoindex_deliveries_2 ((bot_id,update_id)>(?,?) AND (bot_id,update_id)<(?,?))',
  ],
  ['oldest templates', () => templates.listAll({ sort: 'created_at' }), 'templates_of_all_by_age'],
  ['templates by external id', () => templates.listAll({ sort: '-external_template_id' }), 'templates_by_own_id'],
  [
    'templates of an application by external id',
    () => templates.listAll({ sort: 'external_template_id', application_id: 'app_1' }),
    'templates_by_any_external_id',
  ],
  ['deliveries of a chat', () => deliveries.listAll({ chat_id: 'chat_1', status: 'failed' }), 'deliveries_by_chat'],
  ['metrics', () => metrics('acc', 'bot_1', 1), 'delivery_attempts_by_bot'],
]

describe.skipIf(onPostgres)('indexes that SQLite chooses for empty tables', () => {
  it.each(lists)('%s come from the index of their order', async (_name, op, index) => {
    const plan = await planOf(store, op)
    const table = plan.find((it) => it.includes(`INDEX ${index}`))?.split(' ')[1]
    const others = plan.filter((it) => it.split(' ')[1] === table && !it.includes(`INDEX ${index}`))
    expect([table === undefined, others]).toEqual([false, []])
    // Applications are sorted to count their tokens.
    if (table !== 'applications') expect(plan).not.toContain('USE TEMP B-TREE FOR ORDER BY')
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
    await store.write(() => run(insertTemplate({})))
    const plan = await planOf(store, () => vouchers.list({ template_id: 'tpl_1' }, 1))
    expect(plan.join()).not.toContain('vouchers_by_age')
  })
})

const insertTemplate = (values: Partial<TemplateRow>) => {
  const row = templateRow({ id: 'tpl_1', ...values })
  const text = (it: unknown) => (typeof it === 'string' ? `'${it}'` : String(it))
  return `insert into templates (${Object.keys(row).join(', ')}) values (${Object.values(row).map(text).join(', ')})`
}
