import type { Chat, Message, TranscriptMessage } from '../../contract/chats.js'
import type { InputOf } from '../../contract/endpoint.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { platform } from '../../contract/platform/platform.js'
import { refuseUnapproved } from '../../domain/bot/bot.js'
import { chatRecord, type MemberStatus, memberChange, messageRecord } from '../../domain/bot/chat.js'
import type { BotRow, ChatRow, MessageRow } from '../../domain/bot/rows.js'
import type { Keyring } from '../../domain/keyring.js'
import type { VoucherRow } from '../../domain/voucher.js'
import { equals, listPage, type Page, type PageRequest, paginationOf } from '../list-page.js'
import { all, inserting, type Op, one, run, type Value } from '../operation.js'
import { addUpdate } from '../outbox.js'
import { selecting } from '../select.js'
import { credentialsOf } from '../vouchers.js'

const insertChat = inserting<ChatRow>('chats', 'on conflict (bot_id, user_id) do nothing')
const insertMessage = inserting<MessageRow>('messages')

interface ChatStart {
  readonly botId: string
  readonly userId: string
  readonly type: ChatRow['type']
  /** Id for the chat if the call creates one. */
  readonly chatId: string
  readonly now: number
  readonly newDeliveryId: () => string
}

/** Creates a chat, or returns the existing chat of the bot and the user, whatever its type. */
export function* start(call: ChatStart): Op<Chat | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const { botId, userId, now } = call
  const refusal = yield* refuseUnready(botId)
  if (refusal !== null) return refusal
  const made = yield* insertChat({
    id: call.chatId,
    bot_id: botId,
    user_id: userId,
    type: call.type,
    blocked: 0,
    last_message_id: 0,
    created_at: now,
  })
  const chat = (yield* one<ChatRow>('select * from chats where bot_id = $1 and user_id = $2', [
    botId,
    userId,
  ])) as ChatRow
  if (made > 0) yield* notifyMemberChange(chat, 'left', 'member', call)
  return chatRecord(chat)
}

/** Refuses a bot that does not exist or is not approved; null for an approved bot. */
export function* refuseUnready(botId: string): Op<Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'> | null> {
  const bot = yield* one<BotRow>('select * from bots where id = $1', [botId])
  return bot === undefined ? refuse('BOT_NOT_FOUND') : refuseUnapproved(bot)
}

function* notifyMemberChange(
  chat: ChatRow,
  from: MemberStatus,
  to: MemberStatus,
  { now, newDeliveryId }: { readonly now: number; readonly newDeliveryId: () => string },
): Op<void> {
  const payload = memberChange(chat, from, to, now)
  yield* addUpdate({ botId: chat.bot_id, type: 'my_chat_member', chatId: chat.id, payload, now, newDeliveryId })
}

type ChatFilter = InputOf<typeof platform.chats>

export function* list(filter: ChatFilter): Op<Page<Chat>> {
  const params: Value[] = []
  const { bot_id: bot, user_id: user } = filter
  const from = `chats where ${bot === undefined ? 'true' : `bot_id = $${params.push(bot)}`}`
  return yield* listPage<ChatRow, Chat>(from, params, filter, chatRecord, { match: equals('user_id', user) })
}

/** Shows a chat of any bot. */
export function* show(chatId: string): Op<Chat | Refusal<'CHAT_NOT_FOUND'>> {
  const chat = yield* one<ChatRow>('select * from chats where id = $1', [chatId])
  return chat === undefined ? refuse('CHAT_NOT_FOUND') : chatRecord(chat)
}

interface ShownVoucher extends Pick<VoucherRow, 'key_id' | 'key_counter'> {
  voucher_name: string
}

/** Returns a chat's transcript, oldest message first; derives the credentials of vouchers, which are never stored. */
export function* messages(
  chatId: string,
  { page = 1, limit = 20 }: PageRequest,
  keys: Keyring,
): Op<Page<TranscriptMessage> | Refusal<'CHAT_NOT_FOUND'>> {
  const chat = yield* chatById(chatId)
  if (chat === undefined) return refuse('CHAT_NOT_FOUND')
  // Message ids have no gaps, so a page is a range of ids, and the last id is the total.
  const rows = yield* all(
    selecting<ShownVoucher, MessageRow>()(`select m.*, v.key_id, v.key_counter, t.name as voucher_name from messages m
       left join vouchers v on v.application_id = m.application_id and v.id = m.voucher_id
       left join templates t on t.application_id = v.application_id and t.id = v.template_id
     where m.chat_id = $1 and m.message_id > $2 and m.message_id <= $3 order by m.message_id`),
    [chatId, (page - 1) * limit, page * limit],
  )
  return {
    items: rows.map((row) => ({ ...messageRecord(row, chat), voucher: voucherOf(row, keys) })),
    pagination: paginationOf(chat.last_message_id, page, limit),
  }
}

function voucherOf(row: MessageRow & ShownVoucher, keys: Keyring): TranscriptMessage['voucher'] {
  if (row.voucher_id === null) return null
  const { voucher_id: id, key_id, key_counter } = row
  return { id, name: row.voucher_name, credentials: credentialsOf({ id, key_id, key_counter }, keys) }
}

function* chatById(chatId: string): Op<ChatRow | undefined> {
  return yield* one<ChatRow>('select * from chats where id = $1', [chatId], 'row')
}

/** Returns the chat if it belongs to the bot; a chat of another bot counts as unknown. */
export function* chatOfBot(botId: string, chatId: string): Op<ChatRow | undefined> {
  const chat = yield* chatById(chatId)
  return chat?.bot_id === botId ? chat : undefined
}

interface NewMessage {
  readonly text: string
  readonly fromBot: boolean
  readonly voucher?: { readonly applicationId: string; readonly id: string }
  readonly now: number
}

/** Adds a message under the chat's next id. @param chat read with its row lock */
export function* addMessage(chat: ChatRow, message: NewMessage): Op<Message> {
  const row: MessageRow = {
    chat_id: chat.id,
    message_id: chat.last_message_id + 1,
    sent_at: message.now,
    from_bot: message.fromBot ? 1 : 0,
    // Lines of a stored message end with LF (rules/bots.md#lines-of-a-message).
    text: message.text.replaceAll('\r\n', '\n'),
    application_id: message.voucher?.applicationId ?? null,
    voucher_id: message.voucher?.id ?? null,
  }
  yield* run('update chats set last_message_id = $2 where id = $1', [chat.id, row.message_id])
  yield* insertMessage(row)
  return messageRecord(row, chat)
}

interface TextMessage {
  readonly chatId: string
  readonly text: string
  readonly now: number
}

/** Sends a message from the bot; unlike vouchers, messages are allowed in groups too. */
export function* sendAsBot(
  botId: string,
  { chatId, text, now }: TextMessage,
): Op<Message | Refusal<'CHAT_NOT_FOUND' | 'BOT_BLOCKED'>> {
  const chat = yield* chatOfBot(botId, chatId)
  if (chat === undefined) return refuse('CHAT_NOT_FOUND')
  if (chat.blocked === 1) return refuse('BOT_BLOCKED')
  return yield* addMessage(chat, { text, fromBot: true, now })
}

export function* sendAsUser(
  { chatId, text, now }: TextMessage,
  newDeliveryId: () => string,
): Op<Message | Refusal<'CHAT_NOT_FOUND' | 'BOT_BLOCKED'>> {
  const chat = yield* chatById(chatId)
  if (chat === undefined) return refuse('CHAT_NOT_FOUND')
  if (chat.blocked === 1) return refuse('BOT_BLOCKED')
  const payload = yield* addMessage(chat, { text, fromBot: false, now })
  yield* addUpdate({ botId: chat.bot_id, type: 'message', chatId, payload, now, newDeliveryId })
  return payload
}

/** Blocks the bot in a chat, or removes the block. Sends no update if nothing changes. */
export function* setBlocked(
  chatId: string,
  blocked: boolean,
  call: { readonly now: number; readonly newDeliveryId: () => string },
): Op<Chat | Refusal<'CHAT_NOT_FOUND'>> {
  const chat = yield* chatById(chatId)
  if (chat === undefined) return refuse('CHAT_NOT_FOUND')
  if ((chat.blocked === 1) === blocked) return chatRecord(chat)
  const changed: ChatRow = { ...chat, blocked: blocked ? 1 : 0 }
  yield* run('update chats set blocked = $2 where id = $1', [chatId, changed.blocked])
  const [from, to] = blocked ? (['member', 'kicked'] as const) : (['kicked', 'member'] as const)
  yield* notifyMemberChange(changed, from, to, call)
  return chatRecord(changed)
}
