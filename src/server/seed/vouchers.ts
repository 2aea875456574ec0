import type { Validity } from '../../contract/templates.js'
import { DAY_MS } from '../../contract/values/duration.js'
import { newId, type RandomBytes } from '../../domain/ids.js'
import type { Keyring } from '../../domain/keyring.js'
import type { RedemptionRow, TemplateRow, VoucherRow } from '../../domain/rows.js'
import { windowOf } from '../../domain/validity.js'
import { issuedRow } from '../../store/vouchers.js'
import type { SeedApplication, SeedVoucher } from './schema.js'

export interface SeedSources {
  readonly keys: Keyring
  readonly random: RandomBytes
}

interface VoucherTimes {
  readonly issuedAt: number
  /** Time of redemption and reversal. */
  readonly redeemedAt: number
  readonly window: { readonly validFrom: number; readonly validUntil: number }
}

/** Returns times at which calls would have left a voucher in a status; null if the validity allows none. */
export function timesOf(validity: Validity, status: SeedVoucher['status'], now: number): VoucherTimes | null {
  const isFixed = validity.type === 'fixed'
  const end = Date.parse((isFixed ? validity.endsAt : validity.notAfter) ?? '9999-12-31T23:59:59Z')
  const redeemedAt = Math.min(now, end - 1)
  const delay = isFixed ? 0 : validity.delayDays * DAY_MS
  let issuedAt = redeemedAt - delay
  if (status === undefined || status === 'issued') issuedAt = Math.min(now, end - 1 - delay)
  // A day, because the clocks of servers of one database differ.
  else if (status === 'expired' && !isFixed)
    issuedAt = Math.min(now - DAY_MS, end) - delay - validity.durationDays * DAY_MS
  const window = issuedAt < 0 ? null : windowOf(validity, issuedAt)
  if (window === null || (status === 'expired' && window.validUntil > now)) return null
  const isRedeemed = status === 'redeemed' || status === 'reversed'
  return isRedeemed && window.validFrom > redeemedAt ? null : { issuedAt, redeemedAt, window }
}

/** Returns the rows of a seed's voucher as calls with the application's tokens would have written them. */
export function voucherRows(
  { status, ...it }: SeedVoucher,
  { id: applicationId, tokens = [] }: SeedApplication,
  template: TemplateRow,
  now: number,
  { keys, random }: SeedSources,
): { voucher: VoucherRow; redemption?: RedemptionRow } {
  const times = timesOf(JSON.parse(template.validity), status, now)
  if (times === null) throw new RangeError(`the status of voucher ${it.external_issue_id} was not checked`)
  const { issuedAt, redeemedAt: at, window } = times
  const callerWith = (scope: (typeof tokens)[number]['scopes'][number]) =>
    tokens.find(({ scopes }) => scopes.includes(scope))?.id ?? 'seed'
  const call = {
    applicationId,
    templateId: it.template_id,
    externalIssueId: it.external_issue_id,
    recipientUserId: it.recipient_user_id,
    metadata: it.metadata ?? {},
    idempotencyKey: undefined,
    voucherId: newId('vch', issuedAt, random),
    requestId: newId('req', issuedAt, random),
    calledBy: callerWith('vouchers:issue'),
    now: issuedAt,
    keys,
  }
  const { row } = issuedRow(call, window, 0)
  if (status !== 'redeemed' && status !== 'reversed') return { voucher: row }
  const isReversed = status === 'reversed'
  const [id, requestId, reverseId] = [newId('rdm', at, random), newId('req', at, random), newId('req', at, random)]
  const redemption: RedemptionRow = {
    application_id: applicationId,
    id,
    voucher_id: row.id,
    template_id: row.template_id,
    external_issue_id: row.external_issue_id,
    recipient_user_id: row.recipient_user_id,
    credential_type: 'redeem_code',
    reference: null,
    metadata: '{}',
    redeemed_at: at,
    redeem_request_id: requestId,
    redeem_idempotency_key: requestId,
    redeemed_by: callerWith('vouchers:redeem'),
    reversed_at: isReversed ? at : null,
    reversal_reason: null,
    reverse_request_id: isReversed ? reverseId : null,
    reverse_idempotency_key: isReversed ? reverseId : null,
    reversed_by: isReversed ? callerWith('vouchers:reverse') : null,
  }
  const used = isReversed ? {} : { state: 'redeemed' as const, redeemed_at: at, redemption_id: id }
  return { voucher: { ...row, ...used, updated_at: at }, redemption }
}
