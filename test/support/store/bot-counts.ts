import type { DeliveryAttemptRow, DeliveryRow, UpdateRow } from '../../../src/domain/bot/rows.js'
import { all, type Op } from '../../../src/store/operation.js'

type Rows = Readonly<{
  deliveries: readonly DeliveryRow[]
  updates: readonly UpdateRow[]
  attempts: readonly DeliveryAttemptRow[]
}>

/** Counts rows as the triggers must: `BOT KIND BLOCK` to the number of rows. */
export function countsOf({ deliveries, updates, attempts }: Rows): Map<string, number> {
  const counts = new Map<string, number>()
  const add = (botId: string, kind: string, block: number) => {
    const key = `${botId} ${kind} ${Math.floor(block)}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const it of deliveries) {
    add(it.bot_id, kindOf(it), it.update_id / 1000)
    if (it.status === 'dead_letter' && it.last_attempt_at !== null) add(it.bot_id, 'dead', it.last_attempt_at / 60_000)
  }
  for (const it of updates) {
    add(it.bot_id, 'updates', it.created_at / 60_000)
    if (it.pending === 1) add(it.bot_id, 'waiting', it.update_id / 1000)
  }
  for (const it of attempts) {
    add(it.bot_id, 'attempts', it.started_at / 60_000)
    if (it.error_code !== null) add(it.bot_id, 'failures', it.started_at / 60_000)
  }
  return counts
}

function kindOf({ status, resume_status: resumed, attempt_count: attempts }: DeliveryRow): string {
  if (status !== 'pending' && status !== 'delivering') return status
  if (resumed === 'delivered' || resumed === 'dead_letter') return 'manual'
  return status === 'delivering' && resumed === null && attempts > 0 ? 'failed' : 'pending'
}

/** Counts that differ from the rows: the stored count, and the number of rows. */
export function* wrongCounts(): Op<Record<string, readonly [kept: number, rows: number]>> {
  const rows = {
    deliveries: yield* all<DeliveryRow>('select * from deliveries'),
    updates: yield* all<UpdateRow>('select * from updates'),
    attempts: yield* all<DeliveryAttemptRow>('select * from delivery_attempts'),
  }
  const counts = countsOf(rows)
  const kept = yield* all<{ bot_id: string; kind: string; block: number; n: number }>(
    'select bot_id, kind, block, cast(sum(n) as bigint) as n from bot_counts group by bot_id, kind, block',
  )
  const found = new Map(kept.map((it) => [`${it.bot_id} ${it.kind} ${it.block}`, Number(it.n)]))
  const wrong: Record<string, readonly [number, number]> = {}
  for (const key of new Set([...counts.keys(), ...found.keys()])) {
    const [one, other] = [found.get(key) ?? 0, counts.get(key) ?? 0]
    if (one !== other) wrong[key] = [one, other]
  }
  return wrong
}
