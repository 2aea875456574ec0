import type { VoucherEvent, VoucherHistory } from '../../../contract/platform/voucher-history.js'
import type { Tone } from '../components.js'
import { type AxisItem, type AxisRow, joined } from './axis.js'
import { updateRows } from './delivery-rows.js'

const tones: Readonly<Partial<Record<VoucherEvent['type'], Tone>>> = {
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
  return [...events.flatMap(eventRows), ...future]
}

function eventRows(event: VoucherEvent): readonly AxisRow[] {
  return joined(
    eventItem(event),
    event.updates.flatMap((it) => updateRowsOf(it, event.at)),
  )
}

function updateRowsOf({ update_id, type, bot_id, pending, delivery }: VoucherEvent['updates'][number], at: string) {
  if (delivery) return updateRows(delivery)
  const note = pending ? 'not polled yet' : 'not waiting any more'
  const item: AxisItem = { at, lane: 'platform', title: `Update ${update_id} ${type}`, note, facts: [['bot', bot_id]] }
  return [[item]]
}

function eventItem(event: VoucherEvent): AxisItem {
  const { type, at, endpoint, reason, message, by_operator } = event
  const result = type === 'verified' ? (reason ?? 'redeemable') : reason
  return {
    ...{ at, lane: endpoint === null ? 'platform' : 'call', title: capitalised(type), tone: tones[type] ?? 'note' },
    note: [endpoint, result?.replaceAll('_', ' '), by_operator && 'by the operator'].filter(Boolean).join(', '),
    facts: [
      ['request', event.request_id],
      ['idempotency key', event.idempotency_key],
      ['token', [event.token_name, event.token_prefix].filter(Boolean).join(', ') || null],
      ['bot', event.bot_id],
      ['redemption', event.redemption_id],
      ['reference', event.reference],
      ['message', message && `${message.message_id} in ${message.chat_id}`],
    ],
  }
}

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
