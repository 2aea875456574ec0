import { useEffect, useState } from 'preact/hooks'
import type { Bot } from '../../../contract/bots.js'
import type { Delivery } from '../../../contract/webhook.js'
import type { Result } from '../api.js'
import { Failed, Heading, Loaded, Loading, Status, Time } from '../components.js'
import type { Entry } from '../model/activity-log.js'
import { linkTo, type ViewProps } from '../router.js'
import { changed } from '../state.js'
import { Actions } from './actions.js'
import { AllMembers } from './all-members.js'
import { chatColumns } from './chats.js'
import { decisions } from './decide.js'
import { findIn } from './find-in.js'
import { List } from './list.js'
import { StateBadge } from './state-badge.js'

/** A bot with all its values, its latest deliveries and its chats. */
export function BotView({ params: { id = '' } }: ViewProps) {
  const [found, setFound] = useState<Result<Bot>>()
  const [round, setRound] = useState(0)
  useEffect(() => {
    let current = true
    void findIn<Bot>('bots', id).then((it) => current && setFound(it))
    return () => {
      current = false
    }
  }, [id, round, changed.value])
  if (found === undefined) return Loading()
  if (!found.ok)
    return (
      <>
        <Heading>Bot</Heading>
        <Failed failure={found} />
      </>
    )
  const bot = found.data
  return (
    <article>
      <Heading
        more={
          <>
            <StateBadge status={bot.review_status} /> <StateBadge status={bot.status} />
          </>
        }
      >
        {bot.name}
      </Heading>
      {bot.review_status === 'pending' && (
        <Actions of={bot.name} actions={decisions({ kind: 'bot', id, done: () => setRound(round + 1) })} />
      )}
      <AllMembers of={bot} except={['name']} />
      <section>
        <h2>Latest deliveries</h2>
        <Loaded
          path={`/deliveries?limit=5&bot_id=${encodeURIComponent(id)}`}
          on={['clock', 'reset']}
          about={({ owner }: Entry) => owner === id}
          view={Deliveries}
        />
      </section>
      <section>
        <h2>Chats</h2>
        <List
          name="chats"
          query={new URLSearchParams({ bot_id: id })}
          columns={chatColumns}
          about={({ owner }: Entry) => owner === id}
        />
        <p>
          <a href={linkTo(['chats'], { bot_id: id })}>Start a chat</a>
        </p>
      </section>
    </article>
  )
}

function Deliveries({ items }: { readonly items: readonly Delivery[] }) {
  if (items.length === 0) return <p class="empty">None yet.</p>
  return (
    <ul class="rows">
      {items.map((it) => (
        <li key={it.id}>
          <a href={linkTo(['deliveries', it.id])}>
            Update {it.update_id} {it.update_type}
          </a>{' '}
          {StateBadge(it)} {it.last_attempt_at && <Status status={it.last_status_code} />} <Time at={it.created_at} />
        </li>
      ))}
    </ul>
  )
}
