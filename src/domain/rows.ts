/** Rows of the tables: times in ms since the epoch, flags 0 or 1, structures as JSON text. */

export interface ApplicationRow {
  id: string
  account_id: string
  name: string
  description: string | null
  /** Set by the owner; `suspended` overrides it. */
  status: 'active' | 'disabled'
  suspended: number
  features: string
  allowed_origins: string
  secure_transport: 'optional' | 'required'
  created_at: number
  updated_at: number
}

export interface TokenRow {
  id: string
  application_id: string
  name: string
  token_hash: string
  token_prefix: string
  last4: string
  scopes: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

export interface TemplateRow {
  /** Empty for a template without an application. */
  application_id: string
  id: string
  account_id: string
  bot_id: string | null
  external_template_id: string
  name: string
  type: string
  issuer_name: string
  fulfiller_name: string
  fulfillment_category: string
  acquisition_source: string
  validity: string
  issue_limit: number
  issued_count: number
  status: 'draft' | 'reviewing' | 'active' | 'rejected'
  rejection_code: string | null
  rejection_reason: string | null
  submitted_at: number | null
  reviewed_at: number | null
  description: string | null
  metadata: string
  created_at: number
  updated_at: number
}

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
  /** The call that issued the voucher (`VoucherCall`). */
  issue_request_id: string
  issue_idempotency_key: string | null
  issued_by: string
  redeemed_at: number | null
  redemption_id: string | null
  metadata: string
  updated_at: number
}

/** Template fields shown in a voucher. They never change. */
export type TemplateSummary = Pick<
  TemplateRow,
  'external_template_id' | 'name' | 'type' | 'issuer_name' | 'fulfiller_name' | 'fulfillment_category'
>

export interface RedemptionRow {
  application_id: string
  id: string
  voucher_id: string
  template_id: string
  external_issue_id: string
  recipient_user_id: string
  credential_type: 'qr_token' | 'redeem_code'
  reference: string | null
  metadata: string
  redeemed_at: number
  /** The calls that redeemed and reversed (`VoucherCall`). */
  redeem_request_id: string
  redeem_idempotency_key: string
  redeemed_by: string
  reversed_at: number | null
  reversal_reason: string | null
  reverse_request_id: string | null
  reverse_idempotency_key: string | null
  reversed_by: string | null
}

/**
 * A successful call and its idempotency key. `data` is the part of the response that cannot be rebuilt from the voucher
 * or redemption, as JSON without credentials; usually null, because whole responses doubled the stored bytes per call.
 */
export interface IdempotencyRecord {
  application_id: string
  idempotency_key: string
  fingerprint: string
  status: number
  subject_id: string
  data: string | null
  created_at: number
  /** Null for a record that never expires. */
  expires_at: number | null
}
