import type { Bot } from '../../../../contract/bots.js'
import type { Chat } from '../../../../contract/chats.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { Loaded, PlantedFault, Status, Time } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { chatRows, stepsOf } from '../../model/chat-path.js'
import { linkTo } from '../../router.js'
import { log, logVersion } from '../../stream.js'
import { Axis } from '../axis.js'
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
    <section>
      <h2>What it causes</h2>
      <Found
        list="bots"
        id={bot}
        view={({ delivery_mode }: Bot) =>
          delivery_mode === 'polling' ? (
            <>
              <p class="quiet">The bot has no webhook: it gets its updates when it polls.</p>
              {axisOf(steps, [])}
            </>
          ) : (
            <Loaded
              path={`/deliveries?limit=20&bot_id=${encodeURIComponent(bot)}`}
              on={['clock']}
              about={({ owner }: Entry) => owner === bot}
              view={({ items }: { readonly items: readonly Delivery[] }) => axisOf(steps, items)}
            />
          )
        }
      />
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
          <PlantedFault kind={it.attempts.at(-1)?.fault} />{' '}
          <span>
            {it.next_attempt_at ? 'next attempt' : 'created'} <Time at={it.next_attempt_at ?? it.created_at} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const axisOf = (steps: readonly Entry[], deliveries: readonly Delivery[]) =>
  steps.length + deliveries.length === 0 ? (
    <p class="empty">Send a message: its update, the delivery and the response of the receiver appear here.</p>
  ) : (
    <Axis label="Calls, updates and responses" rows={chatRows(steps, deliveries)} newestFirst openNewest />
  )
