import { credentialTypes, get, group, post } from './endpoint.js'
import {
  fulfillmentCategories,
  input,
  instant,
  machineId,
  metadata,
  metadataInput,
  nullable,
  oneOf,
  secret,
  text,
  unique,
} from './fields.js'
import { type Static, Type } from './schema.js'

/** A credential (RULES.md#credentials). domain/credentials.ts checks the format of the value. */
export const credential = input({
  type: oneOf(credentialTypes),
  value: Type.String({ minLength: 1, maxLength: 256, ...secret }),
})
export type Credential = Static<typeof credential>

/** Voucher record (RULES.md#vouchers). */
const voucherFields = {
  id: Type.String(),
  templateId: Type.String(),
  externalTemplateId: Type.String(),
  applicationId: Type.String(),
  externalIssueId: Type.String(),
  recipientUserId: Type.String(),
  status: oneOf(['issued', 'redeemed', 'expired']),
  redeemable: Type.Boolean(),
  type: Type.String(),
  name: Type.String(),
  issuerName: Type.String(),
  fulfillerName: Type.String(),
  fulfillmentCategory: oneOf(fulfillmentCategories),
  validFrom: instant,
  validUntil: instant,
  codeHint: Type.String({ description: 'the last four symbols of the redeem code' }),
  channel: oneOf(['direct', 'bot']),
  botId: nullable(Type.String()),
  issuedAt: instant,
  redeemedAt: nullable(instant),
  redemptionId: nullable(Type.String()),
  metadata,
  updatedAt: instant,
}
export const voucher = Type.Object(voucherFields)
export type Voucher = Static<typeof voucher>

export const issuedVoucher = Type.Object({
  ...voucherFields,
  credentials: Type.Array(Type.Object({ type: oneOf(credentialTypes), value: Type.String(secret) })),
})
export type IssuedVoucher = Static<typeof issuedVoucher>

/** Required members of an issued voucher. */
export const issueEvidence = {
  id: 'text',
  status: 'text',
  externalIssueId: { input: 'external_issue_id' },
  credentials: 'credentials',
} as const

export const verification = Type.Object({
  redeemable: Type.Boolean(),
  reason: nullable(oneOf(['already_redeemed', 'expired', 'not_yet_valid', 'recipient_mismatch'])),
  voucher,
  checkedAt: instant,
})
export type Verification = Static<typeof verification>

/** Redemption record (RULES.md#redemptions). */
export const redemption = Type.Object({
  id: Type.String(),
  status: oneOf(['succeeded', 'reversed']),
  voucherId: Type.String(),
  templateId: Type.String(),
  applicationId: Type.String(),
  externalIssueId: Type.String(),
  recipientUserId: Type.String(),
  credentialType: oneOf(credentialTypes),
  reference: nullable(Type.String()),
  metadata,
  redeemedAt: instant,
  reversedAt: nullable(instant),
  reversalReason: nullable(Type.String()),
  voucher: Type.Object({
    id: Type.String(),
    status: oneOf(['issued', 'redeemed', 'expired']),
    redeemable: Type.Boolean(),
    validUntil: instant,
    codeHint: Type.String(),
  }),
})
export type Redemption = Static<typeof redemption>

export const issueFailures = [
  'TEMPLATE_NOT_FOUND',
  'TEMPLATE_NOT_ACTIVE',
  'TEMPLATE_VALIDITY_ENDED',
  'TEMPLATE_QUOTA_EXHAUSTED',
  'EXTERNAL_ISSUE_ID_CONFLICT',
] as const

export const vouchers = group('vouchers', {
  issue: post('/api/v1/open-platform/vouchers/issue', {
    summary: 'Issue a voucher of an active template to a user',
    command: 'vouchers issue --template :template_id --external-id :external_issue_id --recipient :recipient_user_id',
    accepts: ['active'],
    caller: 'token',
    scope: 'vouchers:issue',
    limit: 'issue',
    idempotent: true,
    body: input({
      template_id: Type.String(),
      external_issue_id: machineId(128, unique('EXTERNAL_ISSUE_ID_CONFLICT', 128, '-')),
      recipient_user_id: machineId(128),
      metadata: Type.Optional(metadataInput),
    }),
    status: 201,
    statuses: [200],
    output: issuedVoucher,
    evidence: issueEvidence,
    failures: issueFailures,
  }),

  verify: post('/api/v1/open-platform/vouchers/verify', {
    summary: 'Check whether a voucher can be redeemed',
    command: 'vouchers verify -',
    caller: 'token',
    scope: 'vouchers:verify',
    limit: 'verify',
    repeatable: true,
    body: input({ credential, recipient_user_id: Type.Optional(machineId(128)) }),
    output: verification,
    evidence: { redeemable: 'boolean' },
    failures: ['VOUCHER_NOT_FOUND', 'CREDENTIAL_ATTEMPTS_EXCEEDED'],
  }),

  redeem: post('/api/v1/open-platform/vouchers/redeem', {
    summary: 'Redeem a voucher',
    command: 'vouchers redeem - --reference :reference',
    caller: 'token',
    scope: 'vouchers:redeem',
    limit: 'redeem',
    idempotent: true,
    body: input({
      credential,
      recipient_user_id: Type.Optional(machineId(128)),
      reference: Type.Optional(machineId(128)),
      metadata: Type.Optional(metadataInput),
    }),
    output: redemption,
    evidence: { id: 'text', status: { value: 'succeeded' } },
    failures: [
      'VOUCHER_NOT_FOUND',
      'CREDENTIAL_ATTEMPTS_EXCEEDED',
      'VOUCHER_ALREADY_REDEEMED',
      'VOUCHER_EXPIRED',
      'VOUCHER_NOT_YET_VALID',
      'RECIPIENT_MISMATCH',
    ],
  }),

  redemption: get('/api/v1/open-platform/vouchers/redemptions/:redemptionId', {
    summary: 'Read a redemption',
    caller: 'token',
    scope: 'vouchers:read',
    limit: 'reads',
    output: redemption,
    failures: ['REDEMPTION_NOT_FOUND'],
  }),

  reverse: post('/api/v1/open-platform/vouchers/redemptions/:redemptionId/reverse', {
    summary: 'Reverse a redemption',
    command: 'vouchers reverse :redemptionId --reason :reason',
    caller: 'token',
    scope: 'vouchers:reverse',
    limit: 'reverse',
    idempotent: true,
    body: input({ reason: Type.Optional(text(0, 200)), metadata: Type.Optional(metadataInput) }),
    bodyOptional: true,
    output: redemption,
    evidence: { id: { input: 'redemptionId' }, status: { value: 'reversed' } },
    failures: ['REDEMPTION_NOT_FOUND', 'REDEMPTION_ALREADY_REVERSED', 'REVERSAL_WINDOW_CLOSED'],
  }),
})
