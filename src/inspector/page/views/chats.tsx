import { useState } from 'preact/hooks'
import type { Bot } from '../../../contract/bots.js'
import type { Chat } from '../../../contract/chats.js'
import { Badge, type Column, Failed, Heading, Loaded, Time } from '../components.js'
import type { Entry } from '../model/activity-log.js'
import { startChat } from '../model/chat-calls.js'
import { Name } from '../name.js'
import { linkTo, type ViewProps, visit } from '../router.js'
import { List } from './list.js'
import { makeCall } from './make-call.js'
import { PlannedCall } from './planned-call.js'

/** Chats of users with bots, and a form that starts one. */
export function ChatsView({ query }: ViewProps) {
  return (
    <article>
      <Heading>Chats</Heading>
      <Loaded
        path="/bots?limit=100"
        on={['reviews', 'reset', 'seed']}
        view={({ items }: { readonly items: readonly Bot[] }) => <Start bots={items} bot={query.get('bot_id')} />}
      />
      <List
        name="chats"
        query={query}
        columns={chatColumns}
        about={({ type }: Entry) => type === 'my_chat_member' || type === 'bots.updates'}
      />
    </article>
  )
}

export const chatColumns: readonly Column<Chat>[] = [
  { head: 'User', cell: (it) => <a href={linkTo(['chats', it.id])}>{it.user_id}</a> },
  { head: 'Bot', cell: (it) => <Name kind="bot" id={it.bot_id} /> },
  {
    head: 'State',
    cell: (it) => (it.blocked ? <Badge tone="bad">bot blocked</Badge> : <Badge tone="good">open</Badge>),
  },
  { head: 'Started', cell: (it) => <Time at={it.created_at} />, look: 'wide' },
]

interface StartProps {
  readonly bots: readonly Bot[]
  /** Bot that is selected at first. */
  readonly bot: string | null
}

function Start({ bots, bot }: StartProps) {
  const approved = bots.filter((it) => it.review_status === 'approved')
  const [chosen, setChosen] = useState(bot ?? approved[0]?.id ?? '')
  const [user, setUser] = useState('user-1')
  const [refusal, setRefusal] = useState('')
  if (approved.length === 0)
    return <p class="empty">A chat needs an approved bot: plant the example, or approve a bot in Reviews.</p>
  const planned = startChat(chosen, user)
  const start = async (event: Event) => {
    event.preventDefault()
    const result = await makeCall<Chat>(planned)
    if (result.ok) visit(linkTo(['chats', result.data.id]))
    else setRefusal(result.sentence)
  }
  return (
    <form class="panel" onSubmit={start}>
      <div class="filters">
        <label>
          <span>Bot</span>
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            {approved.map((it) => (
              <option key={it.id} value={it.id}>
                {it.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>User</span>
          <input required value={user} onInput={(event) => setUser(event.currentTarget.value)} />
        </label>
        <button class="primary">Start a chat</button>
      </div>
      <PlannedCall planned={planned} />
      {refusal && <Failed failure={{ sentence: refusal }} />}
    </form>
  )
}
