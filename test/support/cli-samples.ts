import { redeemCode } from './cli.js'

const at = '2026-11-21T10:00:00.000Z'

export const app = {
  id: 'app_01',
  name: 'Corner shop',
  description: null,
  status: 'active',
  features: ['vouchers'],
  allowedOrigins: ['*'],
  secureTransport: 'optional',
  linkedBots: [],
  createdAt: at,
  updatedAt: at,
}

export const token = {
  id: 'tok_01',
  name: 'till',
  tokenPrefix: 'sop_CANA',
  last4: '3456',
  scopes: ['vouchers:read'],
  status: 'active',
  createdAt: at,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
}

export const template = {
  id: 'tpl_01',
  externalTemplateId: 'coffee',
  name: 'Free coffee',
  type: 'exchange',
  issuerName: 'Corner shop',
  fulfillerName: 'Corner shop',
  fulfillmentCategory: 'offline_service',
  acquisitionSource: 'free_claim',
  validity: { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null },
  issueLimit: 10,
  issuedCount: 3,
  status: 'draft',
  rejectionCode: null,
  rejectionReason: null,
  submittedAt: null,
  reviewedAt: null,
  applicationId: 'app_01',
  botId: null,
  description: null,
  metadata: {},
  createdAt: at,
  updatedAt: at,
}

export const voucher = {
  id: 'vch_01',
  templateId: 'tpl_01',
  externalTemplateId: 'coffee',
  applicationId: 'app_01',
  externalIssueId: 'order-1',
  recipientUserId: 'user-1',
  status: 'issued',
  redeemable: true,
  type: 'exchange',
  name: 'Free coffee',
  issuerName: 'Corner shop',
  fulfillerName: 'Corner shop',
  fulfillmentCategory: 'offline_service',
  validFrom: at,
  validUntil: at,
  codeHint: 'T4FJ',
  channel: 'direct',
  botId: null,
  issuedAt: at,
  redeemedAt: null,
  redemptionId: null,
  metadata: {},
  updatedAt: at,
}

export const qrToken = 'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ'

export const issuedVoucher = {
  ...voucher,
  credentials: [
    { type: 'redeem_code', value: redeemCode },
    { type: 'qr_token', value: qrToken },
  ],
}

export const verification = { redeemable: true, reason: null, voucher, checkedAt: at }

export const redemption = {
  id: 'rdm_01',
  status: 'succeeded',
  voucherId: 'vch_01',
  templateId: 'tpl_01',
  applicationId: 'app_01',
  externalIssueId: 'order-1',
  recipientUserId: 'user-1',
  credentialType: 'redeem_code',
  reference: null,
  metadata: {},
  redeemedAt: at,
  reversedAt: null,
  reversalReason: null,
  voucher: { id: 'vch_01', status: 'redeemed', redeemable: false, validUntil: at, codeHint: 'T4FJ' },
}

export const pageOf = (...items: readonly unknown[]) => ({
  items,
  pagination: { page: 1, limit: 20, total: items.length, pages: 1 },
})

export interface LeafCall {
  /** The command with everything that it needs. */
  readonly args: string
  /** Missing without a terminal: what the failure names. */
  readonly bare?: string
  readonly data: unknown
  readonly changes?: true
}

/** Every command that makes one call, by its path. A test compares the list with the command tree. */
export const leafCalls: Readonly<Record<string, LeafCall>> = {
  'apps list': { args: '', data: pageOf(app) },
  'apps create': { args: '--name Shop', bare: '--name', data: app, changes: true },
  'apps get': { args: 'app_01', bare: 'APP_ID', data: app },
  'apps update': { args: 'app_01 --status disabled', bare: 'APP_ID', data: app, changes: true },
  'tokens list': { args: '--app app_01', bare: '--app', data: pageOf(token) },
  'tokens create': {
    args: '--app app_01 --scope vouchers:read',
    bare: '--scope',
    data: { ...token, token: 'sop_new' },
    changes: true,
  },
  'tokens revoke': {
    args: 'tok_01 --app app_01',
    bare: 'TOKEN_ID',
    data: { ...token, status: 'revoked' },
    changes: true,
  },
  'templates list': { args: '', data: pageOf(template) },
  'templates create': {
    args: '--external-id coffee --name Coffee --type exchange --issuer-name A --fulfiller-name B --fulfillment-category offline_service --acquisition-source free_claim --valid-days 30 --issue-limit 5',
    bare: '--external-id',
    data: template,
    changes: true,
  },
  'templates submit': {
    args: 'tpl_01',
    bare: 'TEMPLATE_ID',
    data: { ...template, status: 'reviewing' },
    changes: true,
  },
  'vouchers issue': {
    args: '--template tpl_01 --external-id order-1 --recipient user-1',
    bare: '--recipient',
    data: issuedVoucher,
    changes: true,
  },
  'vouchers verify': { args: `--code ${redeemCode}`, bare: '--code', data: verification },
  'vouchers redeem': { args: `--code ${redeemCode}`, bare: '--code', data: redemption, changes: true },
  'vouchers redemption': { args: 'rdm_01', bare: 'REDEMPTION_ID', data: redemption },
  'vouchers reverse': {
    args: 'rdm_01',
    bare: 'REDEMPTION_ID',
    data: { ...redemption, status: 'reversed' },
    changes: true,
  },
  'platform reviews': {
    args: '',
    data: {
      items: [
        {
          kind: 'template',
          id: 'tpl_01',
          application_id: 'app_01',
          account_id: 'demo',
          name: 'Coffee',
          submitted_at: at,
        },
      ],
    },
  },
  'platform templates approve': { args: 'tpl_01', bare: 'TEMPLATE_ID', data: template, changes: true },
  'platform templates reject': {
    args: 'tpl_01 --code NO --reason no',
    bare: '--reason',
    data: template,
    changes: true,
  },
  'platform apps suspend': { args: 'app_01', bare: 'APP_ID', data: app, changes: true },
  'platform apps reinstate': { args: 'app_01', bare: 'APP_ID', data: app, changes: true },
  'platform apps features': { args: 'app_01 --feature vouchers', bare: 'APP_ID', data: app, changes: true },
  'platform clock show': { args: '', data: { now: at, test_clock: true } },
  'platform clock set': { args: at, bare: 'TIME', data: { now: at, test_clock: true }, changes: true },
  'platform clock advance': {
    args: '--seconds 60',
    bare: '--seconds',
    data: { now: at, test_clock: true },
    changes: true,
  },
  'platform faults add': {
    args: '--endpoint vouchers.redeem --kind error',
    bare: '--kind',
    data: { endpoint: 'vouchers.redeem', kind: 'error', times: 1, delay_ms: null },
    changes: true,
  },
  'platform faults clear': { args: '', data: { removed: 1 }, changes: true },
}

/** Commands without a call of their own, or with several: they have tests of their own. */
export const otherLeaves = [
  'quickstart',
  'login',
  'logout',
  'whoami',
  'profiles list',
  'profiles use',
  'profiles show',
  'profiles set',
  'profiles remove',
  'server start',
  'server status',
  'server stop',
  'server logs',
  'server openapi',
]
