import type { InputOf } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { issueFailures, Redemption, Verification, Voucher, vouchers } from '../contract/vouchers.js'
import { DAY_MS } from '../values/duration.js'
import type { IdempotencyKey } from './idempotency.js'
import type { TemplateRow, TemplateSummary } from './template.js'
import { formatInstant, instantOrNull } from './time.js'
import { windowOf } from './validity.js'

export interface VoucherRow {
  application_id: string
  id: string
  template_id: string
  external_issue_id: string
  recipient_user_id: string
  /** Stored state: a voucher expires by its valid_until, without a change of state. */
  state: 'issued' | 'redeemed'
  valid_from: number
  valid_until: number
  code_hint: string
  /** Id of the credential key and collision counter, from which the server derives the credentials. */
  key_id: string
  key_counter: number
  redeem_code_hash: string
  qr_token_hash: string
  channel: 'direct' | 'bot'
  bot_id: string | null
  issued_at: number
  /** The call that issued the voucher (`CallSource`). */
  issue_request_id: string
  issue_idempotency_key: string | null
  issued_by: string
  redeemed_at: number | null
  redemption_id: string | null
  metadata: string
  updated_at: number
}

/** Columns that a reversal sets. */
export interface Reversal {
  metadata: string
  reversed_at: number | null
  reversal_reason: string | null
  /** The call that reversed (`CallSource`). */
  reverse_request_id: string | null
  reverse_idempotency_key: string | null
  reversed_by: string | null
}

export interface RedemptionRow extends Reversal {
  application_id: string
  id: string
  voucher_id: string
  template_id: string
  external_issue_id: string
  recipient_user_id: string
  credential_type: 'qr_token' | 'redeem_code'
  reference: string | null
  redeemed_at: number
  /** The call that redeemed (`CallSource`). */
  redeem_request_id: string
  redeem_idempotency_key: string
  redeemed_by: string
}

/** Period in which a redemption can be reversed (rules/vouchers.md#reversal). */
export const REVERSAL_WINDOW_MS = 90 * DAY_MS

type VoucherLifecycle = Pick<VoucherRow, 'state' | 'valid_from' | 'valid_until'>

export type RedeemableVoucher = VoucherLifecycle &
  Pick<
    VoucherRow,
    'id' | 'template_id' | 'external_issue_id' | 'recipient_user_id' | 'code_hint' | 'redeemed_at' | 'redemption_id'
  >

/** Columns from which the record of a voucher is made. */
export const publicVoucherColumns = [
  'application_id',
  'id',
  'template_id',
  'external_issue_id',
  'recipient_user_id',
  'state',
  'valid_from',
  'valid_until',
  'code_hint',
  'channel',
  'bot_id',
  'issued_at',
  'redeemed_at',
  'redemption_id',
  'metadata',
  'updated_at',
] as const satisfies readonly (keyof VoucherRow)[]
export type PublicVoucherRow = Pick<VoucherRow, (typeof publicVoucherColumns)[number]>

export type IssuingTemplate = Pick<TemplateRow, 'status' | 'validity' | 'issue_limit' | 'issued_count'>

/** The stored states are issued and redeemed; expired is derived, and a redeemed voucher does not expire. */
export function statusOf(voucher: VoucherLifecycle, now: number): Voucher['status'] {
  if (voucher.state === 'redeemed') return 'redeemed'
  return now < voucher.valid_until ? 'issued' : 'expired'
}

/** Returns the first reason why a voucher cannot be redeemed now, or null. */
export function obstacleOf(
  voucher: VoucherLifecycle & Pick<VoucherRow, 'recipient_user_id'>,
  now: number,
  recipient?: string,
): Verification['reason'] {
  if (voucher.state === 'redeemed') return 'already_redeemed'
  if (now >= voucher.valid_until) return 'expired'
  if (now < voucher.valid_from) return 'not_yet_valid'
  if (recipient !== undefined && recipient !== voucher.recipient_user_id) return 'recipient_mismatch'
  return null
}

export function voucherRecord(row: PublicVoucherRow, summary: TemplateSummary, now: number): Voucher {
  return {
    id: row.id,
    templateId: row.template_id,
    externalTemplateId: summary.external_template_id,
    applicationId: row.application_id,
    externalIssueId: row.external_issue_id,
    recipientUserId: row.recipient_user_id,
    status: statusOf(row, now),
    redeemable: obstacleOf(row, now) === null,
    type: summary.type,
    name: summary.name,
    issuerName: summary.issuer_name,
    fulfillerName: summary.fulfiller_name,
    fulfillmentCategory: summary.fulfillment_category as Voucher['fulfillmentCategory'],
    validFrom: formatInstant(row.valid_from),
    validUntil: formatInstant(row.valid_until),
    codeHint: row.code_hint,
    channel: row.channel,
    botId: row.bot_id,
    issuedAt: formatInstant(row.issued_at),
    redeemedAt: instantOrNull(row.redeemed_at),
    redemptionId: row.redemption_id,
    metadata: JSON.parse(row.metadata),
    updatedAt: formatInstant(row.updated_at),
  }
}

/** Rebuilds the voucher record that the issue call returned, before any redemption, for a replay. */
export function voucherRecordAtIssue(row: PublicVoucherRow, summary: TemplateSummary): Voucher {
  const asIssued = {
    ...row,
    state: 'issued',
    redeemed_at: null,
    redemption_id: null,
    updated_at: row.issued_at,
  } as const
  return voucherRecord(asIssued, summary, row.issued_at)
}

export function redemptionRecord(
  row: RedemptionRow,
  voucher: VoucherLifecycle & Pick<VoucherRow, 'id' | 'recipient_user_id' | 'code_hint'>,
  now: number,
): Redemption {
  return {
    id: row.id,
    status: row.reversed_at === null ? 'succeeded' : 'reversed',
    voucherId: row.voucher_id,
    templateId: row.template_id,
    applicationId: row.application_id,
    externalIssueId: row.external_issue_id,
    recipientUserId: row.recipient_user_id,
    credentialType: row.credential_type,
    reference: row.reference,
    metadata: JSON.parse(row.metadata),
    redeemedAt: formatInstant(row.redeemed_at),
    reversedAt: instantOrNull(row.reversed_at),
    reversalReason: row.reversal_reason,
    voucher: {
      id: voucher.id,
      status: statusOf(voucher, now),
      redeemable: obstacleOf(voucher, now) === null,
      validUntil: formatInstant(voucher.valid_until),
      codeHint: voucher.code_hint,
    },
  }
}

/**
 * Rebuilds the redemption record that the redeem call returned, for a replay.
 * @param metadata metadata of the redeem call: the row may also have the metadata of a reversal
 */
export function redemptionRecordAtRedeem(
  row: RedemptionRow,
  voucher: Parameters<typeof redemptionRecord>[1],
  metadata: Readonly<Record<string, string>>,
): Redemption {
  const asRedeemed = { ...row, metadata: JSON.stringify(metadata), reversed_at: null, reversal_reason: null }
  return redemptionRecord(asRedeemed, { ...voucher, state: 'redeemed' }, row.redeemed_at)
}

/** Request id and caller of a call, for the voucher's history. */
export interface CallSource {
  readonly requestId: string
  /** Id of an application token, or prefix of a bot token. */
  readonly calledBy: string
}

export type IssueInput = InputOf<typeof vouchers.issue>

/** A call that issues a voucher: its input, and what the server knows about the call. */
export interface IssueCall extends IssueInput, CallSource {
  readonly applicationId: string
  readonly voucherId: string
  /** Undefined for a bot's call without an idempotency key. */
  readonly idempotencyKey: IdempotencyKey | undefined
  /** The bot that delivers the voucher into a chat; absent for a direct issue. */
  readonly botId?: string
  readonly now: number
}

/** @param credentials columns of the credentials */
export function newVoucher(
  call: IssueCall,
  window: { readonly validFrom: number; readonly validUntil: number },
  credentials: Pick<VoucherRow, 'code_hint' | 'key_id' | 'key_counter' | 'redeem_code_hash' | 'qr_token_hash'>,
): VoucherRow {
  return {
    application_id: call.applicationId,
    id: call.voucherId,
    template_id: call.template_id,
    external_issue_id: call.external_issue_id,
    recipient_user_id: call.recipient_user_id,
    state: 'issued',
    valid_from: window.validFrom,
    valid_until: window.validUntil,
    ...credentials,
    channel: call.botId === undefined ? 'direct' : 'bot',
    bot_id: call.botId ?? null,
    issued_at: call.now,
    issue_request_id: call.requestId,
    issue_idempotency_key: call.idempotencyKey?.value ?? null,
    issued_by: call.calledBy,
    redeemed_at: null,
    redemption_id: null,
    metadata: JSON.stringify(call.metadata ?? {}),
    updated_at: call.now,
  }
}

export type IssueRefusal = Refusal<(typeof issueFailures)[number]>

type IssueDecision =
  | IssueRefusal
  | { readonly ok: true; readonly existing: VoucherRow }
  | { readonly ok: true; readonly existing: null; readonly validFrom: number; readonly validUntil: number }

/** Decides an issue. A repeated request gets the existing voucher, even if quota or validity has ended since. */
export function decideIssue(
  template: IssuingTemplate | undefined,
  existing: VoucherRow | undefined,
  input: IssueInput,
  now: number,
): IssueDecision {
  if (template === undefined) return refuse('TEMPLATE_NOT_FOUND')
  if (existing !== undefined) {
    return existing.recipient_user_id === input.recipient_user_id
      ? { ok: true, existing }
      : refuse('EXTERNAL_ISSUE_ID_CONFLICT')
  }
  if (template.status !== 'active') return refuse('TEMPLATE_NOT_ACTIVE', { status: template.status })
  const window = windowOf(JSON.parse(template.validity), now)
  if (window === null) return refuse('TEMPLATE_VALIDITY_ENDED')
  if (template.issued_count >= template.issue_limit) {
    return refuse('TEMPLATE_QUOTA_EXHAUSTED', { issue_limit: template.issue_limit })
  }
  return { ok: true, existing: null, ...window }
}

export type RedeemRefusal = Refusal<
  'VOUCHER_ALREADY_REDEEMED' | 'VOUCHER_EXPIRED' | 'VOUCHER_NOT_YET_VALID' | 'RECIPIENT_MISMATCH'
>

/** Refuses a voucher that cannot be redeemed now; null if it can. */
export function refuseRedeem(voucher: RedeemableVoucher, now: number, recipient?: string): RedeemRefusal | null {
  switch (obstacleOf(voucher, now, recipient)) {
    case 'already_redeemed':
      return refuse('VOUCHER_ALREADY_REDEEMED', {
        redemption_id: voucher.redemption_id,
        redeemed_at: formatInstant(voucher.redeemed_at as number),
      })
    case 'expired':
      return refuse('VOUCHER_EXPIRED', { valid_until: formatInstant(voucher.valid_until) })
    case 'not_yet_valid':
      return refuse('VOUCHER_NOT_YET_VALID', { valid_from: formatInstant(voucher.valid_from) })
    case 'recipient_mismatch':
      return refuse('RECIPIENT_MISMATCH')
    case null:
      return null
  }
}

/** Refuses a redemption that cannot be reversed; null if it can. */
export function refuseReverse(
  redemption: RedemptionRow,
  now: number,
): Refusal<'REDEMPTION_ALREADY_REVERSED' | 'REVERSAL_WINDOW_CLOSED'> | null {
  if (redemption.reversed_at !== null) {
    return refuse('REDEMPTION_ALREADY_REVERSED', { reversed_at: formatInstant(redemption.reversed_at) })
  }
  if (now - redemption.redeemed_at > REVERSAL_WINDOW_MS) {
    return refuse('REVERSAL_WINDOW_CLOSED', { redeemed_at: formatInstant(redemption.redeemed_at) })
  }
  return null
}
