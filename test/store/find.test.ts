import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as apps from '../../src/store/apps.js'
import { find } from '../../src/store/find.js'
import { all, inserting, run } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import * as templates from '../../src/store/templates.js'
import { plantBot } from '../support/server/webhooks.js'
import { onPostgres } from '../support/store/engine-name.js'
import { openTestStore } from '../support/store/engines.js'
import { fullScansOfFind } from '../support/store/find-plans.js'
import { redemptionRow, templateRow, voucherRow } from '../support/store/rows.js'

/** Newer rows of each table than the one that a search must find: more than it reads without an index. */
const NEWER = 1_100

const numbers = (sql: string) =>
  `${sql} from (with recursive n (i) as (select 1 union all select i + 1 from n where i < ${NEWER}) select i from n) n`

/** Inserts rows, most of them copies of the oldest row of a table, with other ids, own ids, users and names. */
const newerRows = [
  `${numbers(`insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name,
     fulfiller_name, fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status, metadata,
     created_at, updated_at) select application_id, 'tpl_' || (i + 1), account_id, 'own-' || i, 'other', type,
     issuer_name, fulfiller_name, fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status,
     metadata, i, i`)}, templates where id = 'tpl_1'`,
  `${numbers(`insert into vouchers (application_id, id, template_id, external_issue_id, recipient_user_id, state,
     valid_from, valid_until, code_hint, key_id, key_counter, redeem_code_hash, qr_token_hash, channel, issued_at,
     issue_request_id, issued_by, metadata, updated_at) select application_id, 'vch_' || (i + 1), template_id,
     'other-' || i, 'other-' || i, state, valid_from, valid_until, code_hint, key_id, key_counter, 'r' || i, 'q' || i,
     channel, issued_at + i, issue_request_id, issued_by, metadata, updated_at`)}, vouchers where id = 'vch_1'`,
  `${numbers(`insert into redemptions (application_id, id, voucher_id, template_id, external_issue_id,
     recipient_user_id, credential_type, metadata, redeemed_at, redeem_request_id, redeem_idempotency_key, redeemed_by,
     reversed_at) select application_id, 'rdm_' || (i + 1), 'vch_' || (i + 1), template_id, external_issue_id,
     recipient_user_id, credential_type, metadata, redeemed_at, redeem_request_id, redeem_idempotency_key, redeemed_by,
     reversed_at`)}, redemptions where id = 'rdm_1'`,
  `${numbers(`insert into bots (id, account_id, name, username, review_status, status, scopes, profile, command_menus,
     submitted_at, created_at, updated_at) select 'bot_' || (i + 1), account_id, 'other', 'other_' || i, review_status,
     status, scopes, profile, command_menus, i, created_at + i, i`)}, bots where id = 'bot_1'`,
  numbers(`insert into tokens (id, application_id, name, token_hash, token_prefix, last4, scopes, created_at)
     select 'tok_' || i, 'app_1', 'other', 'hash' || i, 'sop_', 'abcd', '[]', i`),
  numbers(`insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
     manual_attempt_count, created_at, ready) select 'dlv_' || i, 'bot_1', i, 'ping', 'c', 'delivered', 1, 0, i, 0`),
  numbers(`insert into chats (id, bot_id, user_id, type, blocked, last_message_id, created_at)
     select 'chat_' || (i + 1), 'bot_' || (i + 1), 'other-' || i, 'private', 0, 0, i`),
]

let store: Store
beforeAll(async () => {
  store = openTestStore()
  await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, 0))
  await store.write(() => templates.create(templateRow({ external_template_id: 'own-id', name: 'Zebra ride' })))
  await store.write(() => inserting('vouchers')(voucherRow({ external_issue_id: 'order-7', recipient_user_id: 'ann' })))
  await store.write(() => inserting('redemptions')(redemptionRow({ reversed_at: 1, reversed_by: 'tok_1' })))
  await store.write(() => plantBot('bot_1'))
  await store.write(() =>
    run(`insert into chats (id, bot_id, user_id, type, blocked, last_message_id, created_at)
      values ('chat_1', 'bot_1', 'ann', 'private', 0, 0, 0)`),
  )
  for (const sql of newerRows) await store.write(() => run(sql))
  // Servers with PostgreSQL analyze their tables in the background; SQLite never does.
  if (onPostgres) await store.write(() => run('analyze'))
})
afterAll(() => store.close())

const codes = [
  { type: 'redeem_code', hashes: ['hash of a code'] },
  { type: 'qr_token', hashes: ['hash of a token'] },
] as const

const idsOf = async (text: string, hashed: Parameters<typeof find>[1] = []) =>
  (await store.read(() => find(text, hashed))).items.map((it) => it.id)

describe('search beyond the newest 1,000 records', () => {
  it.each([
    ['vch_1', ['vch_1']],
    ['rdm_1', ['vch_1']],
    ['order-7', ['vch_1']],
    ['ann', ['chat_1', 'vch_1']],
    ['tpl_1', ['tpl_1']],
    ['own-id', ['tpl_1']],
    ['app_1', ['app_1']],
    ['bot_1', ['bot_1']],
    ['chat_1', ['chat_1']],
  ])('finds the oldest record by %s', async (text, ids) => {
    expect(await idsOf(text)).toEqual(ids)
  })

  it.each(codes)('finds the oldest voucher by the hash of its $type', async (credential) => {
    expect(await idsOf('a code', [credential])).toEqual(['vch_1'])
  })

  it('finds the oldest bot by its username, also with @ and in capitals', async () => {
    const [bot] = await store.read(() => all<{ username: string }>("select username from bots where id = 'bot_1'"))
    const username = String(bot?.username)
    for (const text of [username, `@${username}`, username.toUpperCase()]) expect(await idsOf(text)).toEqual(['bot_1'])
  })

  it('finds no name of the oldest record, and says where it looked', { tags: 'operator-api/3' }, async () => {
    const { items, note } = await store.read(() => find('zebra', []))
    expect([items, note]).toEqual([[], 'Names and update ids were looked for only in the newest 1,000 records.'])
  })

  it('says that more than 20 records fit', async () => {
    const { items, note } = await store.read(() => find('other', []))
    expect([items.length, note]).toEqual([20, 'More records fit; these are the first 20.'])
  })

  it('reads no whole table or index for ids, own ids, users, usernames and codes', async () => {
    const explain = onPostgres ? 'explain' : 'explain query plan'
    const scans = await fullScansOfFind(async (sql, params) => {
      const rows = await store.read(() => all(`${explain} ${sql}`, params))
      return rows.map((it) => String(it.detail ?? it['QUERY PLAN']))
    })
    expect(scans).toEqual([])
  })
})
