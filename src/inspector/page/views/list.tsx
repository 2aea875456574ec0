import { type Column, Loaded, Table } from '../components.js'
import { ExampleOffer } from '../example-offer.js'
import type { Entry } from '../model/activity-log.js'
import { count, plural } from '../model/format.js'
import { linkTo } from '../router.js'

interface Page<Row> {
  readonly items: readonly Row[]
  readonly pagination: { readonly page: number; readonly pages: number; readonly total: number }
}

interface ListProps<Row> {
  /** Name of the list in page addresses and in the operator API. */
  readonly name: string
  readonly query: URLSearchParams
  readonly columns: readonly Column<Row>[]
  readonly about: (entry: Entry) => boolean
}

/** One page of an operator API list, filtered and sorted by the query, with links to other pages. */
export function List<Row extends { readonly id: string }>({ name, query, columns, about }: ListProps<Row>) {
  const link = (to: number, label: string) => (
    <a href={linkTo([name], { ...Object.fromEntries(query), page: String(to) })}>{label}</a>
  )
  const asked = new URLSearchParams({ ...Object.fromEntries(query), limit: '100' })
  return (
    <Loaded
      path={`/${name}?${asked}`}
      on={['clock', 'reviews']}
      about={about}
      view={({ items, pagination: { page, pages, total } }: Page<Row>) => (
        <>
          <ExampleOffer when={total === 0} />
          <p class="actions">
            <strong>{plural(total, name)}</strong>
            {pages > 1 && (
              <span class="quiet">
                page {count(page)} of {count(pages)}
              </span>
            )}{' '}
            {page > 1 && link(page - 1, 'Previous')} {page < pages && link(page + 1, 'Next')}
          </p>
          <Table
            caption={name}
            columns={columns}
            rows={items}
            keyOf={(it: Row) => it.id}
            linkOf={(it: Row) => linkTo([name, it.id])}
            empty={`No ${name} here.`}
          />
        </>
      )}
    />
  )
}
