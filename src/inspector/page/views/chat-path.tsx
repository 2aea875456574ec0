import { useEffect } from 'preact/hooks'
import type { Bot } from '../../../contract/bots.js'
import type { Chat } from '../../../contract/chats.js'
import type { Delivery } from '../../../contract/webhook.js'
import { Status, Time, useRead } from '../components.js'
import type { Entry } from '../model/activity-log.js'
import { stepsOf, stepTitle } from '../model/chat-path.js'
import { duration } from '../model/format.js'
import { linkTo } from '../router.js'
import { log, logVersion } from '../stream.js'
import { Bytes } from './bytes.js'
import { StateBadge } from './state-badge.js'

interface ChatPathProps {
  readonly chat: Chat
  readonly vouchers: readonly string[]
  readonly newest: string | undefined
}

const isOpen = ({ status }: Delivery) => status !== 'delivered' && status !== 'cancelled'

/** The updates of a chat with their deliveries and the responses of the receiver, and the calls of the bot. */
export function ChatPath({ chat, vouchers, newest }: ChatPathProps) {
  logVersion.value
  const steps = stepsOf(log.entries, { chat: chat.id, bot: chat.bot_id, vouchers })
  return (
    <section class="path">
      <h2>What it causes</h2>
      <Waiting bot={chat.bot_id} newest={newest} />
      {steps.length === 0 && (
        <p class="empty">Send a message: its update, the delivery and the response of the receiver appear here.</p>
      )}
      <ol class="life">
        {steps.map((it, index) => (
          <Step key={it.key} entry={it} open={index === 0} />
        ))}
      </ol>
    </section>
  )
}

interface WaitingProps {
  readonly bot: string
  readonly newest: string | undefined
}

/** How the bot gets its updates, and the deliveries that have not succeeded. */
function Waiting({ bot, newest }: WaitingProps) {
  const bots = useRead<{ items: readonly Bot[] }>('/bots?limit=100', ['reviews', 'reset', 'seed']).result
  const { result, reload } = useRead<{ items: readonly Delivery[] }>(
    `/deliveries?limit=20&bot_id=${encodeURIComponent(bot)}`,
    ['clock', 'reset'],
  )
  useEffect(reload, [newest])
  const polls = bots?.ok && bots.data.items.find((it) => it.id === bot)?.delivery_mode === 'polling'
  if (polls) return <p class="quiet">The bot has no webhook: it gets its updates when it polls.</p>
  const waiting = result?.ok ? result.data.items.filter(isOpen) : []
  return (
    <ul class="rows">
      {waiting.map((it) => (
        <li key={it.id}>
          <a href={linkTo(['deliveries', it.id])}>
            Update {it.update_id} {it.update_type}
          </a>{' '}
          {StateBadge(it)} {it.next_attempt_at && <Time at={it.next_attempt_at} />}
        </li>
      ))}
    </ul>
  )
}

function Step({ entry, open }: { readonly entry: Entry; readonly open: boolean }) {
  const { kind, id, at, status, code, ms, line } = entry
  const { request, response } = line.exchange ?? {}
  const isDelivery = kind === 'delivery'
  return (
    <li class={status !== null && status < 400 ? 'good' : 'bad'}>
      <details open={open}>
        <summary>
          <strong>{stepTitle(entry)}</strong> <Status status={status} /> {code && <span class="code">{code}</span>}{' '}
          <span class="quiet">
            {at.slice(11, 19)} {duration(ms)}
          </span>
        </summary>
        <p>
          <a href={linkTo([isDelivery ? 'deliveries' : 'requests', id])}>
            {isDelivery ? 'Delivery' : 'Request'} {id}
          </a>
        </p>
        {request ? (
          <>
            <h3>{isDelivery ? 'Update' : 'Request'}</h3>
            <Bytes name={`Request of ${id}`} body={request.body} length={request.body_bytes} />
            <h3>{isDelivery ? 'Response of the receiver' : 'Response'}</h3>
            {response ? (
              <Bytes name={`Response to ${id}`} body={response.body} length={response.body_bytes} />
            ) : (
              <p class="quiet">No response.</p>
            )}
          </>
        ) : (
          <p class="quiet">The bodies were not captured.</p>
        )}
      </details>
    </li>
  )
}
