import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Chat, TranscriptMessage } from '../../../contract/chats.js'
import { Failed, Loading, useRead } from '../components.js'
import { sendAsUser } from '../model/chat-calls.js'
import { dateTime } from '../model/format.js'
import { linkTo } from '../router.js'
import { Credentials } from './credentials.js'
import { makeCall } from './make-call.js'
import { PlannedCall } from './planned-call.js'

interface TalkProps {
  readonly chat: Chat
  /** Changes when there may be new messages. */
  readonly newest: string
  readonly onVouchers: (ids: readonly string[]) => void
}

interface Transcript {
  readonly items: readonly TranscriptMessage[]
  readonly pagination: { readonly page: number; readonly pages: number }
}

/** The messages of a chat, and a field that sends one as its user. */
export function Talk({ chat, newest, onVouchers }: TalkProps) {
  const [last, setLast] = useState(1)
  const [chosen, setChosen] = useState<number>()
  const page = chosen ?? last
  const { result, reload } = useRead<Transcript>(
    `/chats/${encodeURIComponent(chat.id)}/messages?limit=100&page=${page}`,
    ['reset'],
  )
  // Keep the messages while the next ones are read.
  const shown = useRef(result)
  if (result) shown.current = result
  const data = shown.current?.ok ? shown.current.data : undefined
  useEffect(() => {
    if (data === undefined) return
    setLast(Math.max(1, data.pagination.pages))
    onVouchers(data.items.flatMap(({ voucher }) => (voucher ? [voucher.id] : [])))
  }, [data])
  useEffect(reload, [newest])
  const box = useRef<HTMLDivElement>(null)
  const bottom = data?.items.at(-1)?.message_id
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [bottom, page])
  if (shown.current === undefined) return Loading()
  if (data === undefined) return Failed({ failure: shown.current as { sentence: string }, retry: reload })
  return (
    <>
      <div class="talk" role="log" aria-label="Messages" tabindex={0} ref={box}>
        {page > 1 && (
          <button type="button" class="small" onClick={() => setChosen(page - 1)}>
            Older messages
          </button>
        )}
        {data.items.length === 0 && <p class="quiet">No message yet.</p>}
        {data.items.map((it) => (
          <Bubble key={it.message_id} {...it} />
        ))}
        {chosen !== undefined && chosen < last && (
          <button type="button" class="small" onClick={() => setChosen(chosen + 1 < last ? chosen + 1 : undefined)}>
            Newer messages
          </button>
        )}
      </div>
      <Composer chat={chat} sent={reload} />
    </>
  )
}

function Bubble({ from, text, date, voucher }: TranscriptMessage) {
  const at = new Date(date * 1000).toISOString()
  return (
    <div class={`bubble ${from.is_bot ? 'bot' : 'own'}`}>
      <span class="unseen">{from.is_bot ? 'Bot: ' : 'User: '}</span>
      {text}
      {voucher && (
        <div class="card">
          <strong>{voucher.name}</strong>
          <Credentials credentials={voucher.credentials} />
          <a href={linkTo(['vouchers', voucher.id])}>Open the voucher</a>
        </div>
      )}
      <time datetime={at} title={at}>
        {dateTime(at).slice(0, 16)}
      </time>
    </div>
  )
}

interface ComposerProps {
  readonly chat: Chat
  readonly sent: () => void
}

/** Sends a message with Enter; Shift and Enter make a new line. */
function Composer({ chat, sent }: ComposerProps) {
  const [text, setText] = useState('')
  const [refusal, setRefusal] = useState('')
  const planned = sendAsUser(chat.id, text)
  const send = async (event: Event) => {
    event.preventDefault()
    if (!text) return
    const result = await makeCall(planned)
    setRefusal(result.ok ? '' : result.sentence)
    if (!result.ok) return
    setText('')
    sent()
  }
  return (
    <form class="panel" onSubmit={send}>
      <div class="composer">
        <textarea
          rows={2}
          aria-label={`Message as ${chat.user_id}`}
          placeholder={`Message as ${chat.user_id}`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && !event.shiftKey && void send(event)}
        ></textarea>
        <button class="primary">Send</button>
      </div>
      <PlannedCall planned={planned} />
      {refusal && <Failed failure={{ sentence: refusal }} />}
    </form>
  )
}
