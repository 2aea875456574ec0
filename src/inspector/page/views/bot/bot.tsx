import type { ShownBot } from '../../../../contract/platform/platform.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { Heading, Loaded } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { changesSomeBot, changesSomeChat } from '../../model/changes.js'
import { updateRows } from '../../model/delivery-rows.js'
import { linkTo, type ViewProps } from '../../router.js'
import { Actions, decisionsOn } from '../actions.js'
import { Axis } from '../axis.js'
import { List } from '../list.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { chatColumns } from './chats.js'
import { Webhook } from './webhook.js'

/** A bot with all its values, its webhook, its latest deliveries and its chats. */
export function BotView({ params: { id = '' } }: ViewProps) {
  const view = (bot: ShownBot, reload: () => void) => (
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
      <Members of={bot} except={['name', 'delivery_mode', 'webhook_url', 'allowed_updates']} />
      {bot.review_status === 'pending' && <Actions of={bot.name} actions={decisionsOn('bot', id)} done={reload} />}
      {bot.review_status === 'approved' && <Webhook bot={bot} done={reload} />}
      <section>
        <h2>Latest deliveries</h2>
        <Loaded
          path={`/deliveries?limit=5&bot_id=${encodeURIComponent(id)}`}
          on={['clock']}
          about={({ owner }: Entry) => owner === id}
          view={({ items }: { readonly items: readonly Delivery[] }) =>
            items.length > 0 ? (
              <Axis label="Latest deliveries" rows={items.flatMap((it) => updateRows(it))} newestFirst />
            ) : (
              <p class="empty">None yet.</p>
            )
          }
        />
      </section>
      <section>
        <h2>
          Chats <a href={linkTo(['chats'], { bot_id: id })}>Start one</a>
        </h2>
        <List name="chats" query={new URLSearchParams({ bot_id: id })} columns={chatColumns} about={changesSomeChat} />
      </section>
    </>
  )
  return (
    <article>
      <Loaded
        path={`/bots/${encodeURIComponent(id)}`}
        on={['reviews']}
        about={changesSomeBot}
        heading="Bot"
        view={view}
      />
    </article>
  )
}
