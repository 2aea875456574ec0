import type { DeliveredVoucher } from '../../contract/bots.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { IssuedVoucher } from '../../contract/vouchers.js'
import { voucherText } from '../../domain/bot/chat.js'
import type { MessageRow } from '../../domain/bot/rows.js'
import { type Op, one } from '../operation.js'
import { selecting } from '../select.js'
import { type Issue, type IssueResult, issueNow, type ReplayableSuccess, replayIssue } from '../vouchers.js'
import { addMessage, chatOfBot } from './chats.js'

interface BotIssue extends Omit<Issue, 'recipient_user_id' | 'botId'> {
  readonly botId: string
  readonly chat_id: string
}

/**
 * Issues a voucher to the user of a private chat and writes a message into the chat, in one transaction
 * (rules/vouchers.md#bot-issue). A repeated call writes no message and returns the first message of the voucher.
 */
export function* issueIntoChat(
  call: BotIssue,
): Op<
  | ReplayableSuccess<DeliveredVoucher>
  | Exclude<IssueResult, { ok: true }>
  | Refusal<'CHAT_NOT_FOUND' | 'CHAT_NOT_PRIVATE' | 'BOT_BLOCKED'>
> {
  const { applicationId, botId, now } = call
  const replay = yield* replayIssue(call)
  if (replay !== null) return replay.ok ? yield* delivered(applicationId, replay) : replay

  const chat = yield* chatOfBot(botId, call.chat_id)
  if (chat === undefined) return refuse('CHAT_NOT_FOUND')
  if (chat.type !== 'private') return refuse('CHAT_NOT_PRIVATE')
  if (chat.blocked === 1) return refuse('BOT_BLOCKED')

  const issued = yield* issueNow({ ...call, recipient_user_id: chat.user_id })
  if (!issued.ok) return issued
  if (!issued.replayed) {
    const { id, name } = issued.data
    yield* addMessage(chat, { text: voucherText(name), fromBot: true, voucher: { applicationId, id }, now })
  }
  return yield* delivered(applicationId, issued)
}

/** Adds `delivery` to the response: the message that delivered the voucher, or null for a direct issue. */
function* delivered(
  applicationId: string,
  issued: ReplayableSuccess<IssuedVoucher>,
): Op<ReplayableSuccess<DeliveredVoucher>> {
  const delivery = yield* one(
    selecting<Pick<MessageRow, 'chat_id' | 'message_id'>>()(
      'select chat_id, message_id from messages where application_id = $1 and voucher_id = $2',
    ),
    [applicationId, issued.data.id],
  )
  return { ...issued, data: { ...issued.data, delivery: delivery ?? null } }
}
