import type { Chat, Message } from './chats.js'
import { oneOf } from './fields.js'
import { Type } from './schema.js'
import type { Redemption, Voucher } from './vouchers.js'

/** Types of updates. Bots receive the first five by default, and the others on request (rules/bots.md#update-types). */
export const updateTypes = [
  'message',
  'my_chat_member',
  'friend_request',
  'inline_query',
  'ping',
  'voucher_issued',
  'voucher_redeemed',
  'voucher_reversed',
] as const
export type UpdateType = (typeof updateTypes)[number]

export const defaultUpdateTypes: readonly UpdateType[] = updateTypes.slice(0, 5)

/** Update types that a bot selects: absent keeps the current selection, an empty list means the default types. */
export const allowedUpdates = Type.Array(oneOf(updateTypes), { maxItems: 100 })

/** `{ update_id, type, created_at, "<type>": {…} }`: webhook and getUpdates send the same bytes. */
export const update = Type.Unsafe<Update>({
  type: 'object',
  additionalProperties: true,
})

type User = { id: string; is_bot: boolean }
type MemberStatus = 'left' | 'member' | 'kicked'

/** Payloads by update type. */
export interface UpdatePayloads {
  message: Message
  my_chat_member: {
    chat: Pick<Chat, 'id' | 'type'>
    from: User
    date: number
    old_status: MemberStatus
    new_status: MemberStatus
  }
  friend_request: { id: string; from: User; date: number }
  inline_query: { id: string; from: User; query: string }
  ping: Record<string, never>
  voucher_issued: { voucher: Voucher }
  voucher_redeemed: { redemption: Redemption }
  voucher_reversed: { redemption: Redemption }
}

/** An update of one type, whose member named like the type has the payload. */
export type UpdateOf<T extends UpdateType> = {
  [Name in T]: { update_id: number; type: Name; created_at: string } & { [Payload in Name]: UpdatePayloads[Name] }
}[T]
/** Union of the updates of all types; `type` tells them apart. */
export type Update = UpdateOf<UpdateType>
