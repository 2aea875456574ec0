import { useState } from 'preact/hooks'
import type { Bot } from '../../../../contract/bots.js'
import type { Chat } from '../../../../contract/chats.js'
import type { Template } from '../../../../contract/templates.js'
import { Badge, Heading, Loaded, useRead } from '../../components.js'
import { changesSomeBot, changesSomeChat } from '../../model/changes.js'
import { isOfSomeChat } from '../../model/chat-path.js'
import { Name } from '../../name.js'
import type { ViewProps } from '../../router.js'
import { log } from '../../stream.js'
import { type Action, Actions, uniqueId } from '../actions.js'
import { ChatPath } from './chat-path.js'
import { Talk } from './talk.js'

/** A chat as its user sees it, and beside it what it causes. */
export function ChatView({ params: { id = '' } }: ViewProps) {
  const [vouchers, setVouchers] = useState<readonly string[]>([])
  // An entry of any chat counts: a busy server captures no body that would name the chat.
  const newest = log.entries.findLast(isOfSomeChat)?.key
  const view = (chat: Chat, reload: () => void) => (
    <>
      <Heading more={chat.blocked && <Badge tone="bad">{chat.user_id} has blocked the bot</Badge>}>
        {chat.user_id} and <Name id={chat.bot_id} />
      </Heading>
      <Loaded
        path={`/bots/${encodeURIComponent(chat.bot_id)}`}
        about={changesSomeBot}
        view={(bot: Bot) => (
          <div class="pair chat">
            <section aria-label="Chat">
              <Talk chat={chat} newest={newest} onVouchers={setVouchers} />
              <ChatActions chat={chat} application={bot.application_id} done={reload} />
            </section>
            <ChatPath chat={chat} bot={bot} vouchers={vouchers} />
          </div>
        )}
      />
    </>
  )
  return (
    <article>
      <Loaded path={`/chats/${encodeURIComponent(id)}`} heading="Chat" about={changesSomeChat} view={view} />
    </article>
  )
}

interface ChatActionsProps {
  readonly chat: Chat
  /** Application of the bot. */
  readonly application: string | null
  readonly done: () => void
}

/** Issues a voucher into a chat as its bot; blocks the bot as the user. */
function ChatActions({ chat: { id, bot_id, blocked }, application, done }: ChatActionsProps) {
  const path = `/templates?limit=100&status=active&application_id=${application}`
  const { result } = useRead<{ readonly items: readonly Template[] }>(path, ['reviews'])
  const options = result?.ok ? result.data.items.map((it) => [it.id, it.name] as const) : []
  const issue: Action = {
    label: 'Issue a voucher',
    refusal: options.length === 0 && 'The bot has no application with an active template.',
    fields: {
      template_id: { label: 'Template', options, value: options[0]?.[0] ?? '' },
      external_issue_id: { label: 'Own id', value: () => uniqueId('order') },
    },
    calls: (values, idempotencyKey) => {
      const input = { chat_id: id, ...values }
      return [{ endpoint: 'bots.issue', as: { kind: 'bot', id: bot_id }, input, idempotencyKey }]
    },
    outcome: () => <p class="good">The voucher is in the chat.</p>,
  }
  const block: Action = {
    label: blocked ? 'Lift the block' : 'Block the bot',
    calls: () => [{ endpoint: `platform.${blocked ? 'unblockChat' : 'blockChat'}`, input: { chatId: id } }],
  }
  // After a block the other action is offered, not the same one again.
  return <Actions key={block.label} of="the chat" actions={[issue, block]} done={done} />
}
