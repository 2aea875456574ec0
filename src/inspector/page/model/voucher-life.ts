import type { VoucherEvent, VoucherHistory } from '../../../contract/platform/voucher-history.js'
import { relative } from './format.js'

export type LifeItem = ReturnType<typeof lifeOf>[number]

function titleOf({ type, endpoint, reason }: VoucherEvent): string {
  const title = type[0]?.toUpperCase() + type.slice(1)
  if (type === 'verified') return `${title}: ${reason?.replaceAll('_', ' ') ?? 'redeemable'}`
  return type === 'replayed' ? `${title}: ${endpoint}` : title
}

/** Lists the events of a voucher, oldest first, then the changes that only the clock causes, if nobody redeems it. */
export function lifeOf({ voucher, events, now }: VoucherHistory) {
  const ahead = [
    { title: 'Becomes valid', at: voucher.validFrom, event: null },
    { title: 'Expires', at: voucher.validUntil, event: null },
  ].filter(({ at }) => at > now && voucher.status === 'issued')
  const items = [...events.map((event) => ({ title: titleOf(event), at: event.at, event })), ...ahead]
  return items.map((it, index) => ({ ...it, gap: gapOf(it.at, items[index - 1]?.at) }))
}

/** Time since the previous event, in words; empty for the first event. Both instants are RFC 3339 in UTC. */
function gapOf(at: string, before = at): string {
  const later = relative(at, Date.parse(before))
  return later === 'now' ? '' : `(${later.slice(3)} later)`
}
