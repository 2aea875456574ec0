import { chatTypes, message } from '../chats.js'
import { oneOf } from '../fields.js'
import type { Schema } from '../schema.js'
import { Type } from '../schema.js'
import type { UpdateType } from '../updates.js'
import { redemption, voucher } from '../vouchers.js'

const chat = Type.Object({ id: Type.String(), type: oneOf(chatTypes) })
const from = Type.Object({ id: Type.String(), is_bot: Type.Boolean() })
const date = Type.Integer({ description: 'Unix seconds' })
const standing = oneOf(['left', 'member', 'kicked'])

/** The schema of an update's payload, by type. */
export const payloadSchemas: Readonly<Record<UpdateType, Schema>> = {
  message,
  my_chat_member: Type.Object({ chat, from, date, old_status: standing, new_status: standing }),
  friend_request: Type.Object({ id: Type.String(), from, date }),
  inline_query: Type.Object({ id: Type.String(), from, query: Type.String() }),
  ping: Type.Object({}),
  voucher_issued: Type.Object({ voucher }),
  voucher_redeemed: Type.Object({ redemption }),
  voucher_reversed: Type.Object({ redemption }),
}
