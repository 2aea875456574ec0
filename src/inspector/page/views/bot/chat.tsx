import { useState } from 'preact/hooks'
import type { Chat } from '../../../../contract/chats.js'
import { Badge, Heading, Loaded } from '../../components.js'
import { changesSomeChat } from '../../model/changes.js'
import { isOfSomeChat } from '../../model/chat-path.js'
import { Name } from '../../name.js'
import type { ViewProps } from '../../router.js'
import { log } from '../../stream.js'
import { ActionForm } from '../actions.js'
import { ChatPath } from './chat-path.js'
import { Talk } from './talk.js'

/** A chat as its user sees it, and beside it what it causes. */
export function ChatView({ params: { id = '' } }: ViewProps) {
  const [vouchers, setVouchers] = useState<readonly string[]>([])
  // An entry of any chat counts: a busy server captures no body that would name the chat.
  const newest = log.entries.findLast(isOfSomeChat)?.key
  const view = (chat: Chat, reload: () => void) => {
    const verb = chat.blocked ? 'unblockChat' : 'blockChat'
    return (
      <>
        <Heading more={chat.blocked && <Badge tone="bad">bot blocked</Badge>}>
          {chat.user_id} and <Name id={chat.bot_id} />
        </Heading>
        <div class="pair chat">
          <section aria-label="Chat">
            <Talk chat={chat} newest={newest} onVouchers={setVouchers} />
            <ActionForm
              compact
              done={reload}
              action={{
                label: chat.blocked ? 'Lift the block' : 'Block the bot',
                ...(chat.blocked && { note: `${chat.user_id} has blocked the bot, which can send nothing.` }),
                calls: () => [{ endpoint: `platform.${verb}`, input: { chatId: chat.id } }],
              }}
            />
          </section>
          <ChatPath chat={chat} vouchers={vouchers} />
        </div>
      </>
    )
  }
  return (
    <article>
      <Loaded path={`/chats/${encodeURIComponent(id)}`} heading="Chat" about={changesSomeChat} view={view} />
    </article>
  )
}
