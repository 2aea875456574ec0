import type { VoucherEvent, VoucherHistory } from '../../../contract/platform/voucher-history.js'
import { type AxisItem, type AxisRow, joined } from './axis.js'
import { updateRows } from './delivery-rows.js'

const tones: Readonly<Partial<Record<VoucherEvent['type'], AxisItem['tone']>>> = {
  redeemed: 'good',
  shown: 'warn',
  reversed: 'warn',
  expired: 'bad',
}

/** The events of a voucher with the updates that they caused, and the changes that only the clock causes. */
export function voucherRows({ voucher, events, now }: VoucherHistory): readonly AxisRow[] {
  const ahead = [
    { title: 'Becomes valid', at: voucher.validFrom },
    { title: 'Expires', at: voucher.validUntil },
  ].filter(({ at }) => at > now && voucher.status === 'issued')
  const future = ahead.map((it): AxisRow => [{ ...it, lane: 'platform', isFuture: true }])
  const past = events.flatMap((it) => joined(eventItem(it), it.updates.flatMap(updateRowsOf(it.at))))
  return [...past, ...future]
}

const updateRowsOf =
  (at: string) =>
  ({ update_id, type, bot_id, pending, delivery }: VoucherEvent['updates'][number]): readonly AxisRow[] => {
    const note = `${pending ? 'not polled yet' : 'not waiting any more'}, ${bot_id}`
    return delivery ? updateRows(delivery) : [[{ at, lane: 'platform', title: `Update ${update_id} ${type}`, note }]]
  }

function eventItem(event: VoucherEvent): AxisItem {
  const { type, at, endpoint, reason, message, by_operator, token_name, token_prefix } = event
  const result = type === 'verified' ? (reason ?? 'redeemable') : reason
  const notes = [endpoint, result?.replaceAll('_', ' '), by_operator && 'by the operator']
  return {
    ...{ at, lane: endpoint === null ? 'platform' : 'call', tone: tones[type] ?? 'note' },
    title: type.charAt(0).toUpperCase() + type.slice(1),
    note: notes.filter(Boolean).join(', '),
    facts: [
      ['request', event.request_id],
      ['idempotency key', event.idempotency_key],
      ['token', token_prefix && `${token_prefix}… ${token_name ?? ''}`],
      ['bot', event.bot_id],
      ['redemption', event.redemption_id],
      ['reference', event.reference],
      ['message', message && `${message.message_id} in ${message.chat_id}`],
    ],
  }
}
