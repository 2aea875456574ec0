import type { Validity } from '../../contract/templates.js'
import { DAY_MS } from '../../contract/values/duration.js'
import { newId } from '../../domain/ids.js'
import type { TemplateRow } from '../../domain/rows.js'
import { windowOf } from '../../domain/validity.js'
import type { VoucherCalls } from '../../store/seed.js'
import type { Deps } from '../deps.js'
import type { SeedApplication, SeedVoucher } from './schema.js'

/** Returns times at which calls would have left a voucher in a status; null if the validity allows none. */
export function timesOf(validity: Validity, status: SeedVoucher['status'], now: number) {
  const relative = validity.type === 'relative' ? validity : { delayDays: 0, durationDays: 0 }
  const end = Date.parse((validity.type === 'fixed' ? validity.endsAt : validity.notAfter) ?? '9999-12-31')
  const delay = relative.delayDays * DAY_MS
  // Expired since a day, because the clocks of servers of one database differ.
  const longAgo = Math.min(now - DAY_MS, end - 1) - delay - relative.durationDays * DAY_MS
  for (const issuedAt of [now, Math.min(now, end - 1) - delay, longAgo]) {
    const window = issuedAt < 0 ? null : windowOf(validity, issuedAt)
    if (window === null) continue
    const usedAt = Math.min(now, window.validUntil - 1)
    const isUsed = status === 'redeemed' || status === 'reversed'
    if (status === 'expired' ? window.validUntil <= now : !isUsed || window.validFrom <= usedAt)
      return { issuedAt, usedAt, window }
  }
  return null
}

/** Returns the calls that bring a voucher of a valid seed to its status, made with tokens of its application. */
export function voucherCalls(
  { status, ...it }: SeedVoucher,
  { id: applicationId, tokens = [] }: SeedApplication,
  template: TemplateRow,
  now: number,
  { keys, random }: Pick<Deps, 'keys' | 'random'>,
): VoucherCalls {
  const times = timesOf(JSON.parse(template.validity), status, now)
  if (times === null) throw new RangeError(`the status of voucher ${it.external_issue_id} was not checked`)
  const callOf = (name: 'issue' | 'redeem' | 'reverse', at: number) => {
    const requestId = newId('req', at, random)
    const calledBy = tokens.find(({ scopes }) => scopes.includes(`vouchers:${name}`))?.id ?? 'seed'
    const idempotencyKey = { value: requestId, fingerprint: '' }
    return { applicationId, requestId, calledBy, idempotencyKey, metadata: {}, newDeliveryId: () => '', now: at }
  }
  const issue = {
    ...callOf('issue', times.issuedAt),
    templateId: it.template_id,
    externalIssueId: it.external_issue_id,
    recipientUserId: it.recipient_user_id,
    metadata: it.metadata ?? {},
    voucherId: newId('vch', times.issuedAt, random),
    keys,
  }
  if (status !== 'redeemed' && status !== 'reversed') return { issue }
  const redemptionId = newId('rdm', times.usedAt, random)
  const redeem = { ...callOf('redeem', times.usedAt), redemptionId }
  return status === 'redeemed'
    ? { issue, redeem }
    : { issue, redeem, reverse: { ...callOf('reverse', times.usedAt), redemptionId } }
}
