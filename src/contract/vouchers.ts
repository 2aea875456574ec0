import { credentialTypes, get, group, post } from './endpoint.js'
import {
  ids,
  input,
  instant,
  instantAt,
  laterInstant,
  machineId,
  metadata,
  metadataInput,
  nullable,
  oneOf,
  secret,
  templateSummary,
  text,
  unique,
  userId,
} from './fields.js'
import { type Static, Type, withExample } from './schema.js'

/** A credential (rules/vouchers.md#credentials). domain/credentials.ts checks the format of the value. */
export const credential = input({
  type: oneOf(credentialTypes, 'redeem_code'),
  value: Type.String({ minLength: 1, maxLength: 256, example: 'M9S3-46Q3-D25V-T4FJ', ...secret }),
})
export type Credential = Static<typeof credential>

const bothCredentials: Credential[] = [
  { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' },
  { type: 'qr_token', value: 'VQ1-3F8JQ2M7T0XCWA5ND9RBKZ1VH4YGP6SES' },
]

/** Credentials in a response. */
export const credentials = Type.Array(Type.Object({ type: oneOf(credentialTypes), value: Type.String(secret) }), {
  example: bothCredentials,
})

const validUntil = instantAt('2026-12-21T10:00:00.000Z')
const externalIssueId = Type.String({ example: 'order-1001' })
export const newExternalIssueId = machineId(128, {
  ...unique('EXTERNAL_ISSUE_ID_CONFLICT', 128, '-'),
  example: 'order-1001',
})
const { externalTemplateId, type, ...summary } = templateSummary

/** Voucher record (rules/vouchers.md#vouchers). */
const voucherFields = {
  id: ids.voucherId,
  templateId: ids.templateId,
  externalTemplateId,
  applicationId: ids.appId,
  externalIssueId,
  recipientUserId: userId,
  status: oneOf(['issued', 'redeemed', 'expired']),
  redeemable: Type.Boolean({ example: true }),
  type,
  ...summary,
  validFrom: instant,
  validUntil,
  codeHint: Type.String({ description: 'the last four symbols of the redeem code', example: 'T4FJ' }),
  channel: oneOf(['direct', 'bot']),
  botId: nullable(ids.botId, null),
  issuedAt: instant,
  redeemedAt: nullable(instant, null),
  redemptionId: nullable(ids.redemptionId, null),
  metadata: withExample(metadata, { table: '7' }),
  updatedAt: instant,
}
export const voucher = Type.Object(voucherFields)
export type Voucher = Static<typeof voucher>

export const issuedVoucher = Type.Object({
  ...voucherFields,
  credentials,
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
  redeemable: Type.Boolean({ example: true }),
  reason: nullable(oneOf(['already_redeemed', 'expired', 'not_yet_valid', 'recipient_mismatch'])),
  voucher,
  checkedAt: laterInstant,
})
export type Verification = Static<typeof verification>

/** Redemption record (rules/vouchers.md#redemptions). */
export const redemption = Type.Object({
  id: ids.redemptionId,
  status: oneOf(['succeeded', 'reversed']),
  voucherId: ids.voucherId,
  templateId: ids.templateId,
  applicationId: ids.appId,
  externalIssueId,
  recipientUserId: userId,
  credentialType: oneOf(credentialTypes, 'redeem_code'),
  reference: nullable(Type.String(), 'till-4'),
  metadata,
  redeemedAt: laterInstant,
  reversedAt: nullable(instant, null),
  reversalReason: nullable(Type.String()),
  voucher: Type.Object({
    id: ids.voucherId,
    status: oneOf(['issued', 'redeemed', 'expired'], 'redeemed'),
    redeemable: Type.Boolean(),
    validUntil,
    codeHint: Type.String({ example: 'T4FJ' }),
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

/** Optional members of an issue, by an application or by a bot. */
export const issueOptions = { metadata: Type.Optional(metadataInput) }

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
      template_id: ids.templateId,
      external_issue_id: newExternalIssueId,
      recipient_user_id: machineId(128, { example: 'user-42' }),
      ...issueOptions,
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
      reference: Type.Optional(machineId(128), 'till-4'),
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
    body: input({ reason: Type.Optional(text(0, 200), 'Wrong till'), metadata: Type.Optional(metadataInput) }),
    bodyOptional: true,
    output: redemption,
    evidence: { id: { input: 'redemptionId' }, status: { value: 'reversed' } },
    failures: ['REDEMPTION_NOT_FOUND', 'REDEMPTION_ALREADY_REVERSED', 'REVERSAL_WINDOW_CLOSED'],
  }),
})
