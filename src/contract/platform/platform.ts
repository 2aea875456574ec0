import { application } from '../apps.js'
import { bot } from '../bots.js'
import { chat, chatTypes, message, transcriptMessage } from '../chats.js'
import { group } from '../endpoint.js'
import {
  input,
  instant,
  instantInput,
  machineId,
  messageText,
  noBody,
  nullable,
  oneOf,
  page,
  pageQuery,
  secret,
  text,
} from '../fields.js'
import { type Static, Type } from '../schema.js'
import { template, templateStatuses } from '../templates.js'
import { update } from '../updates.js'

// The operator API: not part of the specification, and absent unless switched on (DECISIONS.md#operator-api).

/** Members that the endpoints for decisions of the operator have in common. */
const decision = { method: 'POST' } as const
const overTemplate = {
  ...decision,
  params: Type.Object({ templateId: Type.String() }),
  output: template,
  failures: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_STATE_CONFLICT'],
} as const
const overApp = {
  ...decision,
  params: Type.Object({ appId: Type.String() }),
  output: application,
  failures: ['APPLICATION_NOT_FOUND'],
} as const
const botId = Type.Object({ botId: Type.String() })
const overBot = { ...decision, params: botId, output: bot, failures: ['BOT_NOT_FOUND', 'BOT_STATE_CONFLICT'] } as const
const chatId = Type.Object({ chatId: Type.String() })
const overChat = { ...decision, params: chatId, output: chat, failures: ['CHAT_NOT_FOUND'] } as const

/** Maximum number of periods of one chart, such as the days of a year. */
export const TOTALS_BUCKETS_MAX = 366
const TOTALS_SECONDS_MAX = 3_153_600_000

export const review = Type.Object({
  kind: oneOf(['template', 'bot']),
  id: Type.String(),
  application_id: nullable(Type.String()),
  account_id: Type.String(),
  name: Type.String(),
  submitted_at: instant,
})
export type Review = Static<typeof review>

export const listedTemplate = Type.Object({
  ...template.properties,
  applicationName: nullable(Type.String()),
})
export type ListedTemplate = Static<typeof listedTemplate>

export const totals = Type.Object({
  until: instant,
  items: Type.Array(
    Type.Object({
      from: instant,
      issued: Type.Integer(),
      redeemed: Type.Integer({ description: 'redemptions, including those that were reversed later' }),
    }),
    { description: 'periods of equal length, oldest first' },
  ),
  complete: Type.Boolean({ description: 'false if there is too much to count, so that the counts are too low' }),
})
export type Totals = Static<typeof totals>

export const platformUpdateTypes = ['friend_request', 'inline_query', 'ping'] as const

export const secureKey = Type.Object({
  kid: Type.String(),
  state: oneOf(['next', 'current', 'grace']),
  pin: Type.String({ description: 'sha256: and 43 characters of base64url' }),
  created_at: instant,
  activated_at: nullable(instant),
  grace_until: nullable(instant),
})
export type SecureKey = Static<typeof secureKey>

export const platform = group('platform', {
  issueAccountToken: {
    summary: 'Make an account JWT',
    method: 'POST',
    path: '/_platform/v1/accounts/:accountId/token',
    params: Type.Object({
      accountId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', 'x-expected': '1 to 64 of A-Z a-z 0-9 . _ -' }),
    }),
    body: input({ expires_in_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_536_000 })) }),
    bodyOptional: true,
    output: Type.Object({ jwt: Type.String(secret), expires_at: instant }),
    evidence: { jwt: 'text' },
  },

  reviews: {
    summary: 'List templates and bots that wait for review',
    method: 'GET',
    path: '/_platform/v1/reviews',
    query: input({ kind: Type.Optional(oneOf(['template', 'bot'])) }),
    output: Type.Object({ items: Type.Array(review) }),
  },

  approveTemplate: {
    ...overTemplate,
    summary: 'Approve a template under review',
    path: '/_platform/v1/templates/:templateId/approve',
    ...noBody,
  },

  rejectTemplate: {
    ...overTemplate,
    summary: 'Reject a template under review',
    path: '/_platform/v1/templates/:templateId/reject',
    body: input({
      code: Type.String({
        pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
        'x-expected': 'a word of at most 64 letters, digits and _',
      }),
      reason: text(1, 200),
    }),
  },

  suspendApp: {
    ...overApp,
    summary: 'Suspend an application',
    path: '/_platform/v1/applications/:appId/suspend',
    ...noBody,
  },

  reinstateApp: {
    ...overApp,
    summary: 'End the suspension of an application',
    path: '/_platform/v1/applications/:appId/reinstate',
    ...noBody,
  },

  applications: {
    summary: 'List the applications of all accounts',
    method: 'GET',
    path: '/_platform/v1/applications',
    query: input(pageQuery),
    output: page(application),
  },

  templates: {
    summary: 'List the templates of all applications, with issued vouchers and quota',
    method: 'GET',
    path: '/_platform/v1/templates',
    query: input({
      ...pageQuery,
      status: Type.Optional(oneOf(templateStatuses)),
      application_id: Type.Optional(Type.String()),
    }),
    output: page(listedTemplate),
  },

  totals: {
    summary: 'Count issued and redeemed vouchers over time',
    method: 'GET',
    path: '/_platform/v1/totals',
    query: input({
      from: Type.Optional(instantInput),
      seconds: Type.Optional(
        Type.Integer({ minimum: 1, maximum: TOTALS_SECONDS_MAX, description: 'instead of from; default 86400' }),
      ),
      until: Type.Optional(instantInput),
      buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: TOTALS_BUCKETS_MAX, description: 'default 24' })),
    }),
    output: totals,
  },

  setAppFeatures: {
    ...overApp,
    summary: 'Set the features of an application',
    method: 'PUT',
    path: '/_platform/v1/applications/:appId/features',
    body: input({ features: Type.Array(oneOf(['vouchers']), { maxItems: 1 }) }),
  },

  approveBot: {
    ...overBot,
    summary: 'Approve a bot: it becomes active',
    path: '/_platform/v1/bots/:botId/approve',
    ...noBody,
  },

  rejectBot: {
    ...overBot,
    summary: 'Reject a bot; its owner may apply again',
    path: '/_platform/v1/bots/:botId/reject',
    body: input({ note: text(1, 200) }),
  },

  disableBot: {
    ...overBot,
    summary: 'Disable an approved bot',
    path: '/_platform/v1/bots/:botId/disable',
    ...noBody,
  },

  enableBot: {
    ...overBot,
    summary: 'Enable a disabled bot',
    path: '/_platform/v1/bots/:botId/enable',
    ...noBody,
  },

  addUpdate: {
    summary: 'Create a friend_request, inline_query or ping update for a bot',
    method: 'POST',
    path: '/_platform/v1/bots/:botId/updates',
    params: botId,
    body: input({
      type: oneOf(platformUpdateTypes),
      payload: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })),
    }),
    output: update,
    verbatim: true,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'BOT_STATE_CONFLICT'],
  },

  createChat: {
    summary: 'Start a chat with a bot as a user, or return the existing one',
    method: 'POST',
    path: '/_platform/v1/chats',
    body: input({ bot_id: Type.String(), user_id: machineId(128), type: Type.Optional(oneOf(chatTypes)) }),
    output: chat,
    failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
  },

  chats: {
    summary: 'List chats',
    method: 'GET',
    path: '/_platform/v1/chats',
    query: input({ ...pageQuery, bot_id: Type.Optional(Type.String()), user_id: Type.Optional(machineId(128)) }),
    output: page(chat),
  },

  messages: {
    summary: 'Read a chat as its user, oldest message first',
    method: 'GET',
    path: '/_platform/v1/chats/:chatId/messages',
    params: chatId,
    query: input(pageQuery),
    output: page(transcriptMessage),
    failures: ['CHAT_NOT_FOUND'],
  },

  sendAsUser: {
    summary: 'Send a message to the bot as the user of a chat',
    method: 'POST',
    path: '/_platform/v1/chats/:chatId/messages',
    params: chatId,
    body: input({ text: messageText(4096) }),
    output: message,
    failures: ['CHAT_NOT_FOUND', 'BOT_BLOCKED'],
  },

  blockChat: {
    ...overChat,
    summary: 'Block the bot as the user of a chat',
    path: '/_platform/v1/chats/:chatId/block',
    ...noBody,
  },

  unblockChat: {
    ...overChat,
    summary: 'Lift the block as the user of a chat',
    path: '/_platform/v1/chats/:chatId/unblock',
    ...noBody,
  },

  secureKeys: {
    summary: 'List the keys of the encrypted transport',
    method: 'GET',
    path: '/_platform/v1/secure/keys',
    output: Type.Object({ items: Type.Array(secureKey) }),
  },

  rotateSecureKeys: {
    summary: 'Replace the current key of the encrypted transport with the next one',
    method: 'POST',
    path: '/_platform/v1/secure/keys/rotate',
    ...noBody,
    output: Type.Object({ items: Type.Array(secureKey) }),
  },
})
