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

/** A template file that contains `template`. */
export const templateFile = `templates:
  - external_template_id: coffee
    name: Free coffee
    type: exchange
    issuer_name: Corner shop
    fulfiller_name: Corner shop
    fulfillment_category: offline_service
    acquisition_source: free_claim
    validity: { type: relative, duration_days: 30 }
    issue_limit: 10
`

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

export const bot = {
  id: 'bot_01',
  name: 'Coffee bot',
  username: 'coffee_bot',
  review_status: 'approved',
  review_note: null,
  status: 'active',
  scopes: ['messages:send', 'messages:receive'],
  has_token: true,
  token_prefix: 'sbot_CAN',
  delivery_mode: 'webhook',
  application_id: 'app_01',
  created_at: at,
  updated_at: at,
}

const webhook = {
  url: 'https://shop.example/…',
  has_secret_token: true,
  allowed_updates: ['message'],
  allowed_ips: [],
  max_connections: 40,
}

export const botDetail = {
  ...bot,
  profile: {
    avatar: null,
    description: 'Brings you coffee',
    short_description: null,
    about: null,
    cover_url: null,
    links: [{ title: 'Shop', url: 'https://shop.example/' }],
    contact: {},
    supports_inline_queries: false,
    friend_request_mode: 'manual',
    group_privacy: true,
  },
  webhook,
  command_menus: [{ command: 'start', description: 'Begin' }],
}

export const botMetrics = {
  calls: { total: 30, by_method: { sendMessage: 20, getUpdates: 10 } },
  errors: { total: 1, by_status: { 404: 1 }, by_code: { CHAT_NOT_FOUND: 1 } },
  quota: { limit: 1800, used: 3, remaining: 1797, reset_at: at },
  updates: 12,
  webhook: { attempts: 4, delivered: 3, failed: 1, dead_letter: 0, success_rate: 0.75, p50_ms: 12, p95_ms: 80 },
}

export const chat = {
  id: 'chat_01',
  type: 'private',
  bot_id: 'bot_01',
  user_id: 'user-42',
  blocked: false,
  created_at: at,
}

export const message = {
  message_id: 1,
  date: 1_795_255_200,
  chat: { id: 'chat_01', type: 'private' },
  from: { id: 'bot_01', is_bot: true },
  text: 'Hello',
}

export const update = { update_id: 7, type: 'message', created_at: at, message }

const deliveryMode = {
  delivery_mode: 'webhook',
  ...webhook,
  pending_update_count: 2,
  dropped_updates: 0,
  warnings: [],
}

const webhookInfo = {
  ...webhook,
  url: 'https://shop.example/hook',
  delivery_mode: 'webhook',
  pending_update_count: 2,
  failed_count: 1,
  dead_letter_count: 0,
  ip_address: '203.0.113.7',
  last_error_date: 1_795_255_200,
  last_error_message: 'The endpoint responded with 500.',
  last_success_date: null,
  platform_egress_ips: [],
}

export const delivery = {
  id: 'dlv_01',
  bot_id: 'bot_01',
  update_id: 7,
  update_type: 'message',
  status: 'failed',
  cancel_reason: null,
  attempt_count: 1,
  manual_attempt_count: 0,
  created_at: at,
  last_attempt_at: at,
  next_attempt_at: at,
  delivered_at: null,
  last_status_code: 500,
  last_error: { code: 'http_status', message: 'The endpoint responded with 500.' },
  last_duration_ms: 12,
  attempts: [
    {
      number: 1,
      manual: false,
      started_at: at,
      duration_ms: 12,
      status_code: 500,
      error: { code: 'http_status', message: 'The endpoint responded with 500.' },
    },
  ],
}

const headers = [
  ['X-Platform-Signature-V2', 'a'.repeat(64)],
  ['X-Platform-Timestamp', '1795255200'],
  ['X-Platform-Update-Id', '7'],
]
const exchange = {
  request: { method: 'POST', url: 'https://shop.example/hook', headers, body: 'e30=', body_bytes: 2 },
  response: { status: 401, headers: [['Date', 'now']], body: 'bm8=', body_bytes: 2 },
}
const verified = { ok: true, reason: null, explanation: 'The current secret made this signature.', fix: null }
const refusedBy = {
  status: 401,
  error: { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' },
  duration_ms: 12,
}

export const deliveryDetail = {
  delivery,
  bot_name: 'Coffee',
  url: 'https://shop.example/hook',
  voucher_id: null,
  body: 'e30=',
  request: { of: 'last_attempt', headers },
  signature: {
    timestamp: 1795255200,
    prefix: '1795255200.',
    signed_bytes: 13,
    algorithm: 'HMAC-SHA256',
    secrets: [{ which: 'current', signature: 'a'.repeat(64), sent: true, until: null }],
    webhook_set_at: at,
  },
  verification: verified,
  schedule: [
    { attempt: 1, at, state: 'made' },
    { attempt: 2, at, state: 'due' },
  ],
  responses: [{ ...exchange, ...refusedBy, at, attempt: 1, manual: false, replay: false }],
  hints: [{ code: 'other_secret', text: 'The signature is right for the secret of this webhook.' }],
  now: at,
  true_now: at,
}

export const deliveryReplay = { ...refusedBy, exchange, verification: verified, hints: deliveryDetail.hints }

const issuedEvent = {
  type: 'issued',
  at,
  stored: true,
  endpoint: 'vouchers.issue',
  request_id: 'req_01',
  idempotency_key: 'order-1',
  token_id: 'tok_01',
  token_name: 'till',
  token_prefix: 'sop_CANA',
  bot_id: null,
  redemption_id: null,
  reference: null,
  reason: null,
  message: null,
  updates: [{ bot_id: 'bot_01', update_id: 7, type: 'voucher_issued', pending: false, delivery }],
}
const verifiedEvent = { ...issuedEvent, type: 'verified', stored: false, endpoint: 'vouchers.verify', updates: [] }

export const voucherHistory = {
  voucher,
  events: [issuedEvent, verifiedEvent],
  older_redemptions: false,
  now: at,
  log_since: at,
  server_started_at: at,
}

const secureKey = {
  kid: 'OS1SdPMvxjrnaM7M',
  state: 'current',
  pin: 'sha256:OS1SdPMvxjrnaM7Mx8GZwIzZLS7z0mYCLzvJ9bZXScA',
  created_at: at,
  activated_at: at,
  grace_until: null,
}
const snapshot = { name: 'seeded', saved_at: at, clock: at, vouchers: 3 }

export const fault = {
  id: 'flt_01',
  endpoint: 'vouchers.redeem',
  kind: 'error',
  times: 1,
  left: 1,
  delay_ms: null,
  rate: null,
}

export const forecast = {
  now: at,
  until: '2026-12-22T10:00:00.000Z',
  deliveries_due: 3,
  vouchers_expiring: 12,
  vouchers_becoming_valid: 0,
  tokens_expiring: 1,
  complete: true,
}

const secureKeys = [
  secureKey,
  { ...secureKey, kid: 'PT2TePNwykronB8N', state: 'next', activated_at: null },
  { ...secureKey, kid: 'QU3UfQOxzlspoC9O', state: 'grace', grace_until: at },
]

export const pageOf = (...items: readonly unknown[]) => ({
  items,
  pagination: { page: 1, limit: 20, total: items.length, pages: 1 },
})

export interface LeafCall {
  /** Arguments for a valid API request. */
  readonly args: string
  /** Text that the error must contain if the command runs without arguments and without a terminal. */
  readonly bare?: string
  readonly data: unknown
  readonly changes?: true
}

/** Every command that sends exactly one API request, by its name. every-command.test.ts checks that none is missing. */
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
    args: 'tok_01 --app app_01 --yes',
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
  'apps link-bot': { args: 'app_01 --bot bot_01', bare: '--bot', data: app, changes: true },
  'apps unlink-bot': { args: 'app_01 --bot bot_01 --yes', bare: 'APP_ID', data: app, changes: true },
  'bots list': { args: '', data: pageOf(bot) },
  'bots apply': { args: '--name Coffee --username coffee_bot', bare: '--username', data: bot, changes: true },
  'bots get': { args: 'bot_01', bare: 'BOT_ID', data: botDetail },
  'bots update': { args: 'bot_01 --name Coffee', bare: 'BOT_ID', data: botDetail, changes: true },
  'bots regenerate-token': {
    args: 'bot_01 --yes',
    bare: 'BOT_ID',
    data: { bot_id: 'bot_01', one_time_token: 'sbot_new', token_prefix: 'sbot_new' },
    changes: true,
  },
  'bots metrics': { args: 'bot_01', bare: 'BOT_ID', data: botMetrics },
  'bots send': { args: '--chat chat_01 --text Hello', bare: '--text', data: message, changes: true },
  'bots updates': { args: '', data: { items: [update] } },
  'webhook set': {
    args: 'bot_01 --url https://shop.example/hook',
    bare: '--url',
    data: deliveryMode,
    changes: true,
  },
  'webhook delete': {
    args: 'bot_01 --yes',
    bare: 'BOT_ID',
    data: { ...deliveryMode, delivery_mode: 'polling', url: null },
    changes: true,
  },
  'webhook info': { args: '', data: webhookInfo },
  'webhook deliveries': { args: 'bot_01', bare: 'BOT_ID', data: pageOf(delivery) },
  'webhook retry': {
    args: 'dlv_01 --bot bot_01',
    bare: 'DELIVERY_ID',
    data: { ...delivery, status: 'pending' },
    changes: true,
  },
  'platform bots approve': { args: 'bot_01', bare: 'BOT_ID', data: bot, changes: true },
  'platform bots reject': { args: 'bot_01 --note no', bare: '--note', data: bot, changes: true },
  'platform bots disable': { args: 'bot_01', bare: 'BOT_ID', data: bot, changes: true },
  'platform bots enable': { args: 'bot_01', bare: 'BOT_ID', data: bot, changes: true },
  'platform bots add-update': { args: 'bot_01 --kind ping', bare: '--kind', data: update, changes: true },
  'platform users start': { args: '--bot bot_01 --user user-42', bare: '--user', data: chat, changes: true },
  'platform users send': { args: 'chat_01 --text Hi', bare: '--text', data: message, changes: true },
  'platform users block': { args: 'chat_01', bare: 'CHAT_ID', data: { ...chat, blocked: true }, changes: true },
  'platform users unblock': { args: 'chat_01', bare: 'CHAT_ID', data: chat, changes: true },
  'platform chats list': { args: '', data: pageOf(chat) },
  'platform chats messages': { args: 'chat_01', bare: 'CHAT_ID', data: pageOf({ ...message, voucher: null }) },
  'platform apps list': { args: '', data: pageOf(app) },
  'platform templates list': { args: '', data: pageOf({ ...template, applicationName: 'Shop' }) },
  'platform totals': { args: '', data: { until: at, items: [{ from: at, issued: 3, redeemed: 1 }], complete: true } },
  'platform deliveries list': { args: '', data: pageOf(delivery) },
  'platform deliveries show': { args: 'dlv_01', bare: 'DELIVERY_ID', data: deliveryDetail },
  'platform deliveries replay': {
    args: 'dlv_01 --resign',
    bare: 'DELIVERY_ID',
    data: { ...deliveryReplay, status: 204, error: null, hints: [] },
    changes: true,
  },
  'platform vouchers list': { args: '', data: pageOf(voucher) },
  'platform vouchers show': { args: 'vch_01', bare: 'ID|CODE', data: voucherHistory },
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
  'server keys list': { args: '', data: { items: secureKeys } },
  'server keys rotate': { args: '', data: { items: secureKeys }, changes: true },
  'platform clock show': { args: '', data: { now: at, test_clock: true } },
  'platform clock set': { args: at, bare: 'TIME', data: { now: at, test_clock: true }, changes: true },
  'platform clock advance': {
    args: '--seconds 60',
    bare: '--seconds',
    data: { now: at, test_clock: true },
    changes: true,
  },
  'platform clock forecast': { args: '--in 31d', bare: '--until', data: forecast },
  'platform faults add': {
    args: '--endpoint vouchers.redeem --kind error',
    bare: '--kind',
    data: fault,
    changes: true,
  },
  'platform faults list': { args: '', data: { items: [fault] } },
  'platform faults remove': { args: 'flt_01', bare: 'FAULT_ID', data: fault, changes: true },
  'platform snapshots list': { args: '', data: { items: [snapshot] } },
  'platform snapshots save': { args: 'seeded --yes', bare: 'NAME', data: snapshot, changes: true },
  'platform snapshots restore': { args: 'seeded --yes', bare: 'NAME', data: snapshot, changes: true },
  'platform snapshots remove': { args: 'seeded --yes', bare: 'NAME', data: snapshot, changes: true },
  'platform reset': { args: '--yes', bare: '--yes', data: { now: at }, changes: true },
  open: {
    args: '--no-browser',
    data: { url: 'http://127.0.0.1:8420/_platform/ui/#ticket=AAAA', expires_at: at },
  },
  'platform faults clear': { args: '', data: { removed: 1 }, changes: true },
}
