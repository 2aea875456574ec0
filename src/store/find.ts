import type { OutputOf } from '../contract/endpoint.js'
import type { FoundRecord, platformActing } from '../contract/platform/acting.js'
import { SLICE_ROWS } from './list-page.js'
import { all, interleave, type Op, type Value } from './operation.js'
import type { HashedCredential } from './vouchers.js'

/** Maximum records of one search. */
const FOUND_MAX = 20

type Kind = FoundRecord['kind']

/** The newest rows of a table, which may be read without an index for the wanted column. */
const newest = (table: string) => `(select * from ${table} order by created_at desc, id desc limit ${SLICE_ROWS})`

/** SQL of the id, the name and the detail of a record. */
const columns: Readonly<Record<Kind, string>> = {
  // Not a join, for which PostgreSQL may read all templates.
  voucher: `v.id, (select t.name from templates t where t.application_id = v.application_id and t.id = v.template_id)
    as name, v.recipient_user_id as detail`,
  template: 't.id, t.name, t.external_template_id as detail',
  application: 'a.id, a.name, a.account_id as detail',
  bot: 'b.id, b.name, b.username as detail',
  chat: 'c.id, b.name, c.user_id as detail',
  delivery: 'd.id, d.update_type as name, b.name as detail',
}
/** Keys of vouchers begin with the application. SQLite reads tables of a cross join in order, so it uses the key. */
const vouchers = 'applications a cross join vouchers v where v.application_id = a.id and'

type Search = readonly [kind: Kind, from: string]

/** SQL after `from` for the records that a text names, found by indexes. */
const exact: readonly Search[] = [
  ['voucher', `${vouchers} v.id = $1`],
  [
    'voucher',
    `applications a cross join redemptions r
     join vouchers v on v.application_id = r.application_id and v.id = r.voucher_id
     where r.application_id = a.id and r.id = $1`,
  ],
  ['template', 'templates t where t.id = $1'],
  ['application', 'applications a where a.id = $1'],
  ['application', 'tokens k join applications a on a.id = k.application_id where k.id = $1'],
  ['bot', 'bots b where b.id = $1'],
  ['chat', 'chats c join bots b on b.id = c.bot_id where c.id = $1'],
  ['delivery', 'deliveries d join bots b on b.id = d.bot_id where d.id = $1'],
  ['template', 'templates t where t.external_template_id = $1'],
  ['voucher', 'vouchers v where v.external_issue_id = $1'],
  ['chat', 'chats c join bots b on b.id = c.bot_id where c.user_id = $1'],
  ['voucher', 'vouchers v where v.recipient_user_id = $1 order by v.issued_at desc'],
]
const byUsername: Search = ['bot', 'bots b where b.username = $1']
/** Each bot counts its updates from 1, so most bots have an update with a small number. */
const byUpdateId: Search = [
  'delivery',
  `${newest('bots')} b join deliveries d on d.bot_id = b.id where d.update_id = $1`,
]
const named: readonly Search[] = [
  ['application', `${newest('applications')} a`],
  ['template', `${newest('templates')} t`],
  ['bot', `${newest('bots')} b`],
]

// Formatted on demand: the first formatted number of a process takes 10 ms.
const nothingFound = () =>
  `Names and update ids were looked for only in the newest ${SLICE_ROWS.toLocaleString('en')} records.`
const MORE_FOUND = `More records fit; these are the first ${FOUND_MAX}.`

/**
 * Finds records of all applications, exact matches first.
 * @param hashed the text as a credential of each type, without hashes if it has another form
 * @returns the records, and a note for the user about records that may be missing
 */
export function* find(text: string, hashed: readonly HashedCredential[]): Op<OutputOf<typeof platformActing.find>> {
  const found = yield* interleave(
    ...hashed.flatMap(({ type, hashes }) =>
      hashes.map((hash) => records(['voucher', `${vouchers} v.${type}_hash = $1`], hash)),
    ),
    ...exact.map((it) => records(it, text)),
    records(byUsername, text.replace(/^@/, '').toLowerCase()),
    ...(/^[0-9]{1,12}$/.test(text) ? [records(byUpdateId, Number(text))] : []),
    ...named.map((it) => namesLike(it, text.toLowerCase())),
  )
  const items = [...new Map(found.flat().map((it) => [`${it.kind} ${it.id}`, it])).values()]
  const note = items.length === 0 ? nothingFound() : items.length > FOUND_MAX ? MORE_FOUND : null
  return { items: items.slice(0, FOUND_MAX), note }
}

function* records([kind, from]: Search, ...values: Value[]): Op<FoundRecord[]> {
  const limit = values.length === 0 ? '' : `limit ${FOUND_MAX + 1}`
  const rows = yield* all<Omit<FoundRecord, 'kind'>>(`select ${columns[kind]} from ${from} ${limit}`, values)
  return rows.map((it) => ({ kind, ...it }))
}

/** Compares names here, because the engines differ in the lower case of letters. */
function* namesLike(search: Search, start: string): Op<FoundRecord[]> {
  if (start === '') return []
  // The text may begin any word of a name.
  const isLike = (name: string | null) => ` ${name?.toLowerCase()}`.includes(` ${start}`)
  return (yield* records(search)).filter((it) => isLike(it.name) || (it.kind === 'bot' && isLike(it.detail)))
}
