import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Chat, TranscriptMessage } from '../../../../contract/chats.js'
import { Failed, Loading, useRead } from '../../components.js'
import { Linked } from '../../linked.js'
import { dateTime } from '../../model/format.js'
import { linkTo } from '../../router.js'
import { ActionForm } from '../actions.js'
import { Credentials } from '../voucher/credentials.js'

interface TalkProps {
  readonly chat: Chat
  /** Changes when there may be new messages. */
  readonly newest: string | undefined
  readonly onVouchers: (ids: readonly string[]) => void
}

interface Transcript {
  readonly items: readonly TranscriptMessage[]
  readonly pagination: { readonly page: number; readonly pages: number }
}

/** The messages of a chat, and a field that sends one as its user. */
export function Talk({ chat: { id, user_id }, newest, onVouchers }: TalkProps) {
  const [last, setLast] = useState(1)
  // Pages back from the last one.
  const [back, setBack] = useState(0)
  const page = Math.max(1, last - back)
  const path = `/chats/${encodeURIComponent(id)}/messages?limit=100&page=${page}`
  const { result, reload } = useRead<Transcript>(path)
  // Keep the messages, and a draft, while the next ones are read, and when they cannot be read.
  const shown = useRef<Transcript | undefined>(undefined)
  if (result?.ok) shown.current = result.data
  const data = shown.current
  useEffect(() => {
    if (data === undefined) return
    setLast(Math.max(1, data.pagination.pages))
    onVouchers(data.items.flatMap(({ voucher }) => (voucher ? [voucher.id] : [])))
  }, [data])
  useEffect(reload, [newest])
  const box = useRef<HTMLDivElement>(null)
  const bottom = data?.items.at(-1)?.message_id
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [bottom])
  if (data === undefined) return result?.ok === false ? Failed({ failure: result }) : Loading()
  const turn = (by: number, label: string) => (
    <button type="button" class="small" onClick={() => setBack(back + by)}>
      {label}
    </button>
  )
  return (
    <>
      <div class="talk" role="log" aria-label="Messages" tabindex={0} ref={box}>
        {page > 1 && turn(1, 'Older messages')}
        {data.items.length === 0 && <p class="quiet">No message yet.</p>}
        {data.items.map((it) => (
          <Bubble key={it.message_id} {...it} />
        ))}
        {page < last && turn(-1, 'Newer messages')}
      </div>
      <ActionForm
        compact
        done={reload}
        action={{
          label: 'Send',
          fields: { text: { label: `Message as ${user_id}`, value: () => '', lines: true } },
          calls: (values) => [{ endpoint: 'platform.sendAsUser', input: { chatId: id, ...values } }],
        }}
      />
    </>
  )
}

function Bubble({ from, text, date, voucher }: TranscriptMessage) {
  const at = new Date(date * 1000).toISOString()
  return (
    <div class={`bubble ${from.is_bot ? 'bot' : 'own'}`}>
      <span class="unseen">{from.is_bot ? 'Bot: ' : 'User: '}</span>
      <Linked text={text} />
      {voucher && (
        <div class="card">
          <strong>{voucher.name}</strong>
          <Credentials credentials={voucher.credentials} />
          <a href={linkTo(['vouchers', voucher.id])}>Open the voucher</a>
        </div>
      )}
      <time datetime={at} title={at}>
        {dateTime(at)}
      </time>
    </div>
  )
}
