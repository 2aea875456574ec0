import { application } from '../apps.js'
import { bot } from '../bots.js'
import { chat, chatTypes, message, transcriptMessage } from '../chats.js'
import { del, get, group, post, put } from '../endpoint.js'
import {
  accountId,
  ids,
  input,
  instant,
  instantAt,
  instantInput,
  laterInstant,
  machineId,
  messageText,
  nullable,
  oneOf,
  page,
  pageQuery,
  secret,
  sortBy,
  text,
} from '../fields.js'
import { type Static, Type, withExample } from '../schema.js'
import { template, templateStatuses } from '../templates.js'
import { allowedUpdates, update } from '../updates.js'
import { secretToken, webhookSettings } from '../webhook.js'

// The operator API: not part of the specification, and absent unless switched on (rules/operator.md#operator-api).

/** Common members of the operator's decision endpoints, by kind of object. */
const overTemplate = {
  output: template,
  failures: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_STATE_CONFLICT'],
} as const
const overApp = {
  output: application,
  failures: ['APPLICATION_NOT_FOUND'],
} as const
const overBot = { output: bot, failures: ['BOT_NOT_FOUND', 'BOT_STATE_CONFLICT'] } as const
const overChat = { output: chat, failures: ['CHAT_NOT_FOUND'] } as const

/** A listener chooses the id of its lease, so that a repeated call renews it. */
const ofLease = {
  params: Type.Object({ botId: ids.botId, leaseId: machineId(64, { example: 'listener-1' }) }),
} as const

/** Maximum number of periods of one chart, such as the days of a year. */
export const TOTALS_BUCKETS_MAX = 366
const TOTALS_SECONDS_MAX = 3_153_600_000

export const review = Type.Object({
  kind: oneOf(['template', 'bot']),
  id: ids.templateId,
  application_id: nullable(ids.appId),
  account_id: accountId,
  name: Type.String({ example: 'One free coffee' }),
  submitted_at: instant,
})
export type Review = Static<typeof review>

export const listedTemplate = Type.Object({
  ...template.properties,
  applicationName: nullable(Type.String(), 'Coffee shop'),
})
export type ListedTemplate = Static<typeof listedTemplate>

export const listedApplication = Type.Object({ ...application.properties, account_id: accountId })
export type ListedApplication = Static<typeof listedApplication>

export const listedBot = Type.Object({ ...bot.properties, account_id: accountId })
export type ListedBot = Static<typeof listedBot>

export const shownBot = Type.Object({
  ...listedBot.properties,
  webhook_url: nullable(webhookSettings.properties.url),
  allowed_updates: webhookSettings.properties.allowed_updates,
})
export type ShownBot = Static<typeof shownBot>

/** Path parameter with an account, for which the server keeps no record. */
export const accountParams = Type.Object({
  accountId: Type.String({
    pattern: '^[A-Za-z0-9._-]{1,64}$',
    'x-expected': '1 to 64 of A-Z a-z 0-9 . _ -',
    example: 'acme',
  }),
})

export const totals = Type.Object({
  until: instantAt('2026-11-21T12:00:00.000Z'),
  items: Type.Array(
    Type.Object({
      from: instant,
      issued: Type.Integer(),
      redeemed: Type.Integer({ description: 'redemptions, including those that were reversed later' }),
    }),
    {
      description: 'periods of equal length, oldest first',
      example: [
        { from: '2026-11-21T10:00:00.000Z', issued: 12, redeemed: 3 },
        { from: '2026-11-21T11:00:00.000Z', issued: 4, redeemed: 0 },
      ],
    },
  ),
  complete: Type.Boolean({
    description: 'false if there is too much to count, so that the counts are too low',
    example: true,
  }),
})
export type Totals = Static<typeof totals>

export const platformUpdateTypes = ['friend_request', 'inline_query', 'ping'] as const

/** Grace period in which clients may still open sessions with a replaced key (rules/encryption.md#server-keys). */
export const KEY_GRACE_MS = 120_000

export const secureKey = Type.Object({
  kid: Type.String({ example: 'q2Hn5fZ0Xw1LkT8c' }),
  state: oneOf(['next', 'current', 'grace'], 'current'),
  pin: Type.String({
    description: 'sha256: and 43 characters of base64url',
    example: 'sha256:q2Hn5fZ0Xw1LkT8cR4uYb7mVd9sJe3oPa6iGt0xKz1N',
  }),
  created_at: instant,
  activated_at: nullable(instant),
  grace_until: nullable(instant, null),
})
export type SecureKey = Static<typeof secureKey>

export const platform = group('platform', {
  issueAccountToken: post('/_platform/v1/accounts/:accountId/token', {
    summary: 'Make an account JWT',
    params: accountParams,
    body: input({ expires_in_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_536_000 }), 3600) }),
    bodyOptional: true,
    output: Type.Object({
      jwt: Type.String({ example: 'eyJhbGciOiJIUzI1NiJ9.e30.EXAMPLE', ...secret }),
      expires_at: laterInstant,
    }),
    evidence: { jwt: 'text' },
  }),

  reviews: get('/_platform/v1/reviews', {
    summary: 'List templates and bots that wait for review',
    query: input({ kind: Type.Optional(oneOf(['template', 'bot'])) }),
    output: Type.Object({ items: Type.Array(review) }),
  }),

  approveTemplate: post('/_platform/v1/templates/:templateId/approve', {
    ...overTemplate,
    summary: 'Approve a template under review',
    command: 'platform templates approve :templateId',
    review: 'decides',
  }),

  rejectTemplate: post('/_platform/v1/templates/:templateId/reject', {
    ...overTemplate,
    summary: 'Reject a template under review',
    command: 'platform templates reject :templateId --code :code --reason :reason',
    review: 'decides',
    body: input({
      code: Type.String({
        pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
        'x-expected': 'a word of at most 64 letters, digits and _',
        example: 'NAME_UNCLEAR',
      }),
      reason: text(1, 200, 'Say what the coffee is.'),
    }),
  }),

  suspendApp: post('/_platform/v1/applications/:appId/suspend', {
    ...overApp,
    summary: 'Suspend an application',
    accepts: ['active', 'disabled'],
    leadsTo: ['APPLICATION_DISABLED'],
  }),

  reinstateApp: post('/_platform/v1/applications/:appId/reinstate', {
    ...overApp,
    summary: 'End the suspension of an application',
    accepts: ['suspended'],
  }),

  applications: get('/_platform/v1/applications', {
    summary: 'List the applications of all accounts',
    query: input(pageQuery),
    output: page(listedApplication),
  }),

  templates: get('/_platform/v1/templates', {
    summary: 'List the templates of all applications, with issued vouchers and quota',
    query: input({
      ...pageQuery,
      status: Type.Optional(oneOf(templateStatuses)),
      application_id: Type.Optional(Type.String()),
      sort: sortBy('created_at', 'external_template_id'),
    }),
    output: page(listedTemplate),
  }),

  template: get('/_platform/v1/templates/:templateId', {
    summary: 'Show a template of any application',
    output: listedTemplate,
    failures: ['TEMPLATE_NOT_FOUND'],
  }),

  bots: get('/_platform/v1/bots', {
    summary: 'List the bots of all accounts',
    query: input({ ...pageQuery, application_id: Type.Optional(Type.String()) }),
    output: page(listedBot),
  }),

  bot: get('/_platform/v1/bots/:botId', {
    summary: 'Show a bot of any account',
    output: shownBot,
    failures: ['BOT_NOT_FOUND'],
  }),

  totals: get('/_platform/v1/totals', {
    summary: 'Count issued and redeemed vouchers over time',
    query: input({
      from: Type.Optional(instantInput),
      seconds: Type.Optional(
        Type.Integer({ minimum: 1, maximum: TOTALS_SECONDS_MAX, description: 'instead of from; default 86400' }),
      ),
      until: Type.Optional(instantInput),
      buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: TOTALS_BUCKETS_MAX, description: 'default 24' })),
      template_id: Type.Optional(Type.String()),
    }),
    output: totals,
  }),

  setAppFeatures: put('/_platform/v1/applications/:appId/features', {
    ...overApp,
    summary: 'Set the features of an application',
    leadsTo: ['FEATURE_UNAVAILABLE'],
    body: input({ features: Type.Array(oneOf(['vouchers']), { maxItems: 1 }) }),
  }),

  approveBot: post('/_platform/v1/bots/:botId/approve', {
    ...overBot,
    summary: 'Approve a bot: it becomes active',
    command: 'platform bots approve :botId',
    review: 'decides',
  }),

  rejectBot: post('/_platform/v1/bots/:botId/reject', {
    ...overBot,
    summary: 'Reject a bot; its owner may apply again',
    command: 'platform bots reject :botId --note :note',
    review: 'decides',
    body: input({ note: text(1, 200, 'Say whose bot it is.') }),
  }),

  disableBot: post('/_platform/v1/bots/:botId/disable', {
    ...overBot,
    summary: 'Disable an approved bot',
    accepts: ['active'],
    leadsTo: ['BOT_DISABLED'],
  }),

  enableBot: post('/_platform/v1/bots/:botId/enable', {
    ...overBot,
    summary: 'Enable a disabled bot',
    accepts: ['disabled'],
  }),

  addUpdate: post('/_platform/v1/bots/:botId/updates', {
    summary: 'Create a friend_request, inline_query or ping update for a bot',
    body: input({
      type: oneOf(platformUpdateTypes, 'inline_query'),
      payload: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }), {
        from: { id: 'user-42' },
        query: 'coffee',
      }),
    }),
    output: update,
    verbatim: true,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'BOT_STATE_CONFLICT'],
  }),

  borrowWebhook: put('/_platform/v1/bots/:botId/webhook-leases/:leaseId', {
    ...ofLease,
    summary: 'Lend the webhook of a bot to a listener on this machine, or renew its lease',
    body: input({
      port: withExample(
        Type.Integer({ minimum: 1, maximum: 65_535, description: 'where the listener listens on 127.0.0.1' }),
        8787,
      ),
      secret_token: withExample(secretToken, 'a-secret-of-the-listener'),
      holder: withExample(
        Type.String({ minLength: 1, maxLength: 512, description: 'who listens, for others who try' }),
        'process 1',
      ),
    }),
    output: Type.Object({
      url: Type.String({ example: 'http://127.0.0.1:8787/' }),
      expires_in_seconds: Type.Integer({ example: 30 }),
      allowed_updates: withExample(allowedUpdates, ['ping']),
    }),
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'POLLING_ACTIVE', 'WEBHOOK_BORROWED', 'WEBHOOK_URL_REFUSED'],
  }),

  returnWebhook: del('/_platform/v1/bots/:botId/webhook-leases/:leaseId', {
    ...ofLease,
    summary: 'End a lease: the earlier webhook settings are in effect again',
    unrecorded: true,
    output: Type.Object({ returned: Type.Boolean({ description: 'false if the lease had ended', example: true }) }),
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  createChat: post('/_platform/v1/chats', {
    summary: 'Start a chat with a bot as a user, or return the existing one',
    command: 'platform users start --bot :bot_id --user :user_id',
    body: input({
      bot_id: ids.botId,
      user_id: machineId(128, { example: 'user-42' }),
      type: Type.Optional(oneOf(chatTypes)),
    }),
    output: chat,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  }),

  chats: get('/_platform/v1/chats', {
    summary: 'List chats',
    query: input({ ...pageQuery, bot_id: Type.Optional(Type.String()), user_id: Type.Optional(machineId(128)) }),
    output: page(chat),
  }),

  chat: get('/_platform/v1/chats/:chatId', { ...overChat, summary: 'Show a chat' }),

  messages: get('/_platform/v1/chats/:chatId/messages', {
    summary: 'Read a chat as its user, oldest message first',
    query: input(pageQuery),
    output: page(transcriptMessage),
    failures: ['CHAT_NOT_FOUND'],
  }),

  sendAsUser: post('/_platform/v1/chats/:chatId/messages', {
    summary: 'Send a message to the bot as the user of a chat',
    command: 'platform users send :chatId --text :text',
    body: input({ text: messageText(4096, 'Hello, one coffee please') }),
    output: message,
    failures: ['CHAT_NOT_FOUND', 'BOT_BLOCKED'],
  }),

  blockChat: post('/_platform/v1/chats/:chatId/block', {
    ...overChat,
    summary: 'Block the bot as the user of a chat',
    command: 'platform users block :chatId',
    leadsTo: ['BOT_BLOCKED'],
  }),

  unblockChat: post('/_platform/v1/chats/:chatId/unblock', {
    ...overChat,
    summary: 'Lift the block as the user of a chat',
    command: 'platform users unblock :chatId',
  }),

  secureKeys: get('/_platform/v1/secure/keys', {
    summary: 'List the keys of the encrypted transport',
    output: Type.Object({ items: Type.Array(secureKey) }),
  }),

  rotateSecureKeys: post('/_platform/v1/secure/keys/rotate', {
    summary: 'Replace the current key of the encrypted transport with the next one',
    irreversible: { action: 'Rotating the keys of', loses: 'Clients that pin the current key alone are refused.' },
    output: Type.Object({ items: Type.Array(secureKey) }),
  }),
})
