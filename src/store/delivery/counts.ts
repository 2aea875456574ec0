import type { PageRequest } from '../list-page.js'
import { BLOCK_UPDATES, deliveryKind } from '../migrations/0002-bot-counts.js'
import { all, count, interleave, type Op, type Value } from '../operation.js'
import { selecting } from '../select.js'

/** Rows of one kind that belong to a bot (migrations/0002-bot-counts.ts), on one side of an update id. */
export interface Counted {
  /** Kind of the rows; absent for deliveries of every kind. */
  readonly kind?: string
  readonly side?: '>' | '<='
  readonly id?: number
}

export interface BlockCount {
  /** Number of the block; it starts at update id `block * BLOCK_UPDATES`. */
  readonly block: number
  readonly n: number
}

export const DELIVERY_KIND = deliveryKind('deliveries')

/** SQL for deliveries in flight. The condition on the chat makes SQLite use the index of leases. */
export const IN_FLIGHT = "chat_key >= '' and lease_until is not null"

const DELIVERY_KINDS = "'pending', 'manual', 'failed', 'delivered', 'dead_letter', 'cancelled'"

/** SQL for the rows with ids from `from` to below `to`, for use of the indexes. @param params gets parameters */
function rowsOf(botId: string, { kind, side, id = 0 }: Counted, from: number, to: number, params: Value[]): string {
  // Use one lower and one upper bound: with two upper bounds, SQLite reads all rows up to the second one.
  const lowest = side === '>' ? Math.max(from, id + 1) : from
  const end = side === '<=' ? Math.min(to, id + 1) : to
  const bot = `bot_id = $${params.push(botId)}`
  const bounds = `update_id >= $${params.push(lowest)} and update_id < $${params.push(end)}`
  if (kind === 'waiting') return `updates where ${bot} and pending = 1 and ${bounds}`
  return `deliveries where ${bot}${kind === undefined ? '' : ` and ${DELIVERY_KIND} = $${params.push(kind)}`} and ${bounds}`
}

/** Reads the counts of a kind, per block or as a sum. Counts single rows only in the block that contains the id. */
export function* blockCounts(botId: string, of: Counted, byBlock = true): Op<BlockCount[]> {
  const { kind, id = 0 } = of
  const side = of.side === '>' && id === 0 ? undefined : of.side
  const divided = Math.floor(id / BLOCK_UPDATES)
  const params: Value[] = [botId]
  const kinds = kind === undefined ? `kind in (${DELIVERY_KINDS})` : `kind = $${params.push(kind)}`
  const sided = side === undefined ? '' : `and block ${side.slice(0, 1)} $${params.push(divided)}`
  const blocks = yield* all(
    selecting<BlockCount>()(`select ${byBlock ? 'block' : '0 as block'}, cast(coalesce(sum(n), 0) as bigint) as n
     from bot_counts where bot_id = $1 and ${kinds} ${sided} ${byBlock ? 'group by block' : ''}`),
    params,
  )
  if (side === undefined) return blocks
  const divides: Value[] = []
  const rows = rowsOf(botId, of, divided * BLOCK_UPDATES, (divided + 1) * BLOCK_UPDATES, divides)
  return [...blocks, { block: divided, n: yield* count(rows, divides) }]
}

export function* countedTotal(botId: string, of: Counted): Op<number> {
  return (yield* blockCounts(botId, of, false)).reduce((sum, { n }) => sum + Number(n), 0)
}

/** Kinds of the deliveries with a status. @param border id up to which pending deliveries are cancelled */
function partsOf(status: string | undefined, border: number): readonly Counted[] {
  if (status === undefined) return [{}]
  if (status === 'delivered' || status === 'dead_letter') return [{ kind: status }]
  const [waiting, cancelled] = [{ side: '>', id: border } as const, { side: '<=', id: border } as const]
  if (status === 'failed') return [{ kind: 'failed', ...waiting }]
  if (status === 'pending') return [{ kind: 'manual' }, { kind: 'pending', ...waiting }]
  return [{ kind: 'cancelled' }, { kind: 'pending', ...cancelled }, { kind: 'failed', ...cancelled }]
}

/**
 * Counts a bot's deliveries by status, and finds one page of update ids, newest first. Reads only the rows in flight,
 * the rows of the page, and part of one block.
 */
export function* deliveryPage(
  botId: string,
  status: string | undefined,
  border: number,
  { page = 1, limit = 0 }: PageRequest = {},
): Op<{ readonly total: number; readonly ids: readonly number[] }> {
  let skipped = (page - 1) * limit
  const inFlight = yield* all(
    selecting<{ update_id: number; kind: string }>()(`select update_id, ${DELIVERY_KIND} as kind from deliveries
     where bot_id = $1 and ${IN_FLIGHT} and status = 'delivering'`),
    [botId],
  )
  if (status === 'delivering') {
    const ids = inFlight.map((it) => it.update_id).sort((one, next) => next - one)
    return { total: ids.length, ids: ids.slice(skipped, skipped + limit) }
  }
  const parts = partsOf(status, border)
  const blocks = new Map<number, number>()
  const add = (block: number, n: number) => blocks.set(block, (blocks.get(block) ?? 0) + n)
  for (const counts of yield* interleave(...parts.map((it) => blockCounts(botId, it, limit > 0)))) {
    for (const { block, n } of counts) add(block, Number(n))
  }
  // A delivery in flight is counted under its status before the claim, but its row has another one.
  const others = inFlight.filter(({ kind, update_id: id }) =>
    parts.some((it) => it.kind === kind && (it.side === undefined || id > (it.id ?? 0) === (it.side === '>'))),
  )
  for (const { update_id: id } of others) add(Math.floor(id / BLOCK_UPDATES), -1)
  const total = [...blocks.values()].reduce((sum, n) => sum + n, 0)
  if (limit === 0 || skipped >= total) return { total, ids: [] }

  const descending = [...blocks].sort(([one], [next]) => next - one)
  const place = descending.findIndex(([, n]) => skipped < n || (skipped -= n) < 0)
  const end = ((descending[place]?.[0] ?? 0) + 1) * BLOCK_UPDATES
  // Merge rows of several kinds here, and leave out rows in flight.
  const offset = parts.length === 1 && others.length === 0 ? skipped : 0
  const some = skipped + limit + others.length - offset
  const found = yield* interleave(...parts.map((it) => idsBelow(botId, it, end, some, offset)))
  const shown = found.flat().filter((id) => !others.some((it) => it.update_id === id))
  const first = skipped - offset
  return { total, ids: shown.sort((one, next) => next - one).slice(first, first + limit) }
}

/** Returns the highest update ids of deliveries below `before`. */
function* idsBelow(botId: string, of: Counted, before: number, limit: number, offset: number): Op<number[]> {
  const params: Value[] = [limit, offset]
  const rows = rowsOf(botId, of, 0, before, params)
  const sql = `select update_id from ${rows} order by update_id desc limit $1 offset $2`
  return (yield* all<{ update_id: number }>(sql, params)).map((it) => it.update_id)
}
