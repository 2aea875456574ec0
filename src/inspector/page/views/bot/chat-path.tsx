import type { Bot } from '../../../../contract/bots.js'
import type { Chat } from '../../../../contract/chats.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { Loaded, PlantedFault, Status, Time } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { stepsOf, stepTitle } from '../../model/chat-path.js'
import { duration } from '../../model/format.js'
import { linkTo } from '../../router.js'
import { log, logVersion } from '../../stream.js'
import { entryLink } from '../../stream-view.js'
import { Bytes } from '../bytes.js'
import { Found } from '../found.js'
import { StateBadge } from '../state-badge.js'

interface ChatPathProps {
  readonly chat: Chat
  readonly vouchers: readonly string[]
}

/** The updates of a chat with their deliveries and the responses of the receiver, and the calls of the bot. */
export function ChatPath({ chat: { id, bot_id: bot }, vouchers }: ChatPathProps) {
  logVersion.value
  const steps = stepsOf(log.entries, { chat: id, bot, vouchers })
  return (
    <section class="path">
      <h2>What it causes</h2>
      <Found
        list="bots"
        id={bot}
        view={({ delivery_mode }: Bot) =>
          delivery_mode === 'polling' ? (
            <p class="quiet">The bot has no webhook: it gets its updates when it polls.</p>
          ) : (
            <Loaded
              path={`/deliveries?limit=20&bot_id=${encodeURIComponent(bot)}`}
              on={['clock']}
              about={({ owner }: Entry) => owner === bot}
              view={({ items }: { readonly items: readonly Delivery[] }) => (
                <Deliveries items={items.filter((it) => it.status !== 'delivered' && it.status !== 'cancelled')} />
              )}
            />
          )
        }
      />
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

/** Deliveries with their state, and the time of the next attempt. */
export function Deliveries({ items }: { readonly items: readonly Delivery[] }) {
  return (
    <ul class="rows">
      {items.map((it) => (
        <li key={it.id}>
          <a href={linkTo(['deliveries', it.id])}>
            Update {it.update_id} {it.update_type}
          </a>{' '}
          {StateBadge(it)} {it.last_attempt_at && <Status status={it.last_status_code} />}{' '}
          <PlantedFault kind={it.attempts.at(-1)?.fault} /> <Time at={it.next_attempt_at ?? it.created_at} />
        </li>
      ))}
    </ul>
  )
}

function Step({ entry, open }: { readonly entry: Entry; readonly open: boolean }) {
  const { kind, id, at, status, code, ms, fault, line } = entry
  const { request, response } = line.exchange ?? {}
  const [sent, received] = kind === 'delivery' ? ['Update', 'Response of the receiver'] : ['Request', 'Response']
  return (
    <li class={status !== null && status < 400 ? 'good' : 'bad'}>
      <details open={open}>
        <summary>
          <strong>{stepTitle(entry)}</strong> <Status status={status} /> {code && <span class="code">{code}</span>}{' '}
          <PlantedFault kind={fault} />{' '}
          <span class="quiet">
            {at.slice(11, 19)} {duration(ms)}
          </span>
        </summary>
        <p>
          <a href={entryLink(entry)}>{id}</a> {!request && 'The bodies were not captured.'}
        </p>
        {request && <Bytes name={`${sent} of ${id}`} body={request.body} length={request.body_bytes} />}
        {response && (
          <>
            <h3>{received}</h3>
            <Bytes name={`${received} to ${id}`} body={response.body} length={response.body_bytes} />
          </>
        )}
      </details>
    </li>
  )
}
