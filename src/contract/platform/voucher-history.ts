import { get, group, post } from '../endpoint.js'
import { input, instant, instantInput, machineId, nullable, oneOf, page, pageQuery } from '../fields.js'
import { type Static, Type } from '../schema.js'
import { updateTypes } from '../updates.js'
import { credential, voucher } from '../vouchers.js'
import { delivery } from '../webhook.js'

// Vouchers of all applications, as the operator sees them (rules/operator.md#voucher-history).

export const voucherStatuses = ['issued', 'redeemed', 'expired'] as const

const voucherEventTypes = ['issued', 'verified', 'shown', 'redeemed', 'replayed', 'reversed', 'expired'] as const

/** An update that notified a bot of the event. */
const voucherUpdate = Type.Object({
  bot_id: Type.String(),
  update_id: Type.Integer(),
  type: oneOf(updateTypes),
  pending: Type.Boolean({ description: 'waits for a webhook or a poll' }),
  delivery: nullable(delivery),
})

export const voucherEvent = Type.Object({
  type: oneOf(voucherEventTypes),
  at: instant,
  stored: Type.Boolean({ description: 'false for verified, shown and replayed, which are known since log_since' }),
  endpoint: nullable(Type.String({ description: 'contract id of the call; null for expired' })),
  request_id: nullable(Type.String()),
  idempotency_key: nullable(Type.String()),
  token_id: nullable(Type.String({ description: 'application token' })),
  token_name: nullable(Type.String()),
  token_prefix: nullable(Type.String({ description: 'of the application token or bot token' })),
  by_operator: Type.Boolean({ description: 'true if the operator called as the application, or saw the code' }),
  bot_id: nullable(Type.String({ description: 'the bot that called' })),
  redemption_id: nullable(Type.String()),
  reference: nullable(Type.String({ description: 'of a redemption' })),
  reason: nullable(Type.String({ description: 'of a reversal, or why a verified voucher could not be redeemed' })),
  message: nullable(
    Type.Object({ chat_id: Type.String(), message_id: Type.Integer() }, { description: 'that delivered the voucher' }),
  ),
  updates: Type.Array(voucherUpdate),
})
export type VoucherEvent = Static<typeof voucherEvent>

export const voucherHistory = Type.Object({
  voucher,
  events: Type.Array(voucherEvent, { description: 'oldest first' }),
  older_redemptions: Type.Boolean({ description: 'true if only the newest redemptions are shown' }),
  now: instant,
  log_since: instant,
  server_started_at: instant,
})
export type VoucherHistory = Static<typeof voucherHistory>

const found = { output: voucherHistory, failures: ['VOUCHER_NOT_FOUND'] } as const

export const platformVouchers = group('platform', {
  vouchers: get('/_platform/v1/vouchers', {
    summary: 'List the vouchers of all applications',
    query: input({
      ...pageQuery,
      application_id: Type.Optional(Type.String()),
      template_id: Type.Optional(Type.String()),
      recipient_user_id: Type.Optional(machineId(128)),
      external_issue_id: Type.Optional(machineId(128)),
      status: Type.Optional(oneOf(voucherStatuses)),
      since: Type.Optional(instantInput),
    }),
    output: page(voucher),
  }),

  voucher: get('/_platform/v1/vouchers/:voucherId', {
    ...found,
    summary: 'Show a voucher with its history',
  }),

  /** A POST, because a credential must not be in a URL. */
  findVoucher: post('/_platform/v1/voucher-lookup', {
    ...found,
    summary: 'Show the voucher of a credential with its history',
    unrecorded: true,
    repeatable: true,
    body: input({ credential }),
  }),
})
