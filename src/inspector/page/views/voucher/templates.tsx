import { useState } from 'preact/hooks'
import type { ListedTemplate, Totals as TotalsRecord } from '../../../../contract/platform/platform.js'
import { type Column, Heading, Loaded, Table, Time } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { barsOf } from '../../model/bars.js'
import { count, dateTime } from '../../model/format.js'
import { linkTo, type ViewProps } from '../../router.js'
import { Choice } from '../choice.js'
import { List } from '../list.js'
import { StateBadge } from '../state-badge.js'

/** Periods in seconds, with their number of bars. */
const periods = [
  ['3600&buckets=30', 'Last hour'],
  ['86400&buckets=24', 'Last day'],
  ['604800&buckets=28', 'Last week'],
  ['2678400&buckets=31', 'Last 31 days'],
] as const

/** True for a call that may change a quota or a total. */
export const concerns = ({ line }: Entry) => line.kind === 'request' && line.request.method !== 'GET'

/** Issued and redeemed vouchers over time, and the quotas of all templates. */
export function TemplatesView({ query }: ViewProps) {
  return (
    <article>
      <Heading>Templates</Heading>
      <Totals />
      <h2>Quotas</h2>
      <List name="templates" query={query} columns={columns} about={concerns} />
    </article>
  )
}

const columns: readonly Column<ListedTemplate>[] = [
  { head: 'Template', cell: (it) => <a href={linkTo(['templates', it.id])}>{it.name}</a> },
  { head: 'Application', cell: (it) => it.applicationName, look: 'wide' },
  {
    head: 'State',
    cell: (template) => (
      <>
        {StateBadge(template)} {template.rejectionReason}
      </>
    ),
  },
  { head: 'Quota', cell: Quota },
  { head: 'External id', cell: (it) => it.externalTemplateId, look: 'wide', sort: 'external_template_id' },
  { head: 'Created', cell: (it) => <Time at={it.createdAt} />, look: 'wide', sort: 'created_at' },
]

/** How many vouchers of a template are issued; not green when most of its quota is used. */
export function Quota({ name, issueLimit, issuedCount }: ListedTemplate) {
  const bounds = { max: issueLimit, low: issueLimit * 0.8, high: issueLimit - 1, optimum: 0 }
  return (
    <>
      <meter {...bounds} value={issuedCount} aria-label={`Issued vouchers of ${name}`}></meter> {count(issuedCount)} of{' '}
      {count(issueLimit)} issued{issuedCount >= issueLimit && <strong class="bad">, used up</strong>}
    </>
  )
}

type Period = TotalsRecord['items'][number]

const series = ['issued', 'redeemed'] as const

const periodColumns: readonly Column<Period>[] = [
  { head: 'from', cell: (it) => <Time at={it.from} /> },
  ...series.map((name): Column<Period> => ({ head: name, cell: (it) => count(it[name]), look: 'number' })),
]

/** Issued and redeemed vouchers in a period that the user chooses. @param of template; of all templates without one */
export function Totals({ of }: { readonly of?: string }) {
  const [period, setPeriod] = useState<string>(periods[1][0])
  const template = of === undefined ? '' : `&template_id=${encodeURIComponent(of)}`
  return (
    <>
      <div class="bar">
        <h2>Issued and redeemed</h2>
        <Choice label="Period" options={periods} value={period} choose={setPeriod} />
      </div>
      <Loaded path={`/totals?seconds=${period}${template}`} on={['clock']} about={concerns} view={Chart} />
    </>
  )
}

/** Two bars per period, with the same numbers in a table. */
function Chart({ items, complete, until }: TotalsRecord) {
  const highest = Math.max(...items.flatMap((it) => [it.issued, it.redeemed]))
  const ticks = [items[0]?.from, items[Math.floor(items.length / 2)]?.from, until]
  return (
    <figure>
      <div class="chart" aria-hidden="true">
        <div class="axis">
          <span>{count(highest)}</span>
          <span>0</span>
        </div>
        <svg viewBox="0 0 600 120" preserveAspectRatio="none">
          {barsOf(items, 600, 120).map((bar) => (
            <rect {...bar} />
          ))}
        </svg>
        <div class="axis">{ticks.map((it) => it && <span>{dateTime(it)}</span>)}</div>
      </div>
      <figcaption>
        {series.map((name) => (
          <>
            <span class={`key ${name}`}>
              {count(items.reduce((sum, it) => sum + it[name], 0))} {name}
            </span>{' '}
          </>
        ))}
        {!complete && 'and more, which were not counted'}
      </figcaption>
      <details>
        <summary>As a table</summary>
        <Table caption="Issued and redeemed vouchers" columns={periodColumns} rows={items} keyOf={(it) => it.from} />
      </details>
    </figure>
  )
}
