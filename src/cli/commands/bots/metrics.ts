import { type BotMetrics, bots as contract } from '../../../contract/bots.js'
import { callLeaf } from '../../command/leaf.js'
import { plainLine } from '../../output/text.js'

const BAR_COLUMNS = 32

export const metrics = callLeaf({
  name: 'metrics',
  endpoint: contract.metrics,
  examples: ['voucherctl bots metrics bot_01JC…'],
  view: { headline: () => 'The last 24 hours', body: chart },
})

/** Draws counters as bars, scaled to the largest one; skips counters that the server omits. */
export function chart(metrics: Partial<BotMetrics> | null): string {
  const { calls, errors, quota, updates, webhook } = metrics ?? {}
  const sections = [
    histogram('calls', calls?.total, calls?.by_method),
    histogram('errors', errors?.total, errors?.by_code),
    errors?.total ? histogram('errors by status', errors.total, errors.by_status) : '',
    histogram('webhook attempts', webhook?.attempts, {
      delivered: webhook?.delivered,
      failed: webhook?.failed,
    }),
    lines([
      ['updates', updates],
      ['dead letters', webhook?.dead_letter],
      [
        'success rate',
        typeof webhook?.success_rate === 'number' ? `${(webhook.success_rate * 100).toFixed(1)} %` : '-',
      ],
      ['duration', `p50 ${ms(webhook?.p50_ms)}, p95 ${ms(webhook?.p95_ms)}`],
      ['quota', typeof quota?.limit === 'number' ? `${quota.used} of ${quota.limit} calls a minute` : 'unlimited'],
    ]),
  ]
  return sections.filter((it) => it !== '').join('\n\n')
}

const ms = (value: number | null | undefined) => (typeof value === 'number' ? `${Math.round(value)} ms` : '-')

function histogram(
  title: string,
  total: number | undefined,
  counts: Readonly<Record<string, number | undefined>> | undefined,
): string {
  const rows = Object.entries(counts ?? {}).filter((row): row is [string, number] => typeof row[1] === 'number')
  const largest = Math.max(1, ...rows.map(([, count]) => count))
  const labels = Math.max(0, ...rows.map(([name]) => name.length))
  const digits = Math.max(0, ...rows.map(([, count]) => String(count).length))
  const bar = (count: number) => '█'.repeat(count === 0 ? 0 : Math.max(1, Math.round((count / largest) * BAR_COLUMNS)))
  const shown = rows
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) =>
      plainLine(`  ${name.padEnd(labels)}  ${String(count).padStart(digits)}  ${bar(count)}`).trimEnd(),
    )
  return [`${title}: ${total ?? '-'}`, ...shown].join('\n')
}

function lines(rows: readonly (readonly [string, unknown])[]): string {
  const labels = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => plainLine(`${label.padEnd(labels)}  ${String(value ?? '-')}`)).join('\n')
}
