import { BLOCK_UPDATES, deliveryKind } from '../migrations/0002-bot-counts.js'
import { all, count, interleave, type Op, type Value } from '../operation.js'

/** Rows of a bot of one kind (migrations/0002-bot-counts.ts), on one side of an update id. */
export interface Counted {
  /** Absent for the deliveries of every kind. */
  readonly kind?: string
  readonly side?: '>' | '<='
  readonly id?: number
}

export interface BlockCount {
  /** The block of `n` has the update ids from `block * BLOCK_UPDATES`. */
  readonly block: number
  readonly n: number
}

export const DELIVERY_KIND = deliveryKind('deliveries')

const DELIVERY_KINDS = "'pending', 'manual', 'failed', 'delivered', 'dead_letter', 'cancelled'"

/** SQL for the rows, as the indexes have them. @param params gets the parameters */
function rowsOf(botId: string, { kind, side, id = 0 }: Counted, params: Value[]): string {
  const bot = `bot_id = $${params.push(botId)}`
  const sided = side === undefined ? '' : ` and update_id ${side} $${params.push(id)}`
  if (kind === 'waiting') return `updates where ${bot} and pending = 1${sided}`
  return `deliveries where ${bot}${kind === undefined ? '' : ` and ${DELIVERY_KIND} = $${params.push(kind)}`}${sided}`
}

/** Reads the counts of a kind by block; counts rows only in the block that the id divides. */
export function* blockCounts(botId: string, of: Counted): Op<BlockCount[]> {
  const { kind, side, id = 0 } = of
  const divided = Math.floor(id / BLOCK_UPDATES)
  const params: Value[] = [botId]
  const kinds = kind === undefined ? `kind in (${DELIVERY_KINDS})` : `kind = $${params.push(kind)}`
  const sided = side === undefined ? '' : `and block ${side.slice(0, 1)} $${params.push(divided)}`
  const blocks = yield* all<BlockCount>(
    `select block, cast(sum(n) as bigint) as n from bot_counts where bot_id = $1 and ${kinds} ${sided} group by block`,
    params,
  )
  if (side === undefined) return blocks
  const bounds: Value[] = [divided * BLOCK_UPDATES, (divided + 1) * BLOCK_UPDATES]
  const rows = rowsOf(botId, of, bounds)
  return [...blocks, { block: divided, n: yield* count(`${rows} and update_id >= $1 and update_id < $2`, bounds) }]
}

export function* countedTotal(botId: string, of: Counted): Op<number> {
  return (yield* blockCounts(botId, of)).reduce((sum, { n }) => sum + Number(n), 0)
}

/** The deliveries of a status. @param border the id up to which those that wait are cancelled */
function partsOf(status: string | undefined, border: number): readonly Counted[] {
  if (status === undefined) return [{}]
  if (status === 'delivered' || status === 'dead_letter') return [{ kind: status }]
  const [waiting, cancelled] = [{ side: '>', id: border } as const, { side: '<=', id: border } as const]
  if (status === 'failed') return [{ kind: 'failed', ...waiting }]
  if (status === 'pending') return [{ kind: 'manual' }, { kind: 'pending', ...waiting }]
  return [{ kind: 'cancelled' }, { kind: 'pending', ...cancelled }, { kind: 'failed', ...cancelled }]
}

interface Counts {
  readonly total: number
  /** Returns the update ids of one page, newest first. */
  ids(page: number, limit: number): Op<readonly number[]>
}

/** Counts the deliveries of a bot by status; reads no rows but those in flight and a part of a block. */
export function* deliveryCounts(botId: string, status: string | undefined, border: number): Op<Counts> {
  const inFlight =
    status === undefined
      ? []
      : yield* all<{ update_id: number; kind: string }>(
          `select update_id, ${DELIVERY_KIND} as kind from deliveries
           where bot_id = $1 and lease_until is not null and status = 'delivering' order by update_id desc`,
          [botId],
        )
  if (status === 'delivering') {
    const ids = inFlight.map((it) => it.update_id)
    return {
      total: ids.length,
      *ids(page, limit) {
        return ids.slice((page - 1) * limit, page * limit)
      },
    }
  }
  const parts = partsOf(status, border)
  const blocks = new Map<number, number>()
  const add = (block: number, n: number) => blocks.set(block, (blocks.get(block) ?? 0) + n)
  for (const counts of yield* interleave(...parts.map((it) => blockCounts(botId, it)))) {
    for (const { block, n } of counts) add(block, Number(n))
  }
  // A delivery in flight counts under its status before the claim, but has another one.
  const other = inFlight.filter(({ kind, update_id: id }) =>
    parts.some((it) => it.kind === kind && (it.side === undefined || id > (it.id ?? 0) === (it.side === '>'))),
  )
  for (const { update_id: id } of other) add(Math.floor(id / BLOCK_UPDATES), -1)
  return {
    total: [...blocks.values()].reduce((sum, n) => sum + n, 0),
    *ids(page, limit) {
      let skipped = (page - 1) * limit
      for (const [block, n] of [...blocks].sort(([one], [next]) => next - one)) {
        if (skipped >= n) skipped -= n
        else {
          const end = (block + 1) * BLOCK_UPDATES
          const some = skipped + limit + other.length
          const found = yield* interleave(...parts.map((it) => idsBelow(botId, it, end, some)))
          const left = new Set(found.flat())
          for (const { update_id: id } of other) left.delete(id)
          return [...left].sort((one, next) => next - one).slice(skipped, skipped + limit)
        }
      }
      return []
    },
  }
}

/** Returns the highest update ids of deliveries below `before`, descending. */
function* idsBelow(botId: string, of: Counted, before: number, limit: number): Op<number[]> {
  const params: Value[] = [before, limit]
  const rows = rowsOf(botId, of, params)
  const found = yield* all<{ update_id: number }>(
    `select update_id from ${rows} and update_id < $1 order by update_id desc limit $2`,
    params,
  )
  return found.map((it) => it.update_id)
}
