import { useEffect, useState } from 'preact/hooks'
import type { Chat } from '../../../contract/chats.js'
import type { Result } from '../api.js'
import { Badge, Failed, Heading, Loading } from '../components.js'
import { blockBot, unblockBot } from '../model/chat-calls.js'
import { isOfSomeChat } from '../model/chat-path.js'
import { Name } from '../name.js'
import type { ViewProps } from '../router.js'
import { log } from '../stream.js'
import { ChatPath } from './chat-path.js'
import { findIn } from './find-in.js'
import { makeCall } from './make-call.js'
import { PlannedCall } from './planned-call.js'
import { Talk } from './talk.js'

/** A chat as its user sees it, and beside it the updates that it causes. */
export function ChatView({ params: { id = '' } }: ViewProps) {
  const [found, setFound] = useState<Result<Chat>>()
  const [round, setRound] = useState(0)
  const [vouchers, setVouchers] = useState<readonly string[]>([])
  // An entry of any chat counts: a busy server captures no body that would name the chat.
  const newest = log.entries.findLast(isOfSomeChat)?.key
  useEffect(() => {
    let current = true
    void findIn<Chat>('chats', id).then((it) => current && setFound(it))
    return () => {
      current = false
    }
  }, [id, round, newest])
  if (found === undefined) return Loading()
  if (!found.ok)
    return (
      <>
        <Heading>Chat</Heading>
        <Failed failure={found} />
      </>
    )
  const chat = found.data
  return (
    <article>
      <Heading more={chat.blocked && <Badge tone="bad">bot blocked</Badge>}>
        {chat.user_id} and <Name kind="bot" id={chat.bot_id} />
      </Heading>
      <div class="pair chat">
        <section aria-label="Chat">
          <Talk chat={chat} newest={`${newest} ${round}`} onVouchers={setVouchers} />
          <Block chat={chat} done={() => setRound(round + 1)} />
        </section>
        <ChatPath chat={chat} vouchers={vouchers} newest={newest} />
      </div>
    </article>
  )
}

interface BlockProps {
  readonly chat: Chat
  readonly done: () => void
}

/** Blocks the bot as the user, or lifts the block. */
function Block({ chat: { id, blocked, user_id }, done }: BlockProps) {
  const [refusal, setRefusal] = useState('')
  const planned = blocked ? unblockBot(id) : blockBot(id)
  const change = async () => {
    const result = await makeCall(planned)
    setRefusal(result.ok ? '' : result.sentence)
    done()
  }
  return (
    <div class="panel">
      <p class="actions">
        <button type="button" onClick={change}>
          {blocked ? 'Lift the block' : 'Block the bot'}
        </button>
        <span class="quiet">{blocked ? `${user_id} has blocked the bot: it can send nothing.` : `as ${user_id}`}</span>
      </p>
      <PlannedCall planned={planned} />
      {refusal && <Failed failure={{ sentence: refusal }} />}
    </div>
  )
}
