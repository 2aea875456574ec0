import type { Bot } from '../../../../contract/bots.js'
import type { Chat } from '../../../../contract/chats.js'
import { Badge, type Column, Heading, Loaded, Time } from '../../components.js'
import { changesSomeChat } from '../../model/changes.js'
import { Name } from '../../name.js'
import { linkTo, type ViewProps, visit } from '../../router.js'
import { type Action, ActionForm } from '../actions.js'
import { List } from '../list.js'

/** Chats of users with bots, and a form that starts one. */
export function ChatsView({ query }: ViewProps) {
  const start = ({ items }: { readonly items: readonly Bot[] }) => {
    const bots = items.filter((it) => it.review_status === 'approved')
    return bots[0] ? (
      <ActionForm compact action={starting(bots, query.get('bot_id') ?? bots[0].id)} done={open} />
    ) : (
      <p class="empty">A chat needs a bot that is approved.</p>
    )
  }
  return (
    <article>
      <Heading>Chats</Heading>
      <Loaded path="/bots?limit=100" on={['reviews']} view={start} />
      <List name="chats" query={query} columns={chatColumns} about={changesSomeChat} />
    </article>
  )
}

const open = ([chat]: readonly Chat[]) => chat && visit(linkTo(['chats', chat.id]))

const starting = (bots: readonly Bot[], bot: string): Action => ({
  label: 'Start a chat',
  fields: {
    bot_id: { label: 'Bot', value: bot, options: bots.map((it) => [it.id, it.name]) },
    user_id: { label: 'User', value: 'user-1' },
  },
  calls: (input) => [{ endpoint: 'platform.createChat', input }],
})

export const chatColumns: readonly Column<Chat>[] = [
  { head: 'User', cell: (it) => <a href={linkTo(['chats', it.id])}>{it.user_id}</a> },
  { head: 'Bot', cell: (it) => <Name id={it.bot_id} /> },
  {
    head: 'State',
    cell: (it) => (it.blocked ? <Badge tone="bad">bot blocked</Badge> : <Badge tone="good">open</Badge>),
  },
  { head: 'Started', cell: (it) => <Time at={it.created_at} />, look: 'wide' },
]
