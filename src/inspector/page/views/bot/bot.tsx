import type { Bot } from '../../../../contract/bots.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { Heading, Loaded } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { linkTo, type ViewProps } from '../../router.js'
import { Actions, decisionsOn } from '../actions.js'
import { Found } from '../found.js'
import { List } from '../list.js'
import { AllMembers } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { Deliveries } from './chat-path.js'
import { chatColumns } from './chats.js'

/** A bot with all its values, its latest deliveries and its chats. */
export function BotView({ params: { id = '' } }: ViewProps) {
  const about = ({ owner }: Entry) => owner === id
  const view = (bot: Bot, reload: () => void) => (
    <>
      <Heading
        more={
          <>
            <StateBadge status={bot.review_status} /> <StateBadge status={bot.status} />
          </>
        }
      >
        {bot.name}
      </Heading>
      <AllMembers of={bot} except={['name']} />
      {bot.review_status === 'pending' && <Actions of={bot.name} actions={decisionsOn('bot', id)} done={reload} />}
    </>
  )
  return (
    <article>
      <Found list="bots" id={id} view={view} />
      <section>
        <h2>Latest deliveries</h2>
        <Loaded
          path={`/deliveries?limit=5&bot_id=${encodeURIComponent(id)}`}
          on={['clock']}
          about={about}
          view={({ items }: { readonly items: readonly Delivery[] }) =>
            items.length > 0 ? <Deliveries items={items} /> : <p class="empty">None yet.</p>
          }
        />
      </section>
      <section>
        <h2>
          Chats <a href={linkTo(['chats'], { bot_id: id })}>Start one</a>
        </h2>
        <List name="chats" query={new URLSearchParams({ bot_id: id })} columns={chatColumns} about={about} />
      </section>
    </article>
  )
}
