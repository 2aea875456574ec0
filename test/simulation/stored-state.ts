import type {
  BotRow,
  DeliveryAttemptRow,
  DeliveryRow,
  UpdateQueueRow,
  UpdateRow,
  WebhookRow,
} from '../../src/domain/bot/rows.js'
import type { IdempotencyRecord } from '../../src/domain/idempotency.js'
import type { TemplateRow } from '../../src/domain/template.js'
import type { RedemptionRow, VoucherRow } from '../../src/domain/voucher.js'
import { all, type Op } from '../../src/store/operation.js'

/** The stored rows that the simulation checks. */
export interface StoredState {
  readonly bots: readonly Pick<BotRow, 'id' | 'status'>[]
  readonly webhooks: readonly WebhookRow[]
  readonly queues: readonly UpdateQueueRow[]
  readonly updates: readonly UpdateRow[]
  readonly deliveries: readonly DeliveryRow[]
  readonly attempts: readonly DeliveryAttemptRow[]
  readonly templates: readonly Pick<TemplateRow, 'id' | 'issued_count' | 'issue_limit'>[]
  readonly vouchers: readonly VoucherRow[]
  readonly redemptions: readonly RedemptionRow[]
  readonly records: readonly IdempotencyRecord[]
}

/** By member of the state: its table and the SQL that reads it. */
const TABLES: Readonly<Record<keyof StoredState, readonly [table: string, sql: string]>> = {
  bots: ['bots', 'select id, status from bots'],
  webhooks: ['webhooks', 'select * from webhooks'],
  queues: ['update_queues', 'select * from update_queues'],
  updates: ['updates', 'select * from updates order by bot_id, update_id'],
  deliveries: ['deliveries', 'select * from deliveries order by bot_id, update_id'],
  attempts: ['delivery_attempts', 'select * from delivery_attempts order by delivery_id, number'],
  templates: ['templates', 'select id, issued_count, issue_limit from templates'],
  vouchers: ['vouchers', 'select * from vouchers'],
  redemptions: ['redemptions', 'select * from redemptions'],
  records: ['idempotency_keys', 'select * from idempotency_keys'],
}

const MEMBERS = Object.keys(TABLES) as (keyof StoredState)[]

/** Reads the state, each table only if it was written since the last read. */
export class StateReader {
  readonly #rows = new Map<keyof StoredState, readonly unknown[]>()

  /** Notes a writing statement. */
  written(sql: string): void {
    const table = /^\s*(?:insert into|update|delete from) (\w+)/.exec(sql)?.[1]
    for (const member of MEMBERS) if (TABLES[member][0] === table) this.#rows.delete(member)
  }

  /** Notes that a transaction was rolled back. */
  clear(): void {
    this.#rows.clear()
  }

  *read(): Op<StoredState> {
    for (const member of MEMBERS) if (!this.#rows.has(member)) this.#rows.set(member, yield* all(TABLES[member][1]))
    return Object.fromEntries(this.#rows) as unknown as StoredState
  }
}

export const EMPTY = Object.fromEntries(MEMBERS.map((it) => [it, []])) as unknown as StoredState

/** Finds the row of an object by its id. */
export const byId = <R extends { readonly id: string }>(rows: readonly R[], id: string): R | undefined =>
  rows.find((it) => it.id === id)

/** Finds the row of a bot in a table with one row per bot. */
export const ofBot = <R extends { readonly bot_id: string }>(rows: readonly R[], botId: string): R | undefined =>
  rows.find((it) => it.bot_id === botId)

/** True for an update that polls return and new webhooks receive, unless it has expired. */
export function isPending(state: StoredState, update: UpdateRow): boolean {
  return update.pending === 1 && update.update_id > (ofBot(state.queues, update.bot_id)?.confirmed_to ?? 0)
}

/** True for a delivery that the backlog of its bot lets go to the present webhook. */
export function isDeliverable(state: StoredState, { bot_id: botId, update_id: updateId }: DeliveryRow): boolean {
  const queue = ofBot(state.queues, botId)
  if (queue === undefined) return false
  return updateId > (queue.confirmed_to ?? 0) && updateId <= (queue.switched_to ?? queue.last_update_id)
}
