import { type Endpoint, membersOf } from '../endpoint.js'
import type { Schema } from '../schema.js'
import type { UpdateType } from '../updates.js'
import { templateBody } from './template-body.js'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [member: string]: Json }
export type JsonObject = { readonly [member: string]: Json }

/** Examples of the OpenAPI document. All examples describe one coffee shop, with consistent ids and times. */

const at = '2026-11-21T10:00:00.000Z'
const later = '2026-11-21T10:05:00.000Z'
const unixSeconds = 1_795_255_200
const ulid = (last: string) => `01JDKQ4Z8N6W2T5Y9RB3CV7HX${last}`

const ids = {
  appId: `app_${ulid('A')}`,
  tokenId: `tok_${ulid('K')}`,
  templateId: `tpl_${ulid('T')}`,
  voucherId: `vch_${ulid('V')}`,
  redemptionId: `rdm_${ulid('R')}`,
  botId: `bot_${ulid('B')}`,
  chatId: `chat_${ulid('C')}`,
  deliveryId: `dlv_${ulid('D')}`,
  leaseId: 'listener-1',
  faultId: `flt_${ulid('F')}`,
  accountId: 'acme',
} as const
const USER = 'user-42'
const credential = { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' }
const BOT_TOKEN = 'sbot_EXAMPLEexampleEXAMPLEexampleEXAMPLE01'

export const requestId = 'req_01JZ0000000000000000000000'

/** Examples of path parameters and of the header Idempotency-Key, by name. */
export const parameterExamples: Readonly<Record<string, string>> = {
  ...ids,
  name: 'seeded',
  'Idempotency-Key': 'order-1001-issue',
}

const application = {
  id: ids.appId,
  name: 'Coffee shop',
  description: 'Vouchers of the shop in Main Street',
  status: 'active',
  features: ['vouchers'],
  allowedOrigins: ['*'],
  secureTransport: 'optional',
  linkedBots: [{ botId: ids.botId, username: 'coffee_bot', linkedAt: at }],
  createdAt: at,
  updatedAt: at,
}

const token = {
  id: ids.tokenId,
  name: 'till',
  tokenPrefix: 'sop_EXAM',
  last4: 'LE01',
  scopes: ['vouchers:verify', 'vouchers:redeem'],
  status: 'active',
  createdAt: at,
  expiresAt: '2027-11-21T10:00:00.000Z',
  lastUsedAt: null,
  revokedAt: null,
}

const validity = { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null }

const template = {
  id: ids.templateId,
  externalTemplateId: 'coffee-1',
  name: 'One free coffee',
  type: 'gift',
  issuerName: 'Coffee shop',
  fulfillerName: 'Coffee shop',
  fulfillmentCategory: 'offline_service',
  acquisitionSource: 'free_claim',
  validity,
  issueLimit: 1000,
  issuedCount: 1,
  status: 'active',
  rejectionCode: null,
  rejectionReason: null,
  submittedAt: at,
  reviewedAt: at,
  applicationId: ids.appId,
  botId: null,
  description: null,
  metadata: {},
  createdAt: at,
  updatedAt: at,
}

const voucher = {
  id: ids.voucherId,
  templateId: ids.templateId,
  externalTemplateId: 'coffee-1',
  applicationId: ids.appId,
  externalIssueId: 'order-1001',
  recipientUserId: USER,
  status: 'issued',
  redeemable: true,
  type: 'gift',
  name: 'One free coffee',
  issuerName: 'Coffee shop',
  fulfillerName: 'Coffee shop',
  fulfillmentCategory: 'offline_service',
  validFrom: at,
  validUntil: '2026-12-21T10:00:00.000Z',
  codeHint: 'T4FJ',
  channel: 'direct',
  botId: null,
  issuedAt: at,
  redeemedAt: null,
  redemptionId: null,
  metadata: { table: '7' },
  updatedAt: at,
}
const credentials = [credential, { type: 'qr_token', value: 'VQ1-3F8JQ2M7T0XCWA5ND9RBKZ1VH4YGP6SES' }]

const redemption = {
  id: ids.redemptionId,
  status: 'succeeded',
  voucherId: ids.voucherId,
  templateId: ids.templateId,
  applicationId: ids.appId,
  externalIssueId: 'order-1001',
  recipientUserId: USER,
  credentialType: 'redeem_code',
  reference: 'till-4',
  metadata: {},
  redeemedAt: later,
  reversedAt: null,
  reversalReason: null,
  voucher: {
    id: ids.voucherId,
    status: 'redeemed',
    redeemable: false,
    validUntil: voucher.validUntil,
    codeHint: 'T4FJ',
  },
}
const issuedEvent = {
  type: 'issued',
  at,
  stored: true,
  endpoint: 'vouchers.issue',
  request_id: requestId,
  idempotency_key: 'order-1001-issue',
  token_id: ids.tokenId,
  token_name: 'till',
  token_prefix: 'sop_EXAM',
  by_operator: false,
  bot_id: null,
  redemption_id: null,
  reference: null,
  reason: null,
  message: null,
  updates: [],
}
const loggedRequest = {
  time: at,
  request_id: requestId,
  endpoint: 'vouchers.redeem',
  method: 'POST',
  path: '/api/v1/open-platform/vouchers/redeem',
  status: 200,
  code: null,
  application_id: ids.appId,
  voucher_id: ids.voucherId,
  replayed: false,
  duration_ms: 3.2,
}

const verifiedEvent = {
  ...issuedEvent,
  type: 'verified',
  at: later,
  stored: false,
  endpoint: 'vouchers.verify',
  request_id: 'req_01JZ0000000000000000000001',
  idempotency_key: null,
}
const reversed = {
  ...redemption,
  status: 'reversed',
  reversedAt: later,
  reversalReason: 'Wrong till',
  voucher: { ...redemption.voucher, status: 'issued', redeemable: true },
}

const bot = {
  id: ids.botId,
  name: 'Coffee bot',
  username: 'coffee_bot',
  review_status: 'approved',
  review_note: null,
  status: 'active',
  scopes: ['messages:send', 'messages:receive'],
  has_token: true,
  token_prefix: 'sbot_EXA',
  delivery_mode: 'webhook',
  application_id: ids.appId,
  created_at: at,
  updated_at: at,
}

const webhook = {
  url: 'https://shop.example/…',
  has_secret_token: true,
  allowed_updates: ['message', 'voucher_redeemed'],
  allowed_ips: [],
  max_connections: 40,
}

const chat = { id: ids.chatId, type: 'private' }
const from = { id: USER, is_bot: false }
const message = { message_id: 1, date: unixSeconds, chat, from, text: 'Hello, one coffee please' }
const botMessage = { ...message, message_id: 2, from: { id: ids.botId, is_bot: true }, text: 'Your coffee is ready' }

/** Example payloads of updates, by update type. */
const payloads: Readonly<Record<UpdateType, JsonObject>> = {
  message,
  my_chat_member: { chat, from, date: unixSeconds, old_status: 'left', new_status: 'member' },
  friend_request: { id: '9f2c4e6a8b0d1f3e5a7c', from, date: unixSeconds },
  inline_query: { id: '9f2c4e6a8b0d1f3e5a7c', from, query: 'coffee' },
  ping: {},
  voucher_issued: { voucher },
  voucher_redeemed: { redemption },
  voucher_reversed: { redemption: reversed },
}

export const updateExample = (type: UpdateType): JsonObject => ({
  update_id: 17,
  type,
  created_at: at,
  [type]: payloads[type],
})

const delivery = {
  id: ids.deliveryId,
  bot_id: ids.botId,
  update_id: 17,
  update_type: 'message',
  status: 'failed',
  cancel_reason: null,
  attempt_count: 1,
  manual_attempt_count: 0,
  created_at: at,
  last_attempt_at: at,
  next_attempt_at: '2026-11-21T10:01:00.000Z',
  delivered_at: null,
  last_status_code: 503,
  last_error: { code: 'http_status', message: 'The endpoint responded with 503 instead of 2xx.' },
  last_duration_ms: 24,
  attempts: [
    {
      number: 1,
      manual: false,
      started_at: at,
      duration_ms: 24,
      status_code: 503,
      error: { code: 'http_status', message: 'The endpoint responded with 503 instead of 2xx.' },
    },
  ],
}

/** Examples of records, by the name of the record in the OpenAPI document. */
export const records = {
  Application: application,
  Token: token,
  CreatedToken: { ...token, token: 'sop_EXAMPLEexampleEXAMPLEexampleEXAMPLE01' },
  Template: template,
  Validity: validity,
  Credential: credential,
  Voucher: voucher,
  IssuedVoucher: { ...voucher, credentials },
  Verification: { redeemable: true, reason: null, voucher, checkedAt: later },
  Redemption: redemption,
  Bot: bot,
  BotDetail: {
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
  },
  BotMetrics: {
    calls: { total: 3, by_method: { sendMessage: 2, getWebhookInfo: 1 } },
    errors: { total: 1, by_status: { '404': 1 }, by_code: { CHAT_NOT_FOUND: 1 } },
    quota: { limit: 1800, used: 3, remaining: 1797, reset_at: later },
    updates: 2,
    webhook: {
      attempts: 2,
      delivered: 1,
      failed: 1,
      dead_letter: 0,
      success_rate: 0.5,
      p50_ms: 24,
      p95_ms: 31,
    },
  },
  DeliveredVoucher: {
    ...voucher,
    channel: 'bot',
    botId: ids.botId,
    credentials,
    delivery: { chat_id: ids.chatId, message_id: 2 },
  },
  Chat: { ...chat, bot_id: ids.botId, user_id: USER, blocked: false, created_at: at },
  Message: botMessage,
  TranscriptMessage: { ...botMessage, voucher: { id: ids.voucherId, name: 'One free coffee', credentials } },
  Update: updateExample('message'),
  DeliveryMode: {
    delivery_mode: 'webhook',
    ...webhook,
    pending_update_count: 0,
    dropped_updates: 0,
    warnings: [],
  },
  WebhookInfo: {
    ...webhook,
    url: 'https://shop.example/hooks/9f2c4e6a',
    delivery_mode: 'webhook',
    pending_update_count: 1,
    failed_count: 1,
    dead_letter_count: 0,
    ip_address: '203.0.113.7',
    last_error_date: unixSeconds,
    last_error_message: 'The endpoint responded with 503 instead of 2xx.',
    last_success_date: null,
    platform_egress_ips: [],
  },
  Delivery: delivery,
  Review: {
    kind: 'template',
    id: ids.templateId,
    application_id: ids.appId,
    account_id: ids.accountId,
    name: 'One free coffee',
    submitted_at: at,
  },
  SecureKey: {
    kid: 'q2Hn5fZ0Xw1LkT8c',
    state: 'current',
    pin: 'sha256:q2Hn5fZ0Xw1LkT8cR4uYb7mVd9sJe3oPa6iGt0xKz1N',
    created_at: at,
    activated_at: at,
    grace_until: null,
  },
  Snapshot: { name: 'seeded', saved_at: at, clock: at, vouchers: 12 },
  Fault: {
    id: ids.faultId,
    endpoint: 'vouchers.redeem',
    kind: 'drop_response',
    times: null,
    left: null,
    delay_ms: null,
    share: 0.05,
  },
  Forecast: {
    now: at,
    until: '2026-12-22T10:00:00.000Z',
    deliveries_due: 3,
    vouchers_expiring: 12,
    vouchers_becoming_valid: 0,
    tokens_expiring: 0,
    complete: true,
  },
  ListedTemplate: { ...template, applicationName: 'Coffee shop' },
  RequestLogEntry: loggedRequest,
  ActivityLine: {
    seq: 12,
    kind: 'request',
    request: loggedRequest,
    exchange: null,
  },
  VoucherHistory: {
    voucher,
    events: [issuedEvent, verifiedEvent],
    older_redemptions: false,
    now: later,
    log_since: at,
    server_started_at: at,
  },
} satisfies Readonly<Record<string, JsonObject>>

const webhookBody = {
  url: 'https://shop.example/hooks/9f2c4e6a',
  secret_token: 'EXAMPLE-secret_0123456789abcdef',
  allowed_updates: ['message', 'voucher_redeemed'],
}

const envelope = {
  v: 1,
  suite: 'P256-HKDF-SHA256-A256GCM',
  kid: 'q2Hn5fZ0Xw1LkT8c',
  sid: 'ss_AAECAwQFBgcICQoLDA0ODw',
  rid: 'rid_0123456789abcdef',
  ts: 1_795_255_200_000,
  iv: 'AAECAwQFBgcICQoL',
  ciphertext: 'w0aE3Qm6zq8v2fLJ5n1oKc4hYdSxTgRbUeWiPAt7Z9k',
}
const publicKey = `B${'A'.repeat(86)}`

/** Example request bodies, by endpoint id; `{}` for an endpoint whose body has no members. */
const bodies: Readonly<Record<string, JsonObject>> = {
  'apps.create': { name: 'Coffee shop', description: 'Vouchers of the shop in Main Street' },
  'apps.update': { secure_transport: 'optional' },
  'tokens.create': { name: 'till', scopes: ['vouchers:verify', 'vouchers:redeem'], expires_in_days: 365 },
  'templates.create': templateBody,
  'bots.createTemplate': templateBody,
  'vouchers.issue': { template_id: ids.templateId, external_issue_id: 'order-1001', recipient_user_id: USER },
  'vouchers.verify': { credential },
  'vouchers.redeem': { credential, reference: 'till-4' },
  'platform.findVoucher': { credential },
  'vouchers.reverse': { reason: 'Wrong till' },
  'bots.apply': { name: 'Coffee bot', username: 'coffee_bot' },
  'bots.update': { description: 'Brings you coffee' },
  'bots.issue': { chat_id: ids.chatId, template_id: ids.templateId, external_issue_id: 'order-1001' },
  'bots.send': { chat_id: ids.chatId, text: 'Your coffee is ready' },
  'bots.updates': { offset: 17, timeout: 30 },
  'webhook.set': webhookBody,
  'webhook.setByBot': webhookBody,
  'webhook.delete': { drop_pending_updates: false },
  'webhook.retry': { force: false },
  'platform.replayDelivery': { mode: 'resigned' },
  'platform.issueAccountToken': { expires_in_seconds: 3600 },
  'platform.rejectTemplate': { code: 'NAME_UNCLEAR', reason: 'Say what the coffee is.' },
  'platform.setAppFeatures': { features: ['vouchers'] },
  'platform.rejectBot': { note: 'Say whose bot it is.' },
  'platform.borrowWebhook': { port: 8787, secret_token: 'a-secret-of-the-listener', holder: 'process 1' },
  'platform.addUpdate': { type: 'inline_query', payload: { from: { id: USER }, query: 'coffee' } },
  'platform.createChat': { bot_id: ids.botId, user_id: USER },
  'platform.sendAsUser': { text: 'Hello, one coffee please' },
  'platform.callAsApp': {
    endpoint: 'vouchers.redeem',
    voucher_id: ids.voucherId,
    input: { reference: 'till-4' },
    idempotency_key: 'order-1001-redeem',
  },
  'platform.recordScenario': { ids: [requestId] },
  'platform.find': { text: USER },
  'platform.setClock': { now: '2027-01-31T00:00:00Z' },
  'platform.advanceClock': { seconds: 86_400 },
  'platform.addFault': { endpoint: 'vouchers.redeem', kind: 'drop_response', share: 0.05 },
  'secure.session': { clientPublicKey: publicKey },
  'secure.dispatch': envelope,
}

const signedHeaders = [
  ['X-Platform-Signature-V2', 'c0ffee'.padEnd(64, '0')],
  ['X-Platform-Timestamp', '1801396800'],
  ['X-Platform-Update-Id', '17'],
]
const deliveryExchange = {
  request: {
    method: 'POST',
    url: webhookBody.url,
    headers: signedHeaders,
    body: 'eyJ1cGRhdGVfaWQiOjE3fQ==',
    body_bytes: 16,
  },
  response: { status: 401, headers: [['Date', 'Sun, 31 Jan 2027 00:00:00 GMT']], body: 'bm8=', body_bytes: 2 },
}
const verification = {
  ok: true,
  reason: null,
  explanation: 'The current secret made this signature over these bytes.',
  fix: null,
}
const hints = [{ code: 'other_secret', text: 'The signature is right for the secret of this webhook.' }]
const refusedAttempt = {
  status: 401,
  error: { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' },
  duration_ms: 24,
}

const clock = { now: '2027-01-31T00:00:00.000Z', test_clock: true }

/** Example `data` of successes, by endpoint id, for endpoints that return neither a record nor a list of records. */
const data: Readonly<Record<string, Json>> = {
  'bots.regenerateToken': { bot_id: ids.botId, one_time_token: BOT_TOKEN, token_prefix: 'sbot_EXA' },
  'vouchers.reverse': reversed,
  'webhook.delete': {
    ...webhook,
    delivery_mode: 'polling',
    url: null,
    has_secret_token: false,
    pending_update_count: 0,
    dropped_updates: 0,
    warnings: [],
  },
  'platform.delivery': {
    delivery,
    bot_name: 'Coffee bot',
    url: webhookBody.url,
    voucher_id: null,
    body: 'eyJ1cGRhdGVfaWQiOjE3fQ==',
    request: { of: 'last_attempt', headers: signedHeaders },
    signature: {
      timestamp: 1801396800,
      prefix: '1801396800.',
      signed_bytes: 27,
      algorithm: 'HMAC-SHA256',
      secrets: [{ which: 'current', signature: 'c0ffee'.padEnd(64, '0'), sent: true, until: null }],
      webhook_set_at: later,
    },
    verification,
    schedule: [{ attempt: 1, at: later, state: 'made' }],
    responses: [{ ...deliveryExchange, ...refusedAttempt, at: later, attempt: 1, manual: false, replay: false }],
    hints,
    now: later,
    true_now: later,
  },
  'platform.replayDelivery': { ...refusedAttempt, exchange: deliveryExchange, verification, hints },
  'platform.issueAccountToken': { jwt: 'eyJhbGciOiJIUzI1NiJ9.e30.EXAMPLE', expires_at: later },
  'platform.getClock': clock,
  'platform.setClock': clock,
  'platform.advanceClock': clock,
  'platform.totals': {
    until: '2026-11-21T12:00:00.000Z',
    items: [
      { from: at, issued: 12, redeemed: 3 },
      { from: '2026-11-21T11:00:00.000Z', issued: 4, redeemed: 0 },
    ],
    complete: true,
  },
  'platform.callAsApp': {
    status: 409,
    code: 'VOUCHER_ALREADY_REDEEMED',
    body: { success: false, code: 'VOUCHER_ALREADY_REDEEMED', requestId },
    request: {
      method: 'POST',
      url: '/api/v1/open-platform/vouchers/redeem',
      idempotency_key: 'order-1001-redeem',
      body: { reference: 'till-4', credential: { type: 'redeem_code', value: '[hidden]' } },
    },
  },
  'platform.showCredentials': { voucher_id: ids.voucherId, credentials },
  'platform.seedStore': {
    planted: true,
    applications: [
      {
        id: ids.appId,
        name: 'Coffee shop',
        tokens: [{ id: ids.tokenId, name: 'example', token: 'sop_EXAMPLEexampleEXAMPLEexampleEXAMPLE01' }],
      },
    ],
    bots: [{ id: ids.botId, username: 'coffee_bot', token: BOT_TOKEN }],
  },
  'platform.recordScenario': {
    text: 'name: Recorded at 2027-01-31 12:00\nsteps:\n  - call: apps.list\n    expect: { status: 200 }\n',
    steps: 1,
    remarks: [],
  },
  'platform.find': { items: [{ kind: 'voucher', id: ids.voucherId, name: 'One free coffee', detail: USER }] },
  'platform.borrowWebhook': { url: 'http://127.0.0.1:8787/', expires_in_seconds: 30, allowed_updates: ['ping'] },
  'platform.returnWebhook': { returned: true },
  'platform.clearFaults': { removed: 1 },
  'platform.reset': { now: at },
  'platform.reference': {
    groups: [{ name: 'vouchers', description: 'Issue, verify, redeem and reverse', endpoints: [] }],
    failures: [{ code: 'REDEMPTION_NOT_FOUND', status: 404, message: 'No such redemption.', fix: 'Use its id.' }],
  },
  'platform.openPage': {
    url: 'http://127.0.0.1:8420/_platform/ui/#ticket=q83vEiM0RVZneImavN7_EjRWeJq83v8BI0VniavN7_8',
    expires_at: later,
  },
  'secure.bootstrap': {
    v: 1,
    suite: envelope.suite,
    enabled: true,
    kid: envelope.kid,
    serverPublicKey: publicKey,
    serverTime: envelope.ts,
  },
  'secure.session': {
    sid: envelope.sid,
    salt: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    brand: 'platform',
    origin: '',
    expiresAt: envelope.ts + 600_000,
  },
  'secure.dispatch': envelope,
}

/** Returns the example of a request body. */
export function bodyExample({ id }: Pick<Endpoint, 'id'>): JsonObject {
  return bodies[id] ?? {}
}

/** Returns example `data` of a success. @throws Error for an endpoint without an example whose output is no record */
export function dataExample(
  { id, output }: Pick<Endpoint, 'id' | 'output'>,
  nameOf: (schema: unknown) => string | undefined,
): Json {
  const own = data[id]
  if (own !== undefined) return own
  const record = (schema: unknown): Json => {
    const example = (records as Readonly<Record<string, JsonObject>>)[nameOf(schema) ?? '']
    if (example === undefined) throw new Error(`${id} has no example of its success`)
    return example
  }
  const { items, pagination } = membersOf(output)
  if (items === undefined) return record(output)
  const list = { items: [record((items as { items?: Schema }).items)] }
  return pagination === undefined ? list : { ...list, pagination: { page: 1, limit: 20, total: 1, pages: 1 } }
}
