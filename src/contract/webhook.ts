import { byAccount, del, get, group, post } from './endpoint.js'
import { ids, input, instant, nullable, oneOf, page, pageQuery, secret, unixSeconds } from './fields.js'
import { deliveryStatuses } from './page-choices.js'
import { type Static, Type } from './schema.js'
import { allowedUpdates, updateTypes } from './updates.js'

/** Seconds between the end of a failed attempt and the next one (rules/webhooks.md#retry-schedule). */
export const RETRY_DELAYS_SECONDS: readonly number[] = [60, 300, 900, 3600]

const settings = {
  url: Type.String({ description: 'https://host/…: the path is a secret', example: 'https://shop.example/…' }),
  has_secret_token: Type.Boolean({ example: true }),
  allowed_updates: Type.Array(oneOf(updateTypes), { example: ['message', 'voucher_redeemed'] }),
  allowed_ips: Type.Array(Type.String()),
  max_connections: Type.Integer({ example: 40 }),
}
/** Example of a whole URL, whose path is a secret. */
export const EXAMPLE_URL = 'https://shop.example/hooks/9f2c4e6a'

/** Webhook settings that the console shows. */
export const webhookSettings = Type.Object(settings)
export type WebhookSettings = Static<typeof webhookSettings>

const webhookWarnings = ['host_unresolved'] as const
export type WebhookWarning = (typeof webhookWarnings)[number]

/** Response of both webhook calls (rules/webhooks.md#webhook-settings, rules/webhooks.md#webhook-removal). */
export const deliveryMode = Type.Object({
  delivery_mode: oneOf(['webhook', 'polling']),
  ...settings,
  url: nullable(settings.url),
  pending_update_count: Type.Integer(),
  dropped_updates: Type.Integer(),
  warnings: Type.Array(oneOf(webhookWarnings), { example: [] }),
  one_time_secret_token: Type.Optional(
    Type.String({ description: 'generated because the call named none; shown once', ...secret }),
  ),
})
export type DeliveryMode = Static<typeof deliveryMode>

export const secretToken = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,256}$',
  'x-expected': '1 to 256 of A-Z a-z 0-9 _ -',
  ...secret,
})

const setInput = input({
  url: Type.String({
    minLength: 1,
    description: 'https, a public host, port 443, 8443 or from 1024',
    example: EXAMPLE_URL,
    ...secret,
  }),
  secret_token: Type.Optional(secretToken, 'EXAMPLE-secret_0123456789abcdef'),
  secret_grace_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 86_400, description: 'how long the server signs with the old secret too' }),
  ),
  allowed_updates: Type.Optional(allowedUpdates, ['message', 'voucher_redeemed']),
  allowed_ips: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 })),
  max_connections: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '1 to 100, default 40' })),
  drop_pending_updates: Type.Optional(Type.Boolean()),
})
export type WebhookInput = Static<typeof setInput>

const drop = { drop_pending_updates: Type.Optional(Type.Boolean(), false) }

const UNAVAILABLE = { code: 'http_status', message: 'The endpoint responded with 503 instead of 2xx.' }

/** Response of getWebhookInfo. Includes the full URL, because every holder of the bot token may set the URL. */
export const webhookInfo = Type.Object({
  url: nullable(Type.String(secret), EXAMPLE_URL),
  delivery_mode: oneOf(['webhook', 'polling']),
  has_secret_token: settings.has_secret_token,
  pending_update_count: Type.Integer({ example: 1 }),
  failed_count: Type.Integer({ example: 1 }),
  dead_letter_count: Type.Integer(),
  ip_address: nullable(Type.String(), '203.0.113.7'),
  last_error_date: nullable(unixSeconds),
  last_error_message: nullable(Type.String(), UNAVAILABLE.message),
  last_success_date: nullable(unixSeconds, null),
  max_connections: settings.max_connections,
  allowed_updates: settings.allowed_updates,
  allowed_ips: settings.allowed_ips,
  platform_egress_ips: Type.Array(Type.String()),
})
export type WebhookInfo = Static<typeof webhookInfo>

export { deliveryStatuses }

const attemptError = Type.Object({ code: Type.String(), message: Type.String() }, { example: UNAVAILABLE })

const deliveryAttempt = Type.Object({
  number: Type.Integer({ example: 1 }),
  manual: Type.Boolean(),
  started_at: instant,
  duration_ms: Type.Integer({ example: 24 }),
  status_code: nullable(Type.Integer(), 503),
  error: nullable(attemptError),
  fault: Type.Optional(Type.String({ description: 'fault that the operator planted' })),
})
export type DeliveryAttempt = Static<typeof deliveryAttempt>

/** Delivery of one update to a webhook (rules/webhooks.md#deliveries). */
export const delivery = Type.Object({
  id: ids.deliveryId,
  bot_id: ids.botId,
  update_id: Type.Integer({ example: 17 }),
  update_type: oneOf(updateTypes),
  status: oneOf(deliveryStatuses, 'failed'),
  cancel_reason: nullable(oneOf(['dropped', 'webhook_deleted', 'expired'])),
  attempt_count: Type.Integer({ example: 1 }),
  manual_attempt_count: Type.Integer(),
  created_at: instant,
  last_attempt_at: nullable(instant),
  next_attempt_at: nullable(instant, '2026-11-21T10:01:00.000Z'),
  delivered_at: nullable(instant, null),
  last_status_code: nullable(Type.Integer(), 503),
  last_error: nullable(attemptError),
  last_duration_ms: nullable(Type.Integer(), 24),
  attempts: Type.Array(deliveryAttempt),
})
export type Delivery = Static<typeof delivery>

export const webhook = group('webhook', {
  set: post('/api/v1/bots/my/:botId/webhook', {
    summary: 'Deliver the updates of a bot to a URL',
    ...byAccount,
    body: setInput,
    output: deliveryMode,
    failures: ['WEBHOOK_URL_REFUSED', 'BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'POLLING_ACTIVE'],
  }),

  setByBot: post('/api/v1/bots/setWebhook', {
    summary: 'Deliver the updates of the calling bot to a URL',
    caller: 'bot',
    scope: 'messages:receive',
    limit: 'bot_calls',
    body: setInput,
    output: deliveryMode,
    failures: ['WEBHOOK_URL_REFUSED', 'POLLING_ACTIVE'],
  }),

  delete: del('/api/v1/bots/my/:botId/webhook', {
    summary: 'Delete the webhook of a bot; its updates can be polled from then on',
    irreversible: {
      action: 'Deleting the webhook of',
      loses: 'Nothing is delivered any more; its URL and its secret are forgotten.',
    },
    ...byAccount,
    query: input(drop),
    body: input(drop),
    bodyOptional: true,
    output: deliveryMode,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  info: get('/api/v1/bots/getWebhookInfo', {
    summary: 'Read how the updates of the calling bot are delivered',
    caller: 'bot',
    scope: 'messages:receive',
    limit: 'bot_calls',
    output: webhookInfo,
  }),

  deliveries: get('/api/v1/bots/my/:botId/deliveries', {
    summary: 'List the deliveries of a bot',
    ...byAccount,
    query: input({ ...pageQuery, status: Type.Optional(oneOf(deliveryStatuses)) }),
    output: page(delivery),
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  retry: post('/api/v1/bots/my/:botId/deliveries/:deliveryId/retry', {
    summary: 'Retry a delivery immediately, by its delivery id or update_id',
    ...byAccount,
    body: input({ force: Type.Optional(Type.Boolean({ description: 'also retry a delivered update' }), false) }),
    bodyOptional: true,
    output: delivery,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'DELIVERY_NOT_FOUND', 'DELIVERY_NOT_RETRYABLE'],
  }),
})
