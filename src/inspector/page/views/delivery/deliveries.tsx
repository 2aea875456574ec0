import { deliveryStatuses, updateTypes } from '../../../../contract/page-choices.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { type Column, Heading, PlantedFault, SelectFilter, Status, TextFilter, Time } from '../../components.js'
import { Name, useNamed } from '../../name.js'
import { linkTo, type ViewProps } from '../../router.js'
import { features } from '../../state.js'
import { List } from '../list.js'
import { StateBadge, stateChoices } from '../state-badge.js'

/** Deliveries of all bots, the newest first. A listener knows no bots. */
export function DeliveriesView({ query }: ViewProps) {
  const bots = useNamed('bots') ?? []
  return (
    <article>
      <Heading>Deliveries</Heading>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter name="type" label="Type" choices={stateChoices(updateTypes)} />
        {features.value?.source === 'server' && (
          <SelectFilter name="bot_id" label="Bot" choices={bots.map(({ id, name }) => [id, name])} />
        )}
        <TextFilter name="update_id" label="Update id" />
        <SelectFilter name="status" label="State" choices={stateChoices(deliveryStatuses)} />
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
  { head: 'Response', cell: (it) => it.last_attempt_at && <Status status={it.last_status_code} /> },
  { head: 'Attempts', cell: (it) => it.attempt_count + it.manual_attempt_count, look: 'number' },
  { head: 'Bot', cell: (it) => <Name id={it.bot_id} to={null} />, look: 'wide', sort: 'bot_id' },
  { head: 'Created', cell: (it) => <Time at={it.created_at} />, look: 'wide', sort: 'created_at' },
]
