import { chatTypes } from '../contract/chats.js'
import { credentialTypes } from '../contract/endpoint.js'
import { fulfillmentCategories } from '../contract/fields.js'
import type { UpdateType } from '../contract/updates.js'

/** Describes a scalar member of an update: its permitted values and its sample value. */
export interface ScalarShape {
  readonly kind: 'text' | 'integer' | 'boolean' | 'instant'
  readonly choices?: readonly string[]
  readonly nullable?: true
  /** Seconds between the update and this member's sample, for an instant or Unix seconds. */
  readonly after?: number
  readonly sample?: string | number | boolean | null
}

/** Describes a map from arbitrary names to strings. */
export interface MapShape {
  readonly kind: 'pairs'
  readonly sample: Readonly<Record<string, string>>
}

export interface ObjectShape {
  readonly [member: string]: ScalarShape | MapShape | { readonly members: ObjectShape }
}

const text = (sample: string): ScalarShape => ({ kind: 'text', sample })
const integer = (sample: number): ScalarShape => ({ kind: 'integer', sample })
const yes: ScalarShape = { kind: 'boolean', sample: true }
const no: ScalarShape = { kind: 'boolean', sample: false }
const choice = (choices: readonly string[], sample = choices[0] as string): ScalarShape => ({
  kind: 'text',
  choices,
  sample,
})
const instant = (after = 0): ScalarShape => ({ kind: 'instant', after })
const unixSeconds: ScalarShape = { kind: 'integer', after: 0 }
const absent = (leaf: ScalarShape): ScalarShape => ({ ...leaf, nullable: true, sample: null })
const pairs = (sample: MapShape['sample'] = {}): MapShape => ({ kind: 'pairs', sample })
const members = (shape: ObjectShape) => ({ members: shape })

const DAY = 86_400
const USER = 'user-42'
const APP = 'app_01JDKQ4Z8N6W2T5Y9RB3CV7HXA'
const TEMPLATE = 'tpl_01JDKQ4Z8N6W2T5Y9RB3CV7HXT'
const VOUCHER = 'vch_01JDKQ4Z8N6W2T5Y9RB3CV7HXV'
const REDEMPTION = 'rdm_01JDKQ4Z8N6W2T5Y9RB3CV7HXR'
const REQUEST = '9f2c4e6a8b0d1f3e5a7c'

const chat = members({ id: text('chat_01JDKQ4Z8N6W2T5Y9RB3CV7HXC'), type: choice(chatTypes) })
const user = members({ id: text(USER), is_bot: no })
const standing = (sample: string) => choice(['left', 'member', 'kicked'], sample)
const voucherStates = ['issued', 'redeemed', 'expired']

const voucher = members({
  id: text(VOUCHER),
  templateId: text(TEMPLATE),
  externalTemplateId: text('coffee-1'),
  applicationId: text(APP),
  externalIssueId: text('order-1001'),
  recipientUserId: text(USER),
  status: choice(voucherStates),
  redeemable: yes,
  type: text('gift'),
  name: text('One free coffee'),
  issuerName: text('Coffee shop'),
  fulfillerName: text('Coffee shop'),
  fulfillmentCategory: choice(fulfillmentCategories, 'offline_service'),
  validFrom: instant(),
  validUntil: instant(30 * DAY),
  codeHint: text('T4FJ'),
  channel: choice(['direct', 'bot']),
  botId: absent(text('')),
  issuedAt: instant(),
  redeemedAt: absent(instant()),
  redemptionId: absent(text('')),
  metadata: pairs({ table: '7' }),
  updatedAt: instant(),
})

const redemption = (status: 'succeeded' | 'reversed') => {
  const isReversed = status === 'reversed'
  return members({
    id: text(REDEMPTION),
    status: choice(['succeeded', 'reversed'], status),
    voucherId: text(VOUCHER),
    templateId: text(TEMPLATE),
    applicationId: text(APP),
    externalIssueId: text('order-1001'),
    recipientUserId: text(USER),
    credentialType: choice(credentialTypes, 'redeem_code'),
    reference: { ...text('till-4'), nullable: true },
    metadata: pairs(),
    redeemedAt: instant(isReversed ? -600 : 0),
    reversedAt: isReversed ? { ...instant(), nullable: true } : absent(instant()),
    reversalReason: isReversed ? { ...text('Wrong till'), nullable: true } : absent(text('')),
    voucher: members({
      id: text(VOUCHER),
      status: choice(voucherStates, isReversed ? 'issued' : 'redeemed'),
      redeemable: isReversed ? yes : no,
      validUntil: instant(29 * DAY),
      codeHint: text('T4FJ'),
    }),
  })
}

/** Payload shape of each update type (rules/bots.md#update-types), as in the contract. */
export const payloadShapes: Readonly<Record<UpdateType, ObjectShape>> = {
  message: { message_id: integer(1), date: unixSeconds, chat, from: user, text: text('Hello, one coffee please') },
  my_chat_member: {
    chat,
    from: user,
    date: unixSeconds,
    old_status: standing('left'),
    new_status: standing('member'),
  },
  friend_request: { id: text(REQUEST), from: user, date: unixSeconds },
  inline_query: { id: text(REQUEST), from: user, query: text('coffee') },
  ping: {},
  voucher_issued: { voucher },
  voucher_redeemed: { redemption: redemption('succeeded') },
  voucher_reversed: { redemption: redemption('reversed') },
}

/** Shape of a complete update, with update_id and payload. */
export function updateShape(type: UpdateType): ObjectShape {
  return {
    update_id: integer(0),
    type: choice([type]),
    created_at: instant(),
    [type]: members(payloadShapes[type]),
  }
}
