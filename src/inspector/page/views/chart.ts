import type { Totals } from '../../../contract/platform.js'
import { Table } from '../components.js'
import { count, dateTime } from '../format.js'
import { html } from '../html.js'
import { barsOf } from './bars.js'

type Period = Totals['items'][number]

const series = ['issued', 'redeemed'] as const

const columns = [
  { head: 'from', cell: (it: Period) => dateTime(it.from) },
  ...series.map((name) => ({ head: name, cell: (it: Period) => count(it[name]), look: 'number' })),
]

/** Two bars for each period, and the same numbers in a table. */
export function Chart({ items, complete }: Totals) {
  return html`<figure>
    <svg viewBox="0 0 600 120" preserveAspectRatio="none" aria-hidden="true">${barsOf(items, 600, 120).map((it) => html`<rect ...${it} />`)}</svg>
    <figcaption>${series.map((name) => html`<span class=${`key ${name}`}>${count(items.reduce((sum, it) => sum + it[name], 0))} ${name}</span> `)}
      ${!complete && 'and more, which were not counted'}</figcaption>
    <details><summary>As a table</summary><${Table} caption="Issued and redeemed vouchers" columns=${columns} rows=${items} keyOf=${(it: Period) => it.from} /></details>
  </figure>`
}
