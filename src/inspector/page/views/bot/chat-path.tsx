import type { Bot } from '../../../../contract/bots.js'
import type { Chat } from '../../../../contract/chats.js'
import type { Delivery } from '../../../../contract/webhook.js'
import { Loaded } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { chatRows, stepsOf } from '../../model/chat-path.js'
import { linkTo } from '../../router.js'
import { log, logVersion } from '../../stream.js'
import { Axis } from '../axis.js'

interface ChatPathProps {
  readonly chat: Chat
  readonly bot: Bot
  readonly vouchers: readonly string[]
}

/** The updates of a chat with their deliveries and the responses of the receiver, and the calls of the bot. */
export function ChatPath({ chat: { id }, bot, vouchers }: ChatPathProps) {
  logVersion.value
  const steps = stepsOf(log.entries, { chat: id, bot: bot.id, vouchers })
  return (
    <section>
      <h2>What it causes</h2>
      {bot.delivery_mode === 'polling' && (
        <p class="quiet">
          The bot has no webhook: it gets its updates when it polls. <a href={linkTo(['bots', bot.id])}>Set one</a>
        </p>
      )}
      <Loaded
        path={`/deliveries?limit=20&chat_id=${encodeURIComponent(id)}`}
        on={['clock']}
        about={({ owner }: Entry) => owner === bot.id}
        view={({ items }: { readonly items: readonly Delivery[] }) =>
          steps.length + items.length === 0 ? (
            <p class="empty">Send a message: its update, the delivery and the response of the receiver appear here.</p>
          ) : (
            <Axis label="Calls, updates and responses" rows={chatRows(steps, items)} newestFirst openNewest />
          )
        }
      />
    </section>
  )
}
