import type { FoundRecord } from '../contract/platform/acting.js'
import { SLICE_ROWS } from './list-page.js'
import { all, interleave, type Op, type Value } from './operation.js'
import type { HashedCredential } from './vouchers.js'

/** Maximum records of one search. */
const FOUND_MAX = 20

type Kind = FoundRecord['kind']
type FoundRow = Omit<FoundRecord, 'kind'>

/** The newest rows of a table, which may be read without an index for the wanted column. */
const newest = (table: string, at = 'created_at') =>
  `(select * from ${table} order by ${at} desc, id desc limit ${SLICE_ROWS})`

const anyApplication = '(select id from applications)'
const templateOfVoucher = 'templates t on t.application_id = v.application_id and t.id = v.template_id'
const voucherColumns = 'v.id, t.name, v.recipient_user_id as detail'
const chatColumns = 'c.id, b.name, c.user_id as detail'
const deliveryColumns = 'd.id, d.update_type as name, b.name as detail'

/** SQL of the records that an exact text finds, by indexes or among the newest rows. */
const exact: readonly (readonly [kind: Kind, sql: string])[] = [
  [
    'voucher',
    `${voucherColumns} from vouchers v join ${templateOfVoucher} where v.application_id in ${anyApplication} and v.id = $1`,
  ],
  [
    'voucher',
    `${voucherColumns} from redemptions r join vouchers v on v.application_id = r.application_id and v.id = r.voucher_id
     join ${templateOfVoucher} where r.application_id in ${anyApplication} and r.id = $1`,
  ],
  ['template', 'id, name, external_template_id as detail from templates where id = $1'],
  ['application', 'id, name, account_id as detail from applications where id = $1'],
  [
    'application',
    'a.id, a.name, a.account_id as detail from tokens t join applications a on a.id = t.application_id where t.id = $1',
  ],
  ['bot', 'id, name, username as detail from bots where id = $1'],
  ['chat', `${chatColumns} from chats c join bots b on b.id = c.bot_id where c.id = $1`],
  ['delivery', `${deliveryColumns} from deliveries d join bots b on b.id = d.bot_id where d.id = $1`],
  [
    'template',
    `id, name, external_template_id as detail from templates
     where application_id in (select id from applications union all select '') and external_template_id = $1`,
  ],
  // The index of external ids begins with the template.
  [
    'voucher',
    `v.id, t.name, v.recipient_user_id as detail from ${newest('templates')} t join vouchers v
     on v.application_id = t.application_id and v.template_id = t.id and v.external_issue_id = $1`,
  ],
  ['chat', `${chatColumns} from ${newest('bots')} b join chats c on c.bot_id = b.id and c.user_id = $1`],
  [
    'voucher',
    `${voucherColumns} from ${newest('vouchers', 'issued_at')} v join ${templateOfVoucher} where v.recipient_user_id = $1`,
  ],
]

const byUpdateId = `${deliveryColumns} from ${newest('bots')} b join deliveries d on d.bot_id = b.id and d.update_id = $1`

/** Tables whose newest names are compared with the text, each with its second name. */
const named = [
  ['application', 'applications', 'account_id'],
  ['template', 'templates', 'external_template_id'],
  ['bot', 'bots', 'username'],
] as const

/**
 * Finds records of all applications, exact matches first.
 * @param hashed the text as a credential of each type; without hashes if it is none
 */
export function* find(text: string, hashed: readonly HashedCredential[]): Op<FoundRecord[]> {
  const found = yield* interleave(
    ...hashed.flatMap(({ type, hashes }) => hashes.map((hash) => records('voucher', byHash(type), hash))),
    ...exact.map(([kind, sql]) => records(kind, sql, text)),
    ...(/^[0-9]{1,12}$/.test(text) ? [records('delivery', byUpdateId, Number(text))] : []),
    ...named.map(([kind, table, second]) => namesLike(kind, table, second, text.toLowerCase())),
  )
  const byKey = new Map(found.flat().map((it) => [`${it.kind} ${it.id}`, it]))
  return [...byKey.values()].slice(0, FOUND_MAX)
}

const byHash = (type: HashedCredential['type']) =>
  `${voucherColumns} from vouchers v join ${templateOfVoucher} where v.application_id in ${anyApplication} and v.${type}_hash = $1`

function* records(kind: Kind, sql: string, value: Value): Op<FoundRecord[]> {
  const rows = yield* all<FoundRow>(`select ${sql} limit ${FOUND_MAX}`, [value])
  return rows.map((it) => ({ kind, ...it }))
}

/** Compares names here, because the engines differ in the lower case of letters. */
function* namesLike(kind: Kind, table: string, second: string, start: string): Op<FoundRecord[]> {
  if (start === '') return []
  const rows = yield* all<FoundRow>(`select id, name, ${second} as detail from ${newest(table)} r`)
  return rows.flatMap((it) => {
    const isLike = [it.name, kind === 'bot' ? it.detail : null].some((name) => name?.toLowerCase().startsWith(start))
    return isLike ? [{ kind, ...it }] : []
  })
}
