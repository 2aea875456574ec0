import type { ApplicationRow, TokenRow } from '../domain/application.js'
import type { BotRow, UpdateQueueRow } from '../domain/bot/rows.js'
import { indexCredential } from '../domain/credentials.js'
import type { TemplateRow } from '../domain/template.js'
import { inserting, lock, type Op, one, type Row, type Value } from './operation.js'
import { type Issue, issueNow, type Redeem, type Reverse, redeem, reverse } from './vouchers.js'

interface BotTokenRow {
  readonly token_hash: string
  readonly bot_id: string
  readonly created_at: number
  readonly revoked_at: number | null
}

/** Calls that bring a voucher to its status in the seed. */
export interface VoucherCalls {
  readonly issue: Issue
  readonly redeem?: Omit<Redeem, 'credential'>
  readonly reverse?: Reverse
}

/** Rows of a seed by table; referenced tables come first. */
export interface SeedRows {
  readonly applications: readonly ApplicationRow[]
  readonly tokens: readonly TokenRow[]
  readonly templates: readonly TemplateRow[]
  /** Precede the bots, so that no bot is notified. */
  readonly vouchers: readonly VoucherCalls[]
  readonly bots: readonly BotRow[]
  readonly bot_tokens: readonly BotTokenRow[]
  readonly update_queues: readonly Pick<UpdateQueueRow, 'bot_id' | 'last_update_id' | 'allowed_updates'>[]
}

/** A seed record that differs in the store; `columns` is undefined if the store lacks the record. */
export interface Difference {
  readonly id: string
  readonly columns: readonly string[] | undefined
}

const keys: Readonly<Record<keyof SeedRows, readonly string[]>> = {
  applications: ['id'],
  tokens: ['id'],
  templates: ['application_id', 'id'],
  vouchers: ['application_id', 'template_id', 'external_issue_id'],
  bots: ['id'],
  bot_tokens: ['token_hash'],
  update_queues: ['bot_id'],
}
const tables = Object.keys(keys) as (keyof SeedRows)[]

/** Columns that later calls change: times, counters, update types, and the first token of a bot. */
const changing: readonly string[] = [
  'created_at',
  'updated_at',
  'submitted_at',
  'reviewed_at',
  'linked_at',
  'last_used_at',
  'issued_count',
  'token_prefix',
  'last_update_id',
  'allowed_updates',
]

/** Inserts the rows into an empty store; in any other store only compares them. */
export function* plant(rows: SeedRows): Op<{ planted: boolean; differences: readonly Difference[] }> {
  yield* lock('seed')
  const differences: Difference[] = []
  const planted = yield* isEmpty()
  for (const table of tables) {
    const insert = inserting<object>(table)
    for (const row of rows[table]) {
      if (!planted) differences.push(...(yield* compare(table, 'issue' in row ? lastingColumns(row) : { ...row })))
      else if ('issue' in row) yield* carryOut(row)
      else yield* insert(row)
    }
  }
  return { planted, differences }
}

/** @throws RangeError for a refused call, which a checked seed cannot contain */
function* carryOut({ issue, redeem: use, reverse: undo }: VoucherCalls): Op<void> {
  const issued = yield* issueNow(issue)
  const qrToken = issued.ok ? issued.data.credentials[1]?.value : undefined
  const hashes = [indexCredential(issue.keys.current.index, 'qr_token', qrToken ?? '')]
  const used = use && (yield* redeem({ ...use, credential: { type: 'qr_token', hashes } }))
  for (const it of [issued, used, undo && (yield* reverse(undo))])
    if (it?.ok === false) throw new RangeError(`voucher ${issue.external_issue_id} was refused: ${it.code}`)
}

/** Returns the key of a voucher and the columns that no later call changes. */
function lastingColumns({ issue }: VoucherCalls): Row {
  const { applicationId, template_id, external_issue_id, recipient_user_id, metadata = {} } = issue
  const key = { application_id: applicationId, template_id, external_issue_id }
  return { ...key, recipient_user_id, metadata: JSON.stringify(metadata) }
}

/** Every other row belongs to an application or a bot, except keys, which a server start registers. */
function* isEmpty(): Op<boolean> {
  const application = yield* one('select 1 as n from applications limit 1')
  return application === undefined && (yield* one('select 1 as n from bots limit 1')) === undefined
}

function* compare(table: keyof SeedRows, row: Row): Op<Difference[]> {
  const where = keys[table].map((name, index) => `${name} = $${index + 1}`).join(' and ')
  const params = keys[table].map((name) => row[name] as Value)
  const held = yield* one(`select * from ${table} where ${where}`, params)
  const named = table === 'vouchers' ? `voucher ${row.external_issue_id} of ${row.template_id}` : String(row.id)
  const id = table === 'bot_tokens' ? `the token of ${row.bot_id}` : named
  if (held === undefined) return [{ id, columns: undefined }]
  const columns = Object.keys(row).filter((it) => !changing.includes(it) && valueOf(row, it) !== valueOf(held, it))
  return columns.length === 0 ? [] : [{ id, columns }]
}

/** Value for comparison, independent of the time of planting: a token expires relative to its creation. */
function valueOf(row: Row, column: string): Value | undefined {
  const value = row[column]
  return column === 'expires_at' && value !== null ? Number(value) - Number(row.created_at) : value
}
