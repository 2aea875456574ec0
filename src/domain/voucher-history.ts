import type { VoucherEvent } from '../contract/platform/voucher-history.js'
import { OPERATOR_CALLER, type TokenRow } from './application.js'
import { formatInstant } from './time.js'
import type { RedemptionRow, VoucherRow } from './voucher.js'

/** A call about a voucher that is in no row. */
export interface LoggedCall {
  readonly type: 'verified' | 'replayed' | 'shown'
  readonly at: string
  readonly endpoint: string | null
  readonly requestId: string
  readonly idempotencyKey: string | null
  readonly calledBy: string
  readonly botId: string | null
  readonly reason: string | null
}

type CallingToken = Pick<TokenRow, 'id' | 'name' | 'token_prefix'>

/** Rows and calls from which the events of a voucher are derived. */
interface Life {
  readonly voucher: VoucherRow
  readonly redemptions: readonly RedemptionRow[]
  readonly logged: readonly LoggedCall[]
  readonly tokens: readonly CallingToken[]
  readonly message: VoucherEvent['message']
  /** Updates by the id of the request that caused them. */
  readonly updates: ReadonlyMap<string, VoucherEvent['updates']>
}

type KnownMembers = Partial<VoucherEvent> & Pick<VoucherEvent, 'type' | 'at'>

const event = (known: KnownMembers): VoucherEvent => ({
  stored: true,
  endpoint: null,
  request_id: null,
  idempotency_key: null,
  token_id: null,
  token_name: null,
  token_prefix: null,
  by_operator: false,
  bot_id: null,
  redemption_id: null,
  reference: null,
  reason: null,
  message: null,
  updates: [],
  ...known,
})

/** Returns the events of a voucher, oldest first (rules/operator.md#voucher-history). */
export function eventsOf(life: Life, now: number): VoucherEvent[] {
  const { voucher, redemptions, logged, updates } = life
  const caller = (calledBy: string) => callerMembers(calledBy, life.tokens)
  const stored = (requestId: string) => ({ request_id: requestId, updates: updates.get(requestId) ?? [] })
  const events = [
    event({
      type: 'issued',
      at: formatInstant(voucher.issued_at),
      endpoint: voucher.channel === 'bot' ? 'bots.issue' : 'vouchers.issue',
      idempotency_key: voucher.issue_idempotency_key,
      bot_id: voucher.bot_id,
      message: life.message,
      ...caller(voucher.issued_by),
      ...stored(voucher.issue_request_id),
    }),
    ...logged.map((call) =>
      event({
        type: call.type,
        at: call.at,
        stored: false,
        endpoint: call.endpoint,
        request_id: call.requestId,
        idempotency_key: call.idempotencyKey,
        bot_id: call.botId,
        reason: call.reason,
        ...caller(call.calledBy),
      }),
    ),
  ]
  for (const it of redemptions) {
    events.push(
      event({
        type: 'redeemed',
        at: formatInstant(it.redeemed_at),
        endpoint: 'vouchers.redeem',
        idempotency_key: it.redeem_idempotency_key,
        redemption_id: it.id,
        reference: it.reference,
        ...caller(it.redeemed_by),
        ...stored(it.redeem_request_id),
      }),
    )
    if (it.reversed_at === null) continue
    events.push(
      event({
        type: 'reversed',
        at: formatInstant(it.reversed_at),
        endpoint: 'vouchers.reverse',
        idempotency_key: it.reverse_idempotency_key,
        redemption_id: it.id,
        reason: it.reversal_reason,
        ...caller(it.reversed_by as string),
        ...stored(it.reverse_request_id as string),
      }),
    )
  }
  const expiredAt = expiryOf(life, now)
  if (expiredAt !== null) events.push(event({ type: 'expired', at: formatInstant(expiredAt) }))
  // All instants have the same format, so their text sorts by time.
  return events.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
}

/** A redeemed voucher does not expire, so a reversal after valid_until is the moment of its expiry. */
function expiryOf({ voucher, redemptions }: Life, now: number): number | null {
  if (voucher.state === 'redeemed' || now < voucher.valid_until) return null
  return Math.max(voucher.valid_until, ...redemptions.map((it) => it.reversed_at ?? 0))
}

function callerMembers(
  calledBy: string,
  tokens: readonly CallingToken[],
): Pick<VoucherEvent, 'token_id' | 'token_name' | 'token_prefix' | 'by_operator'> {
  const by_operator = calledBy === OPERATOR_CALLER
  if (by_operator) return { token_id: null, token_name: null, token_prefix: null, by_operator }
  const token = tokens.find((it) => it.id === calledBy)
  return token === undefined
    ? { token_id: null, token_name: null, token_prefix: calledBy, by_operator }
    : { token_id: token.id, token_name: token.name, token_prefix: token.token_prefix, by_operator }
}
