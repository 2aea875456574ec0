import { platform as contract, type Totals } from '../../../contract/platform/platform.js'
import { callLeaf } from '../../command/leaf.js'
import { member } from '../../flags/flags.js'
import { instant, type Moment, moment } from '../../flags/time.js'
import type { Times } from '../../output/screen.js'
import { plainLine, withTimes } from '../../output/text.js'

const BAR_COLUMNS = 16

/** Start of the range: a time, or seconds before the present time of the server's clock. */
function startOf(moment: Moment) {
  if ('instant' in moment) return { from: moment.instant }
  return moment.agoMs >= 1000 ? { seconds: Math.round(moment.agoMs / 1000) } : undefined
}

export const totals = callLeaf({
  name: 'totals',
  endpoint: contract.totals,
  notes: ['A redemption counts even if it was reversed later.'],
  flags: {
    since: {
      ...moment('Since this time, or in the last 7d; default 24h', startOf, '7d'),
      member: ['from', 'seconds'],
    },
    until: instant('Until this time; default now'),
    buckets: member('Number of periods, default 24', 'N'),
    template: member('Only vouchers of this template, tpl_…', 'ID'),
  },
  examples: ['voucherctl platform totals --since 7d --buckets 7'],
  view: { headline: sum, body: chart, members: ['from', 'issued', 'redeemed'] },
})

function sum({ items, until, complete }: Totals): string {
  const all = (member: 'issued' | 'redeemed') => items.reduce((total, it) => total + it[member], 0)
  const counts = `${all('issued')} issued and ${all('redeemed')} redeemed until ${plainLine(until)}.`
  return complete ? counts : `At least ${counts} There are too many to count all.`
}

function chart({ items }: Totals, { zone }: Times): string {
  const largest = Math.max(1, ...items.flatMap((it) => [it.issued, it.redeemed]))
  const digits = Math.max('REDEEMED'.length, String(largest).length)
  const column = (count: number) => {
    const bar = '█'.repeat(count === 0 ? 0 : Math.max(1, Math.round((count / largest) * BAR_COLUMNS)))
    return `${String(count).padStart(digits)}  ${bar.padEnd(BAR_COLUMNS)}`
  }
  const from = items.map((it) => plainLine(withTimes(it.from, zone)))
  const width = Math.max('FROM'.length, ...from.map((it) => it.length))
  const head = `${'FROM'.padEnd(width)}  ${'ISSUED'.padStart(digits)}  ${' '.repeat(BAR_COLUMNS)}${'REDEEMED'.padStart(digits)}`
  const rows = items.map((it, i) => `${(from[i] ?? '').padEnd(width)}  ${column(it.issued)}${column(it.redeemed)}`)
  return [head, ...rows].map((it) => it.trimEnd()).join('\n')
}
