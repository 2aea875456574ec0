import { useState } from 'preact/hooks'
import type { ListedTemplate, Totals } from '../../../contract/platform/platform.js'
import { type Column, Heading, Loaded } from '../components.js'
import { count } from '../model/format.js'
import { linkTo } from '../router.js'
import type { ViewProps } from '../view.js'
import { Chart } from './chart.js'
import { Choice } from './choice.js'
import { List } from './list.js'
import { StateBadge } from './state-badge.js'

/** Seconds and number of bars. */
const periods = [
  ['3600&buckets=30', 'Last hour'],
  ['86400&buckets=24', 'Last day'],
  ['604800&buckets=28', 'Last week'],
  ['2678400&buckets=31', 'Last 31 days'],
] as const

const concerns = ({ type }: { readonly type: string }) => /^vouchers\.|^bots\.issue|^templates\./.test(type)

/** Issued and redeemed vouchers over time, and the quotas of all templates. */
export function TemplatesView({ query }: ViewProps) {
  const [period, setPeriod] = useState<string>(periods[1][0])
  return (
    <article>
      <Heading>Templates</Heading>
      <div class="bar">
        <h2>Issued and redeemed</h2>
        <Choice label="Period" options={periods} value={period} choose={setPeriod} />
      </div>
      <Loaded
        path={`/totals?seconds=${period}`}
        on={['clock', 'reset']}
        about={concerns}
        view={(it: Totals) => <Chart {...it} />}
      />
      <h2>Quotas</h2>
      <List name="templates" query={query} columns={columns} about={concerns} />
    </article>
  )
}

const columns: readonly Column<ListedTemplate>[] = [
  {
    head: 'Template',
    cell: (it) => <a href={linkTo(['vouchers'], { template_id: it.id })}>{it.name}</a>,
  },
  { head: 'Application', cell: (it) => it.applicationName, look: 'wide' },
  {
    head: 'State',
    cell: (it) => (
      <>
        {StateBadge(it)} {it.rejectionReason}
      </>
    ),
  },
  {
    head: 'Quota',
    cell: (it) => (
      <>
        <meter max={it.issueLimit} value={it.issuedCount} aria-label={`Issued vouchers of ${it.name}`}></meter>{' '}
        {count(it.issuedCount)} of {count(it.issueLimit)}
      </>
    ),
  },
]
