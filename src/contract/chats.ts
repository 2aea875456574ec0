import { credentialTypes } from './endpoint.js'
import { instant, nullable, oneOf, secret } from './fields.js'
import { type Static, Type } from './schema.js'

export const chatTypes = ['private', 'group'] as const

/** Chat record of the operator API (rules/bots.md#chats). */
export const chat = Type.Object({
  id: Type.String(),
  type: oneOf(chatTypes),
  bot_id: Type.String(),
  user_id: Type.String(),
  blocked: Type.Boolean(),
  created_at: instant,
})
export type Chat = Static<typeof chat>

/** Members of a message; `date` counts Unix seconds (rules/bots.md#messages). */
const messageFields = {
  message_id: Type.Integer(),
  date: Type.Integer(),
  chat: Type.Object({ id: Type.String(), type: oneOf(chatTypes) }),
  from: Type.Object({ id: Type.String(), is_bot: Type.Boolean() }),
  text: Type.String(),
}
export const message = Type.Object(messageFields)
export type Message = Static<typeof message>

/** A message of a chat transcript. The server derives the credentials of a delivered voucher for each read. */
export const transcriptMessage = Type.Object({
  ...messageFields,
  voucher: nullable(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      credentials: Type.Array(Type.Object({ type: oneOf(credentialTypes), value: Type.String(secret) })),
    }),
  ),
})
export type TranscriptMessage = Static<typeof transcriptMessage>
