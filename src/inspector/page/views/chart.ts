import type { Totals } from '../../../contract/platform.js'
import { count, dateTime } from '../format.js'
import { html } from '../html.js'
import { barsOf } from './bars.js'

const series = ['issued', 'redeemed'] as const

/** Two bars for each period, and the same numbers in a table. */
export function Chart({ items, until, complete }: Totals) {
  return html`<figure>
    <svg viewBox="0 0 600 120" preserveAspectRatio="none" aria-hidden="true">${barsOf(items, 600, 120).map((it) => html`<rect ...${it} />`)}</svg>
    <p class="bar quiet"><span>${dateTime(items[0]?.from ?? until)}</span><span>${dateTime(until)}</span></p>
    <figcaption>${series.map((name) => html`<span class=${`key ${name}`}>${count(items.reduce((sum, it) => sum + it[name], 0))} ${name}</span> `)}
      ${!complete && 'and more, which were not counted'}</figcaption>
    <details><summary>As a table</summary><table>
      <thead><tr><th scope="col">From</th>${series.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
      <tbody>${items.map((it) => html`<tr><th scope="row">${dateTime(it.from)}</th>${series.map((name) => html`<td class="number">${count(it[name])}</td>`)}</tr>`)}</tbody>
    </table></details>
  </figure>`
}
