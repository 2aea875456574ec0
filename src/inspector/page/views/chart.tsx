import type { Totals } from '../../../contract/platform/platform.js'
import { type Column, Table } from '../components.js'
import { barsOf } from '../model/bars.js'
import { count, dateTime } from '../model/format.js'

type Period = Totals['items'][number]

const series = ['issued', 'redeemed'] as const

const columns: readonly Column<Period>[] = [
  { head: 'from', cell: (it) => dateTime(it.from) },
  ...series.map((name): Column<Period> => ({ head: name, cell: (it) => count(it[name]), look: 'number' })),
]

/** Two bars for each period, and the same numbers in a table. */
export function Chart({ items, complete }: Totals) {
  return (
    <figure>
      <svg viewBox="0 0 600 120" preserveAspectRatio="none" aria-hidden="true">
        {barsOf(items, 600, 120).map((it) => (
          <rect {...it} />
        ))}
      </svg>
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
        <Table caption="Issued and redeemed vouchers" columns={columns} rows={items} keyOf={(it) => it.from} />
      </details>
    </figure>
  )
}
