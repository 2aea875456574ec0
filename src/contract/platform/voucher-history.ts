import { get, group, post } from '../endpoint.js'
import {
  ids,
  input,
  instant,
  instantInput,
  laterInstant,
  machineId,
  nullable,
  oneOf,
  page,
  pageQuery,
  requestId,
  sortBy,
} from '../fields.js'
import { voucherStatuses } from '../page-choices.js'
import { exampleOf, type Static, Type, withExample } from '../schema.js'
import { updateTypes } from '../updates.js'
import { credential, voucher } from '../vouchers.js'
import { delivery } from '../webhook.js'

// Vouchers of all applications, as the operator sees them (rules/operator.md#voucher-history).

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
  stored: Type.Boolean({
    description: 'false for verified, shown and replayed, which are known since log_since',
    example: true,
  }),
  endpoint: nullable(Type.String({ description: 'contract id of the call; null for expired' }), 'vouchers.issue'),
  request_id: nullable(requestId),
  idempotency_key: nullable(Type.String(), 'order-1001-issue'),
  token_id: nullable(withExample(Type.String({ description: 'application token' }), exampleOf(ids.tokenId))),
  token_name: nullable(Type.String(), 'till'),
  token_prefix: nullable(Type.String({ description: 'of the application token or bot token' }), 'sop_EXAM'),
  by_operator: Type.Boolean({ description: 'true if the operator made the call, or saw the code' }),
  bot_id: nullable(Type.String({ description: 'the bot that called' })),
  redemption_id: nullable(Type.String()),
  reference: nullable(Type.String({ description: 'of a redemption' })),
  reason: nullable(Type.String({ description: 'of a reversal, or why a verified voucher could not be redeemed' })),
  message: nullable(
    Type.Object({ chat_id: Type.String(), message_id: Type.Integer() }, { description: 'that delivered the voucher' }),
    null,
  ),
  updates: Type.Array(voucherUpdate, { example: [] }),
})
export type VoucherEvent = Static<typeof voucherEvent>

const issued = exampleOf(voucherEvent)
const verified: VoucherEvent = {
  ...issued,
  ...{ type: 'verified', at: exampleOf(laterInstant), stored: false, endpoint: 'vouchers.verify' },
  ...{ request_id: 'req_01JZ0000000000000000000001', idempotency_key: null },
}

export const voucherHistory = Type.Object({
  voucher,
  events: Type.Array(voucherEvent, { description: 'oldest first', example: [issued, verified] }),
  older_redemptions: Type.Boolean({ description: 'true if only the newest redemptions are shown' }),
  now: laterInstant,
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
      sort: sortBy('issued_at', 'recipient_user_id', 'external_issue_id'),
    }),
    output: page(voucher),
  }),

  voucher: get('/_platform/v1/vouchers/:voucherId', {
    ...found,
    summary: 'Show a voucher, by its id or that of a redemption, with its history',
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
