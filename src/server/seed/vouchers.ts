import { newId } from '../../domain/ids.js'
import { readValidity, windowOf } from '../../domain/validity.js'
import type { VoucherCalls } from '../../store/seed.js'
import { DAY_MS } from '../../values/duration.js'
import type { Deps } from '../deps.js'
import type { SeedApplication, SeedTemplate, SeedVoucher } from './schema.js'

export type Making = Pick<Deps, 'keys' | 'random'>

/** Returns times at which calls would have left a voucher in a status; null if the validity allows none. */
export function timesOf(template: SeedTemplate, status: SeedVoucher['status'], now: number) {
  const read = readValidity(template.validity)
  if (!read.ok) return null
  const { validity } = read
  const relative = validity.type === 'relative' ? validity : { delayDays: 0, durationDays: 0 }
  const end = Date.parse((validity.type === 'fixed' ? validity.endsAt : validity.notAfter) ?? '9999-12-31')
  const delay = relative.delayDays * DAY_MS
  // Expired since a day, because the clocks of servers of one database differ.
  const longAgo = Math.min(now - DAY_MS, end - 1) - delay - relative.durationDays * DAY_MS
  for (const issuedAt of [now, Math.min(now, end - 1) - delay, longAgo]) {
    const window = issuedAt < 0 ? null : windowOf(validity, issuedAt)
    if (window === null) continue
    const usedAt = Math.min(now, window.validUntil - 1)
    const isUsable = status === undefined || status === 'issued' || window.validFrom <= usedAt
    if (status === 'expired' ? window.validUntil <= now : isUsable) return { issuedAt, usedAt }
  }
  return null
}

/** Returns the calls that bring a voucher of a valid seed to its status, made with tokens of its application. */
export function voucherCalls(
  { status, ...it }: SeedVoucher,
  { id: applicationId, tokens = [], templates = [] }: SeedApplication,
  now: number,
  { keys, random }: Making,
): VoucherCalls {
  const template = templates.find(({ id }) => id === it.template_id)
  const times = template && timesOf(template, status, now)
  if (!times) throw new RangeError(`the status of voucher ${it.external_issue_id} was not checked`)
  const callOf = (name: 'issue' | 'redeem' | 'reverse', at: number) => {
    const requestId = newId('req', at, random)
    const calledBy = tokens.find(({ scopes }) => scopes.includes(`vouchers:${name}`))?.id ?? 'seed'
    const idempotencyKey = { value: requestId, fingerprint: '' }
    return { applicationId, requestId, calledBy, idempotencyKey, metadata: {}, newDeliveryId: () => '', now: at }
  }
  const { issuedAt, usedAt } = times
  const voucherId = newId('vch', issuedAt, random)
  const issue = { ...callOf('issue', issuedAt), ...it, voucherId, keys }
  const redeem = { ...callOf('redeem', usedAt), redemptionId: newId('rdm', usedAt, random) }
  if (status === 'redeemed') return { issue, redeem }
  const reverse = { ...callOf('reverse', usedAt), redemptionId: redeem.redemptionId }
  return status === 'reversed' ? { issue, redeem, reverse } : { issue }
}
