import { chatParty, message, sender } from './chats.js'
import { instant, oneOf, unixSeconds } from './fields.js'
import { exampleOf, Type, withExample } from './schema.js'
import { type Redemption, redemption, voucher } from './vouchers.js'

const id = Type.String({ example: '9f2c4e6a8b0d1f3e5a7c' })
const date = withExample(Type.Integer({ description: 'Unix seconds' }), exampleOf(unixSeconds))
const statuses = ['left', 'member', 'kicked'] as const

/** Schemas of the payloads of updates (rules/bots.md#update-types). */
export const payloadSchemas = {
  message,
  my_chat_member: Type.Object({
    chat: chatParty,
    from: sender,
    date,
    old_status: oneOf(statuses),
    new_status: oneOf(statuses, 'member'),
  }),
  friend_request: Type.Object({ id, from: sender, date }),
  inline_query: Type.Object({ id, from: sender, query: Type.String({ example: 'coffee' }) }),
  ping: Type.Unsafe<Record<string, never>>(Type.Object({})),
  voucher_issued: Type.Object({ voucher }),
  voucher_redeemed: Type.Object({ redemption }),
  voucher_reversed: Type.Object({ redemption }),
}
type UpdateType = keyof typeof payloadSchemas

/** Returns the schema of an update: the body of a webhook delivery, or an item of getUpdates. */
export const updateSchema = (type: UpdateType) =>
  Type.Object({
    update_id: Type.Integer({ minimum: 1, description: 'increases per bot and is never reused', example: 17 }),
    type: Type.Unsafe<UpdateType>({ const: type }),
    created_at: withExample(Type.String({ format: 'date-time' }), exampleOf(instant)),
    [type]: payloadSchemas[type],
  })

/** The redemption of the examples after its reversal. */
export function reversedRedemption(): Redemption {
  const { voucher: summary, ...others } = exampleOf(redemption)
  return {
    ...others,
    ...{ status: 'reversed', reversedAt: others.redeemedAt, reversalReason: 'Wrong till' },
    voucher: { ...summary, status: 'issued', redeemable: true },
  }
}

/** Returns an example of an update. Users send its message, while the example of a message is the response of a bot. */
export function updateExample(type: UpdateType): Readonly<Record<string, unknown>> {
  const example = exampleOf(updateSchema(type))
  switch (type) {
    case 'message':
      return {
        ...example,
        message: { ...exampleOf(message), message_id: 1, from: exampleOf(sender), text: 'Hello, one coffee please' },
      }
    case 'voucher_reversed':
      return { ...example, voucher_reversed: { redemption: reversedRedemption() } }
    default:
      return example
  }
}
