import { templateBody } from '../../../src/contract/openapi/template-body.js'
import type { TemplateRow } from '../../../src/domain/template.js'
import type { RedemptionRow, VoucherRow } from '../../../src/domain/voucher.js'

/** Functions that return database rows with plausible values; a test overrides the members that it needs. */

export const templateRow = (overrides: Partial<TemplateRow> = {}): TemplateRow => ({
  application_id: 'app_1',
  id: 'tpl_1',
  account_id: 'acc',
  bot_id: null,
  ...templateBody,
  validity: '{"type":"relative","durationDays":30,"delayDays":0,"notAfter":null}',
  issued_count: 0,
  status: 'active',
  rejection_code: null,
  rejection_reason: null,
  submitted_at: null,
  reviewed_at: null,
  description: null,
  metadata: '{}',
  created_at: 0,
  updated_at: 0,
  ...overrides,
})

export const voucherRow = (overrides: Partial<VoucherRow> = {}): VoucherRow => ({
  application_id: 'app_1',
  id: 'vch_1',
  template_id: 'tpl_1',
  external_issue_id: 'order-1',
  recipient_user_id: 'user-1',
  state: 'issued',
  valid_from: 1_000,
  valid_until: 2_000,
  code_hint: 'ABCD',
  key_id: 'key_test',
  key_counter: 0,
  redeem_code_hash: 'hash of a code',
  qr_token_hash: 'hash of a token',
  channel: 'direct',
  bot_id: null,
  issued_at: 500,
  issue_request_id: 'req_issue',
  issue_idempotency_key: 'issue-1',
  issued_by: 'tok_1',
  redeemed_at: null,
  redemption_id: null,
  metadata: '{}',
  updated_at: 500,
  ...overrides,
})

export const redeemedRow = (overrides: Partial<VoucherRow> = {}): VoucherRow =>
  voucherRow({ state: 'redeemed', redeemed_at: 1_500, redemption_id: 'rdm_1', updated_at: 1_500, ...overrides })

export const redemptionRow = (overrides: Partial<RedemptionRow> = {}): RedemptionRow => ({
  application_id: 'app_1',
  id: 'rdm_1',
  voucher_id: 'vch_1',
  template_id: 'tpl_1',
  external_issue_id: 'order-1',
  recipient_user_id: 'user-1',
  credential_type: 'redeem_code',
  reference: null,
  metadata: '{}',
  redeemed_at: 1_500,
  redeem_request_id: 'req_redeem',
  redeem_idempotency_key: 'redeem-1',
  redeemed_by: 'tok_1',
  reversed_at: null,
  reversal_reason: null,
  reverse_request_id: null,
  reverse_idempotency_key: null,
  reversed_by: null,
  ...overrides,
})
