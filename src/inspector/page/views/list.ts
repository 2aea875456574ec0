import type { Entry } from '../activity-log.js'
import { type Column, Loaded, Table } from '../components.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { linkTo } from '../router.js'

interface Page<Row> {
  readonly items: readonly Row[]
  readonly pagination: { readonly page: number; readonly pages: number; readonly total: number }
}

interface ListProps<Row> {
  /** Name of the list in the addresses of the page and of the operator API. */
  readonly name: string
  readonly query: URLSearchParams
  /** Members of the query that the endpoint knows, besides the page. */
  readonly filters: readonly string[]
  readonly columns: readonly Column<Row>[]
  readonly about: (entry: Entry) => boolean
}

/** A page of a list of the operator API, with links to the other pages. */
export function List<Row extends { readonly id: string }>({ name, query, filters, columns, about }: ListProps<Row>) {
  const known = new URLSearchParams([...query].filter(([member]) => member === 'page' || filters.includes(member)))
  const link = (to: number, label: string, isThere: boolean) =>
    isThere && html`<a href=${linkTo([name], { ...Object.fromEntries(query), page: String(to) })}>${label}</a>`
  return html`<${Loaded} path=${`/${name}?${known}`} on=${['clock', 'reviews', 'reset']} about=${about}
    view=${({ items, pagination: { page, pages, total } }: Page<Row>) => html`
      <${Table} caption=${name} columns=${columns} rows=${items} keyOf=${(it: Row) => it.id}
        empty=${`${filters.some((it) => query.has(it)) ? 'No match' : 'None yet'} among the ${name}.`} />
      <p class="actions">${link(page - 1, 'Newer', page > 1)} <span class="quiet">Page ${page} of ${Math.max(1, pages)}, ${count(total)} in all</span> ${link(page + 1, 'Older', page < pages)}</p>`} />`
}
