import { message } from './chats.js'
import { botScopes, byAccount, get, group, patch, post } from './endpoint.js'
import {
  ids,
  input,
  instant,
  laterInstant,
  messageText,
  nullable,
  oneOf,
  page,
  pageQuery,
  secret,
  text,
  unique,
  withoutDuplicates,
} from './fields.js'
import { type Static, Type, withExample } from './schema.js'
import { template, templateInput, templates } from './templates.js'
import { allowedUpdates, update as updateRecord } from './updates.js'
import { issuedVoucher, issueEvidence, issueFailures, issueOptions, newExternalIssueId } from './vouchers.js'
import { webhookSettings } from './webhook.js'

/** Schema of an https URL with at most 2048 characters. */
const httpsUrl = Type.String({
  maxLength: 2048,
  pattern: '^https://[!-~]+$',
  'x-expected': 'an https URL of at most 2048 characters',
})

export const botToken = Type.String({ example: 'sbot_EXAMPLEexampleEXAMPLEexampleEXAMPLE01', ...secret })
const tokenPrefix = Type.String({ example: 'sbot_EXA' })

/** Bot record (rules/bots.md#bot-records). */
const record = {
  id: ids.botId,
  name: Type.String({ example: 'Coffee bot' }),
  username: Type.String({ example: 'coffee_bot' }),
  review_status: oneOf(['pending', 'approved', 'rejected'], 'approved'),
  review_note: nullable(Type.String()),
  status: oneOf(['inactive', 'active', 'disabled'], 'active'),
  scopes: Type.Array(oneOf(botScopes), { example: ['messages:send', 'messages:receive'] }),
  has_token: Type.Boolean({ example: true }),
  token_prefix: nullable(tokenPrefix),
  delivery_mode: oneOf(['webhook', 'polling']),
  application_id: nullable(ids.appId),
  created_at: instant,
  updated_at: instant,
}
export const bot = Type.Object(record)
export type Bot = Static<typeof bot>

const link = Type.Object(
  { title: Type.String(), url: Type.String() },
  { example: { title: 'Shop', url: 'https://shop.example/' } },
)
const contact = Type.Object({
  email: Type.Optional(Type.String()),
  phone: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
})
const menuEntry = Type.Object(
  { command: Type.String(), description: Type.String() },
  { example: { command: 'start', description: 'Begin' } },
)
const friendRequestModes = ['auto_accept', 'manual', 'disabled'] as const

const botProfile = Type.Object({
  avatar: nullable(Type.String()),
  description: nullable(Type.String(), 'Brings you coffee'),
  short_description: nullable(Type.String()),
  about: nullable(Type.String()),
  cover_url: nullable(Type.String()),
  links: Type.Array(link),
  contact,
  supports_inline_queries: Type.Boolean(),
  friend_request_mode: oneOf(friendRequestModes, 'manual'),
  group_privacy: Type.Boolean({ example: true }),
})
export type BotProfile = Static<typeof botProfile>

export const botDetail = Type.Object({
  ...record,
  profile: botProfile,
  webhook: nullable(webhookSettings),
  command_menus: Type.Array(menuEntry),
  one_time_token: Type.Optional(Type.String({ description: 'shown once', ...secret })),
})
export type BotDetail = Static<typeof botDetail>

const count = (example: number) => Type.Integer({ example })
const counts = (example: Readonly<Record<string, number>>) =>
  Type.Unsafe<Record<string, number>>(
    withExample({ type: 'object', additionalProperties: { type: 'integer' } }, example),
  )

/** Metrics of a bot in the last 24 hours; `quota` shows the current window of its rate limit. */
export const botMetrics = Type.Object({
  calls: Type.Object({ total: count(3), by_method: counts({ sendMessage: 2, getWebhookInfo: 1 }) }),
  errors: Type.Object({ total: count(1), by_status: counts({ '404': 1 }), by_code: counts({ CHAT_NOT_FOUND: 1 }) }),
  quota: Type.Object({
    limit: nullable(Type.Integer({ description: 'null when rate limits are off', example: 1800 })),
    used: count(3),
    remaining: nullable(count(1797)),
    reset_at: nullable(laterInstant),
  }),
  updates: count(2),
  webhook: Type.Object({
    attempts: count(2),
    delivered: count(1),
    failed: count(1),
    dead_letter: count(0),
    success_rate: nullable(Type.Number({ description: '0 to 1, null without attempts', example: 0.5 })),
    p50_ms: nullable(Type.Number({ example: 24 })),
    p95_ms: nullable(Type.Number({ example: 31 })),
  }),
})
export type BotMetrics = Static<typeof botMetrics>

/** Failure codes of a bot's template calls. */
const templateCallFailures = ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'BOT_DISABLED', 'INSUFFICIENT_SCOPE'] as const

/** Response of an issue by a bot; `delivery` is null if the voucher already existed from a direct issue. */
export const deliveredVoucher = Type.Object({
  ...issuedVoucher.properties,
  channel: oneOf(['direct', 'bot'], 'bot'),
  botId: nullable(ids.botId),
  delivery: nullable(Type.Object({ chat_id: ids.chatId, message_id: Type.Integer({ example: 2 }) })),
})
export type DeliveredVoucher = Static<typeof deliveredVoucher>

export const bots = group('bots', {
  apply: post('/api/v1/bots/applications', {
    summary: 'Apply for a bot; its token follows the approval',
    review: 'submits',
    ...byAccount,
    body: input({
      name: text(1, 100, 'Coffee bot'),
      username: Type.String({
        pattern: '^[a-z][a-z0-9_]{2,63}$',
        example: 'coffee_bot',
        ...unique('USERNAME_TAKEN', 64, '_'),
        'x-expected': '3 to 64 of a-z 0-9 _, starting with a letter',
      }),
      description: Type.Optional(text(0, 512)),
      avatar: Type.Optional(httpsUrl),
      scopes: Type.Optional(
        Type.Array(oneOf(botScopes), { minItems: 1, maxItems: botScopes.length, ...withoutDuplicates }),
      ),
    }),
    status: 201,
    output: bot,
    evidence: { id: 'text', username: { input: 'username' }, review_status: 'text' },
    failures: ['BOT_LIMIT_REACHED', 'USERNAME_TAKEN'],
  }),

  list: get('/api/v1/bots/my', {
    summary: 'List the bots of the account',
    ...byAccount,
    query: input(pageQuery),
    output: page(bot),
  }),

  get: get('/api/v1/bots/my/:botId', {
    summary: 'Read a bot; the first read after the approval shows its token once',
    ...byAccount,
    output: botDetail,
    failures: ['BOT_NOT_FOUND'],
  }),

  update: patch('/api/v1/bots/my/:botId', {
    summary: 'Change the profile of an approved bot',
    ...byAccount,
    body: input({
      name: Type.Optional(text(1, 100)),
      avatar: Type.Optional(nullable(httpsUrl)),
      description: Type.Optional(nullable(text(0, 512, 'Brings you coffee'))),
      short_description: Type.Optional(nullable(text(0, 120))),
      about: Type.Optional(nullable(text(0, 1000))),
      cover_url: Type.Optional(nullable(httpsUrl)),
      links: Type.Optional(Type.Array(input({ title: text(1, 100), url: httpsUrl }), { maxItems: 10 })),
      contact: Type.Optional(
        input({
          email: Type.Optional(text(1, 254)),
          phone: Type.Optional(text(1, 32)),
          url: Type.Optional(httpsUrl),
        }),
      ),
      supports_inline_queries: Type.Optional(Type.Boolean()),
      friend_request_mode: Type.Optional(oneOf(friendRequestModes)),
      group_privacy: Type.Optional(Type.Boolean()),
      command_menus: Type.Optional(
        Type.Array(
          input({
            command: Type.String({
              pattern: '^/?[a-z0-9_]{1,32}$',
              'x-expected': '1 to 32 of a-z 0-9 _, with or without a slash before',
            }),
            description: text(1, 256),
          }),
          { maxItems: 100 },
        ),
      ),
    }),
    output: botDetail,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  regenerateToken: post('/api/v1/bots/my/:botId/regenerate-token', {
    summary: 'Replace the bot token; the old one stops working immediately',
    irreversible: {
      action: 'Replacing the token of',
      loses: 'Every client that uses the current token is refused from then on; the new one is shown once.',
    },
    ...byAccount,
    output: Type.Object({ bot_id: ids.botId, one_time_token: botToken, token_prefix: tokenPrefix }),
    evidence: { bot_id: { input: 'botId' }, one_time_token: 'text' },
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  metrics: get('/api/v1/bots/my/:botId/metrics', {
    summary: 'Read the metrics of a bot for the last 24 hours',
    ...byAccount,
    output: botMetrics,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  templates: get('/api/v1/bots/my/:botId/vouchers/templates', {
    summary: 'List the templates of the linked application, or of the bot',
    ...byAccount,
    query: templates.list.query,
    output: page(template),
    failures: templateCallFailures,
  }),

  createTemplate: post('/api/v1/bots/my/:botId/vouchers/templates', {
    summary: 'Create a template as a draft of the linked application, or of the bot',
    ...byAccount,
    body: templateInput,
    status: 201,
    output: template,
    failures: [...templateCallFailures, 'EXTERNAL_TEMPLATE_ID_EXISTS'],
  }),

  submitTemplate: post('/api/v1/bots/my/:botId/vouchers/templates/:templateId/submit', {
    summary: 'Submit a draft or rejected template for review',
    review: 'submits',
    ...byAccount,
    output: template,
    failures: [...templateCallFailures, 'TEMPLATE_NOT_FOUND', 'TEMPLATE_STATE_CONFLICT', 'EXTERNAL_TEMPLATE_ID_EXISTS'],
  }),

  issue: post('/api/v1/bots/vouchers/issue', {
    summary: 'Issue a voucher of the linked application into a private chat',
    caller: 'bot',
    scope: 'vouchers:issue',
    linked: true,
    limit: 'bot_issue',
    idempotent: 'optional',
    body: input({
      chat_id: ids.chatId,
      template_id: ids.templateId,
      external_issue_id: newExternalIssueId,
      ...issueOptions,
    }),
    status: 201,
    statuses: [200],
    output: deliveredVoucher,
    evidence: issueEvidence,
    failures: ['CHAT_NOT_FOUND', 'CHAT_NOT_PRIVATE', 'BOT_BLOCKED', ...issueFailures],
  }),

  send: post('/api/v1/bots/sendMessage', {
    summary: 'Send a message to a chat',
    caller: 'bot',
    scope: 'messages:send',
    limit: 'bot_calls',
    body: input({ chat_id: ids.chatId, text: messageText(4096, 'Your coffee is ready') }),
    output: message,
    failures: ['CHAT_NOT_FOUND', 'BOT_BLOCKED'],
  }),

  updates: post('/api/v1/bots/getUpdates', {
    summary: 'Read the updates of a bot; offset confirms those before it',
    caller: 'bot',
    scope: 'messages:receive',
    limit: 'bot_calls',
    repeatable: true,
    body: input({
      offset: Type.Optional(
        Type.Integer({
          minimum: -1_000_000_000_000,
          maximum: 1_000_000_000_000,
          description: 'id of the first update to return; -n starts at the last n updates',
          example: 17,
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '1 to 100, default 100' })),
      timeout: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 50, description: 'seconds to wait for a first update, default 0' }),
        30,
      ),
      allowed_updates: Type.Optional(allowedUpdates),
    }),
    bodyOptional: true,
    output: Type.Object({ items: Type.Array(updateRecord) }),
    verbatim: true,
    failures: ['WEBHOOK_ACTIVE', 'OFFSET_IN_FUTURE', 'POLL_TERMINATED'],
  }),
})
