import type { BotRow, UpdateQueueRow } from '../domain/bot/rows.js'
import type { ApplicationRow, RedemptionRow, TemplateRow, TokenRow, VoucherRow } from '../domain/rows.js'
import { inserting, lock, type Op, one, type Row, type Value } from './operation.js'

interface BotTokenRow {
  readonly token_hash: string
  readonly bot_id: string
  readonly created_at: number
  readonly revoked_at: number | null
}

/** Rows of a seed by table; referenced tables come first. */
export interface SeedRows {
  readonly applications: readonly ApplicationRow[]
  readonly tokens: readonly TokenRow[]
  readonly templates: readonly TemplateRow[]
  readonly vouchers: readonly VoucherRow[]
  /** Never compared, because later calls redeem and reverse. */
  readonly redemptions: readonly RedemptionRow[]
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
  redemptions: ['application_id', 'id'],
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

/** Columns of a voucher that neither a call nor the time of planting changes. */
const lastingOfVoucher: readonly string[] = ['recipient_user_id', 'metadata']

/** Inserts the rows into an empty store; in any other store only compares them. */
export function* plant(rows: SeedRows): Op<{ planted: boolean; differences: readonly Difference[] }> {
  yield* lock('seed')
  const differences: Difference[] = []
  const planted = yield* isEmpty()
  for (const table of tables) {
    const insert = inserting<object>(table)
    for (const row of rows[table]) {
      if (planted) yield* insert(row)
      else if (table !== 'redemptions') differences.push(...(yield* compare(table, { ...row })))
    }
  }
  return { planted, differences }
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
  const id = nameOf(table, row)
  if (held === undefined) return [{ id, columns: undefined }]
  const compared = table === 'vouchers' ? lastingOfVoucher : Object.keys(row).filter((it) => !changing.includes(it))
  const columns = compared.filter((it) => valueOf(row, it) !== valueOf(held, it))
  return columns.length === 0 ? [] : [{ id, columns }]
}

function nameOf(table: keyof SeedRows, row: Row): string {
  if (table === 'bot_tokens') return `the token of ${row.bot_id}`
  return table === 'vouchers' ? `voucher ${row.external_issue_id} of ${row.template_id}` : String(row.id)
}

/** Value for comparison, independent of the time of planting: a token expires relative to its creation. */
function valueOf(row: Row, column: string): Value | undefined {
  const value = row[column]
  return column === 'expires_at' && value !== null ? Number(value) - Number(row.created_at) : value
}
