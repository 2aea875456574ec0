import { webhook as contract, type Delivery, type DeliveryAttempt } from '../../../contract/webhook.js'
import { callLeaf } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { member, ownerFlag } from '../../flags/flags.js'
import type { Times } from '../../output/screen.js'
import { isList, type List } from '../../output/select-fields.js'
import { pageOf } from '../../output/show.js'
import { plainLine, timeInList } from '../../output/text.js'

export const deliveries = listLeaf({
  name: 'deliveries',
  endpoint: contract.deliveries,
  notes: ['For each delivery a line of its attempts: when, how it ended, how long it took.'],
  flags: { status: member('Only these') },
  examples: [
    'voucherctl webhook deliveries bot_01JC…',
    'voucherctl webhook deliveries bot_01JC… --status dead_letter --json --fields id,update_id',
  ],
  view: { body: (data: unknown, times) => (isList(data) ? timelines(data, times) : '') },
})

export const retry = callLeaf({
  name: 'retry',
  endpoint: contract.retry,
  positional: {
    name: 'DELIVERY_ID',
    summary: 'Id of the delivery, dlv_…, or the number of the update',
    ask: 'Delivery or update id',
  },
  flags: {
    bot: ownerFlag(
      'deliveries',
      member('Bot, bot_…; default: the only one, or the one that has the delivery', 'ID'),
      'Bot id',
    ),
    force: member('Also when it was delivered'),
  },
  examples: ['voucherctl webhook retry dlv_01JC…', 'voucherctl webhook retry 17 --bot bot_01JC… --force'],
  view: {
    headline: (it) => `Update ${it.update_id} is on its way again.`,
    members: ['id', 'update_id', 'update_type', 'status', 'attempt_count', 'manual_attempt_count'],
    next: (it) => `See how it went: ${suggested`webhook deliveries ${it.bot_id}`}`,
  },
  check: ({ flags }) => suggested`webhook deliveries ${flags.bot}`,
})

function timelines({ items, pagination }: List, times: Times): string | undefined {
  if (items.length === 0) return undefined
  const blocks = (items as Partial<Delivery>[]).map((it) => timeline(it, times))
  const { page, pages, total } = pagination ?? { page: 1, pages: 1, total: 0 }
  const footer = pages > 1 ? [pageOf(page, pages, total)] : []
  return [...blocks, ...footer].join('\n\n')
}

export function timeline(delivery: Partial<Delivery>, times: Times): string {
  const { id, update_id, update_type, status, cancel_reason, next_attempt_at, attempts, last_error } = delivery
  // A delivery that failed without an attempt is late by a planted fault.
  const why = cancel_reason ?? (attempts?.length === 0 ? last_error?.message : undefined)
  const reason = why ? ` (${why})` : ''
  const head = `#${update_id}  ${update_type}  ${status}${reason}  ${id}`
  const rows = (Array.isArray(attempts) ? attempts : []).map((it) => attemptLine(it, times))
  const due = status === 'failed' && next_attempt_at ? [`  …  ${timeInList(next_attempt_at, times)}  next attempt`] : []
  return [head, ...rows, ...due].map(plainLine).join('\n')
}

function attemptLine(attempt: DeliveryAttempt, times: Times): string {
  const { started_at, status_code, error, duration_ms, manual } = attempt
  // The status explains an HTTP failure; other failures need their message.
  const reason = error && error.code !== 'http_status' ? (error.message ?? error.code) : undefined
  const parts = [
    error ? '✗' : '✓',
    timeInList(started_at, times),
    status_code ?? undefined,
    reason,
    `${duration_ms} ms`,
    manual ? 'by hand' : undefined,
    'fault' in attempt ? `fault ${attempt.fault}` : undefined,
  ]
  return `  ${parts.filter((it) => it !== undefined).join('  ')}`
}
