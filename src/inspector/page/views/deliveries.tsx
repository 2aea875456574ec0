import type { Delivery } from '../../../contract/webhook.js'
import { type Column, Heading, Status, Time } from '../components.js'
import { linkTo, setQuery, type ViewProps } from '../router.js'
import { List } from './list.js'
import { StateBadge, stateOptions } from './state-badge.js'

const states: readonly Delivery['status'][] = [
  'pending',
  'delivering',
  'delivered',
  'failed',
  'dead_letter',
  'cancelled',
]

/** Deliveries of all bots, the newest first. */
export function DeliveriesView({ query }: ViewProps) {
  const search = (event: Event) => {
    const { value } = event.currentTarget as HTMLSelectElement
    setQuery(new URLSearchParams(value && { status: value }))
  }
  return (
    <article>
      <Heading>Deliveries</Heading>
      <form class="filters" role="search">
        <label>
          <span>State</span>
          <select value={query.get('status') ?? ''} onChange={search}>
            {stateOptions(states)}
          </select>
        </label>
      </form>
      <List name="deliveries" query={query} columns={columns} about={({ kind }) => kind === 'delivery'} />
    </article>
  )
}

const columns: readonly Column<Delivery>[] = [
  {
    head: 'Update',
    cell: (delivery) => (
      <a href={linkTo(['deliveries', delivery.id])}>
        {delivery.update_type} {delivery.update_id}
      </a>
    ),
  },
  { head: 'State', cell: StateBadge },
  {
    head: 'Response',
    cell: (it) => it.last_attempt_at && <Status status={it.last_status_code} />,
  },
  { head: 'Attempts', cell: (it) => it.attempt_count + it.manual_attempt_count, look: 'number' },
  { head: 'Created', cell: (it) => <Time at={it.created_at} />, look: 'wide' },
]
