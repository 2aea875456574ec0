import { get, group, post } from '../endpoint.js'
import { input, instant, laterInstant, nullable, oneOf, page, pageQuery, sortBy } from '../fields.js'
import { exampleOf, type Static, Type } from '../schema.js'
import { updateTypes } from '../updates.js'
import { delivery, deliveryStatuses, EXAMPLE_URL } from '../webhook.js'
import { deliveryHeaders, EXAMPLE_BODY, exchange, plantedFault } from './activity.js'

// Deliveries of all bots, as the operator sees them (rules/operator.md#replays-by-the-operator).

/** Maximum length of the bytes that a replay may send instead of the update. */
export const REPLAY_BYTES_MAX = 1_048_576

/** `as_sent` repeats the headers of the last attempt, `resigned` signs with the present time. */
const replayModes = ['as_sent', 'resigned'] as const

const REFUSAL = { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' }
const outcome = {
  status: nullable(Type.Integer(), 401),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() }), REFUSAL),
  duration_ms: Type.Integer({ example: 24 }),
}

/** Request and response of a recent attempt or replay, from the memory of the process that made it. */
const attemptExchange = Type.Object(
  {
    ...exchange.properties,
    at: instant,
    attempt: nullable(Type.Integer({ description: 'of the schedule, from 1; null for a manual retry or a replay' })),
    manual: Type.Boolean(),
    replay: Type.Boolean(),
    ...outcome,
    fault: plantedFault('planted fault that affected the attempt'),
  },
  {
    example: {
      ...{ ...exampleOf(exchange), ...exampleOf(Type.Object(outcome)) },
      ...{ at: exampleOf(laterInstant), attempt: 1, manual: false, replay: false },
    },
  },
)
export type AttemptExchange = Static<typeof attemptExchange>

const verification = Type.Object({
  ok: Type.Boolean({ example: true }),
  reason: nullable(Type.String({ description: 'why a receiver with the present secrets refuses it' })),
  explanation: Type.String({
    description: 'the sentence of `webhook verify --explain`',
    example: 'The current secret made this signature over these bytes.',
  }),
  fix: nullable(Type.String()),
})
export type DeliveryVerification = Static<typeof verification>

/** Likely causes of a refusal by the application, most certain first, and what cures each of them. */
export const deliveryCures = {
  planted_fault: 'Nothing is wrong: the server sends it again.',
  body_edited: 'Replay it as it was sent, or signed anew.',
  stale: 'Replay it with a new signature.',
  app_clock: 'Correct the clock of the application.',
  test_clock: 'Let the application compare X-Platform-Timestamp with the true time.',
  secret_replaced: 'Replay it with a new signature.',
  webhook_changed: 'Replay it with a new signature.',
  two_signatures: 'Let the application accept either signature of the header.',
  previous_secret_ended: 'Give the application the present secret of the webhook.',
  login: 'Exempt the path of the webhook from the login.',
  csrf: 'Exempt the path of the webhook from the CSRF check.',
  content_type: 'Let the application accept application/json, and verify the bytes before it parses them.',
  other_secret: 'Give the application the secret of this webhook, without quotes, spaces or a line end.',
  raw_body: 'Verify the bytes of the body as they arrived, before any parser reads them.',
}
const hintCodes = Object.keys(deliveryCures) as (keyof typeof deliveryCures)[]
const hint = Type.Object({
  code: oneOf(hintCodes, 'other_secret'),
  text: Type.String({ example: 'The signature is right for the secret of this webhook.' }),
})
export type DeliveryHint = Static<typeof hint>

const scheduleStates = ['made', 'running', 'due', 'later', 'never'] as const

const scheduledAttempt = Type.Object({
  attempt: Type.Integer({ description: 'from 1', example: 1 }),
  at: nullable(
    Type.String({ description: 'when it began or is due; for later ones the earliest time' }),
    exampleOf(laterInstant),
  ),
  state: oneOf(scheduleStates),
})
export type ScheduledAttempt = Static<typeof scheduledAttempt>

const signature = Type.Object({
  timestamp: Type.Integer({ description: 'X-Platform-Timestamp, Unix seconds', example: 1_801_396_800 }),
  prefix: Type.String({
    description: 'the timestamp and a dot; the signed bytes are this text and the body',
    example: '1801396800.',
  }),
  signed_bytes: Type.Integer({ example: 27 }),
  algorithm: oneOf(['HMAC-SHA256']),
  secrets: Type.Array(
    Type.Object({
      which: oneOf(['current', 'previous']),
      signature: Type.String({ description: '64 lower-case hex digits', example: 'c0ffee'.padEnd(64, '0') }),
      sent: Type.Boolean({ description: 'true if the signature header of `request` holds it', example: true }),
      until: nullable(instant, null),
    }),
  ),
  webhook_set_at: laterInstant,
})

const deliveryDetail = Type.Object({
  delivery,
  bot_name: Type.String({ example: 'Coffee bot' }),
  account_id: Type.Optional(Type.String({ description: 'account that owns the bot', example: 'acme' })),
  url: nullable(Type.String({ description: 'null if the bot has no webhook now' }), EXAMPLE_URL),
  voucher_id: nullable(Type.String()),
  body: nullable(Type.String({ description: 'base64 of the update; null once its bytes are deleted' }), EXAMPLE_BODY),
  request: nullable(
    Type.Object({
      of: oneOf(['last_attempt', 'recomputed', 'next_attempt']),
      headers: deliveryHeaders,
    }),
  ),
  signature: nullable(signature),
  verification: nullable(verification),
  schedule: Type.Array(scheduledAttempt),
  responses: Type.Array(attemptExchange, { description: 'recent attempts and replays, oldest first' }),
  hints: Type.Array(hint),
  now: laterInstant,
  true_now: laterInstant,
})
export type DeliveryDetail = Static<typeof deliveryDetail>

const deliveryReplay = Type.Object({
  ...outcome,
  exchange,
  verification,
  hints: Type.Array(hint),
})
export type DeliveryReplay = Static<typeof deliveryReplay>

export const platformDeliveries = group('platform', {
  deliveries: get('/_platform/v1/deliveries', {
    summary: 'List the deliveries of all bots',
    query: input({
      ...pageQuery,
      status: Type.Optional(oneOf(deliveryStatuses)),
      bot_id: Type.Optional(Type.String()),
      chat_id: Type.Optional(Type.String()),
      type: Type.Optional(oneOf(updateTypes)),
      update_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 })),
      sort: sortBy('created_at', 'bot_id'),
    }),
    output: page(delivery),
  }),

  delivery: get('/_platform/v1/deliveries/:deliveryId', {
    summary: 'Show a delivery with its signature, schedule and responses',
    output: deliveryDetail,
    failures: ['DELIVERY_NOT_FOUND'],
  }),

  replayDelivery: post('/_platform/v1/deliveries/:deliveryId/replay', {
    summary: 'Send a delivery once more without changing its state',
    unlisted: true,
    body: input({
      mode: oneOf(replayModes, 'resigned'),
      body: Type.Optional(
        Type.String({
          pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$',
          maxLength: Math.ceil(REPLAY_BYTES_MAX / 3) * 4,
          'x-expected': 'base64 of at most 1 MiB, with padding',
        }),
      ),
    }),
    bodyBytesMax: Math.ceil(REPLAY_BYTES_MAX / 3) * 4 + 1024,
    output: deliveryReplay,
    failures: ['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_REPLAYABLE', 'RATE_LIMITED'],
  }),
})
