import type { ComponentChildren } from 'preact'
import type { Bot } from '../../../../contract/bots.js'
import type { UpdateType } from '../../../../contract/updates.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { type Column, Heading, PlantedFault, Status, TextFilter, Time, useRead } from '../../components.js'
import { Name } from '../../name.js'
import { linkTo, setFilter, type ViewProps } from '../../router.js'
import { features } from '../../state.js'
import { List } from '../list.js'
import { StateBadge, stateOptions } from '../state-badge.js'

const states: readonly Delivery['status'][] = [
  'pending',
  'delivering',
  'delivered',
  'failed',
  'dead_letter',
  'cancelled',
]

export const updateTypes: readonly UpdateType[] = [
  'message',
  'my_chat_member',
  'friend_request',
  'inline_query',
  'ping',
  'voucher_issued',
  'voucher_redeemed',
  'voucher_reversed',
]

/** Deliveries of all bots, the newest first. A listener knows no bots. */
export function DeliveriesView({ query }: ViewProps) {
  const choice = (name: string, label: string, options: ComponentChildren) => (
    <label>
      <span>{label}</span>
      <select value={query.get(name) ?? ''} onChange={(event) => setFilter(name, event.currentTarget.value)}>
        {options}
      </select>
    </label>
  )
  return (
    <article>
      <Heading>Deliveries</Heading>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {choice('type', 'Type', stateOptions(updateTypes))}
        {features.value?.source === 'server' && choice('bot_id', 'Bot', <BotOptions own={query.get('bot_id')} />)}
        <TextFilter name="update_id" label="Update id" />
        {choice('status', 'State', stateOptions(states))}
      </form>
      <List
        name="deliveries"
        query={query}
        columns={columns.filter(isKnown)}
        about={({ kind }) => kind === 'delivery'}
      />
    </article>
  )
}

const isKnown = ({ sort }: Column<Delivery>) => sort !== 'bot_id' || features.value?.source === 'server'

type Named = Pick<Bot, 'id' | 'name'>

export function BotOptions({ own }: { readonly own: string | null }) {
  const { result } = useRead<{ readonly items: readonly Named[] }>('/bots?limit=100', ['reviews'])
  const bots = result?.ok ? result.data.items : []
  // A link may name a bot that is not among the newest ones.
  const all = own && !bots.some(({ id }) => id === own) ? [...bots, { id: own, name: own }] : bots
  return (
    <>
      <option value="">Any</option>
      {all.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </>
  )
}

const columns: readonly Column<Delivery>[] = [
  {
    head: 'Update',
    cell: (delivery) => (
      <>
        <a href={linkTo(['deliveries', delivery.id])}>
          {delivery.update_type} {delivery.update_id}
        </a>{' '}
        <PlantedFault kind={delivery.attempts.at(-1)?.fault} />
      </>
    ),
  },
  { head: 'State', cell: StateBadge },
  {
    head: 'Response',
    cell: (it) => it.last_attempt_at && <Status status={it.last_status_code} />,
  },
  { head: 'Attempts', cell: (it) => it.attempt_count + it.manual_attempt_count, look: 'number' },
  { head: 'Bot', cell: (it) => <Name id={it.bot_id} to={null} />, look: 'wide', sort: 'bot_id' },
  { head: 'Created', cell: (it) => <Time at={it.created_at} />, look: 'wide', sort: 'created_at' },
]
