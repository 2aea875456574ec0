import { ids, instant, nullable, oneOf, unixSeconds, userId } from './fields.js'
import { type Static, Type } from './schema.js'
import { credentials } from './vouchers.js'

export const chatTypes = ['private', 'group'] as const

/** Chat record of the operator API (rules/bots.md#chats). */
export const chat = Type.Object({
  id: ids.chatId,
  type: oneOf(chatTypes),
  bot_id: ids.botId,
  user_id: userId,
  blocked: Type.Boolean(),
  created_at: instant,
})
export type Chat = Static<typeof chat>

/** Chat and sender in an update. */
export const chatParty = Type.Object({ id: ids.chatId, type: oneOf(chatTypes) })
export const sender = Type.Object({ id: userId, is_bot: Type.Boolean() })

/** Members of a message; `date` counts Unix seconds (rules/bots.md#messages). */
const messageFields = {
  message_id: Type.Integer({ example: 2 }),
  date: unixSeconds,
  chat: chatParty,
  from: Type.Object({ id: ids.botId, is_bot: Type.Boolean({ example: true }) }),
  text: Type.String({ example: 'Your coffee is ready' }),
}
export const message = Type.Object(messageFields)
export type Message = Static<typeof message>

/** A message of a chat transcript. The server derives the credentials of a delivered voucher for each read. */
export const transcriptMessage = Type.Object({
  ...messageFields,
  voucher: nullable(
    Type.Object({
      id: ids.voucherId,
      name: Type.String({ example: 'One free coffee' }),
      credentials,
    }),
  ),
})
export type TranscriptMessage = Static<typeof transcriptMessage>
