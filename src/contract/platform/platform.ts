import { application } from '../apps.js'
import { bot } from '../bots.js'
import { chat, chatTypes, message, transcriptMessage } from '../chats.js'
import { endpoint } from '../endpoint.js'
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
const decision = { method: 'POST', caller: 'operator', status: 200 } as const
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

export const issueAccountToken = endpoint({
  id: 'platform.issueAccountToken',
  summary: 'Make an account JWT',
  method: 'POST',
  path: '/_platform/v1/accounts/:accountId/token',
  caller: 'operator',
  params: Type.Object({
    accountId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', 'x-expected': '1 to 64 of A-Z a-z 0-9 . _ -' }),
  }),
  body: input({ expires_in_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_536_000 })) }),
  bodyOptional: true,
  status: 200,
  output: Type.Object({ jwt: Type.String(secret), expires_at: instant }),
  evidence: { jwt: 'text' },
  failures: [],
})

export const review = Type.Object({
  kind: oneOf(['template', 'bot']),
  id: Type.String(),
  application_id: nullable(Type.String()),
  account_id: Type.String(),
  name: Type.String(),
  submitted_at: instant,
})
export type Review = Static<typeof review>

export const reviews = endpoint({
  id: 'platform.reviews',
  summary: 'List templates and bots that wait for review',
  method: 'GET',
  path: '/_platform/v1/reviews',
  caller: 'operator',
  query: input({ kind: Type.Optional(oneOf(['template', 'bot'])) }),
  status: 200,
  output: Type.Object({ items: Type.Array(review) }),
  failures: [],
})

export const approveTemplate = endpoint({
  ...overTemplate,
  id: 'platform.approveTemplate',
  summary: 'Approve a template under review',
  path: '/_platform/v1/templates/:templateId/approve',
  ...noBody,
})

export const rejectTemplate = endpoint({
  ...overTemplate,
  id: 'platform.rejectTemplate',
  summary: 'Reject a template under review',
  path: '/_platform/v1/templates/:templateId/reject',
  body: input({
    code: Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
      'x-expected': 'a word of at most 64 letters, digits and _',
    }),
    reason: text(1, 200),
  }),
})

export const suspendApp = endpoint({
  ...overApp,
  id: 'platform.suspendApp',
  summary: 'Suspend an application',
  path: '/_platform/v1/applications/:appId/suspend',
  ...noBody,
})

export const reinstateApp = endpoint({
  ...overApp,
  id: 'platform.reinstateApp',
  summary: 'End the suspension of an application',
  path: '/_platform/v1/applications/:appId/reinstate',
  ...noBody,
})

export const applications = endpoint({
  id: 'platform.applications',
  summary: 'List the applications of all accounts',
  method: 'GET',
  path: '/_platform/v1/applications',
  caller: 'operator',
  query: input(pageQuery),
  status: 200,
  output: page(application),
  failures: [],
})

export const listedTemplate = Type.Object({
  ...template.properties,
  applicationName: nullable(Type.String()),
})
export type ListedTemplate = Static<typeof listedTemplate>

export const templates = endpoint({
  id: 'platform.templates',
  summary: 'List the templates of all applications, with issued vouchers and quota',
  method: 'GET',
  path: '/_platform/v1/templates',
  caller: 'operator',
  query: input({
    ...pageQuery,
    status: Type.Optional(oneOf(templateStatuses)),
    application_id: Type.Optional(Type.String()),
  }),
  status: 200,
  output: page(listedTemplate),
  failures: [],
})

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

export const countTotals = endpoint({
  id: 'platform.totals',
  summary: 'Count issued and redeemed vouchers over time',
  method: 'GET',
  path: '/_platform/v1/totals',
  caller: 'operator',
  query: input({
    from: Type.Optional(instantInput),
    seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: TOTALS_SECONDS_MAX, description: 'instead of from; default 86400' }),
    ),
    until: Type.Optional(instantInput),
    buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: TOTALS_BUCKETS_MAX, description: 'default 24' })),
  }),
  status: 200,
  output: totals,
  failures: [],
})

export const setAppFeatures = endpoint({
  ...overApp,
  id: 'platform.setAppFeatures',
  summary: 'Set the features of an application',
  method: 'PUT',
  path: '/_platform/v1/applications/:appId/features',
  body: input({ features: Type.Array(oneOf(['vouchers']), { maxItems: 1 }) }),
})

export const approveBot = endpoint({
  ...overBot,
  id: 'platform.approveBot',
  summary: 'Approve a bot: it becomes active',
  path: '/_platform/v1/bots/:botId/approve',
  ...noBody,
})

export const rejectBot = endpoint({
  ...overBot,
  id: 'platform.rejectBot',
  summary: 'Reject a bot; its owner may apply again',
  path: '/_platform/v1/bots/:botId/reject',
  body: input({ note: text(1, 200) }),
})

export const disableBot = endpoint({
  ...overBot,
  id: 'platform.disableBot',
  summary: 'Disable an approved bot',
  path: '/_platform/v1/bots/:botId/disable',
  ...noBody,
})

export const enableBot = endpoint({
  ...overBot,
  id: 'platform.enableBot',
  summary: 'Enable a disabled bot',
  path: '/_platform/v1/bots/:botId/enable',
  ...noBody,
})

export const platformUpdateTypes = ['friend_request', 'inline_query', 'ping'] as const

export const addUpdate = endpoint({
  id: 'platform.addUpdate',
  summary: 'Create a friend_request, inline_query or ping update for a bot',
  method: 'POST',
  path: '/_platform/v1/bots/:botId/updates',
  caller: 'operator',
  params: botId,
  body: input({
    type: oneOf(platformUpdateTypes),
    payload: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })),
  }),
  status: 200,
  output: update,
  verbatim: true,
  failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'BOT_STATE_CONFLICT'],
})

export const createChat = endpoint({
  id: 'platform.createChat',
  summary: 'Start a chat with a bot as a user, or return the existing one',
  method: 'POST',
  path: '/_platform/v1/chats',
  caller: 'operator',
  body: input({ bot_id: Type.String(), user_id: machineId(128), type: Type.Optional(oneOf(chatTypes)) }),
  status: 200,
  output: chat,
  failures: ['BOT_NOT_FOUND', 'BOT_NOT_APPROVED'],
})

export const chats = endpoint({
  id: 'platform.chats',
  summary: 'List chats',
  method: 'GET',
  path: '/_platform/v1/chats',
  caller: 'operator',
  query: input({ ...pageQuery, bot_id: Type.Optional(Type.String()), user_id: Type.Optional(machineId(128)) }),
  status: 200,
  output: page(chat),
  failures: [],
})

export const messages = endpoint({
  id: 'platform.messages',
  summary: 'Read a chat as its user, oldest message first',
  method: 'GET',
  path: '/_platform/v1/chats/:chatId/messages',
  caller: 'operator',
  params: chatId,
  query: input(pageQuery),
  status: 200,
  output: page(transcriptMessage),
  failures: ['CHAT_NOT_FOUND'],
})

export const sendAsUser = endpoint({
  id: 'platform.sendAsUser',
  summary: 'Send a message to the bot as the user of a chat',
  method: 'POST',
  path: '/_platform/v1/chats/:chatId/messages',
  caller: 'operator',
  params: chatId,
  body: input({ text: messageText(4096) }),
  status: 200,
  output: message,
  failures: ['CHAT_NOT_FOUND', 'BOT_BLOCKED'],
})

export const blockChat = endpoint({
  ...overChat,
  id: 'platform.blockChat',
  summary: 'Block the bot as the user of a chat',
  path: '/_platform/v1/chats/:chatId/block',
  ...noBody,
})

export const unblockChat = endpoint({
  ...overChat,
  id: 'platform.unblockChat',
  summary: 'Lift the block as the user of a chat',
  path: '/_platform/v1/chats/:chatId/unblock',
  ...noBody,
})

export const secureKey = Type.Object({
  kid: Type.String(),
  state: oneOf(['next', 'current', 'grace']),
  pin: Type.String({ description: 'sha256: and 43 characters of base64url' }),
  created_at: instant,
  activated_at: nullable(instant),
  grace_until: nullable(instant),
})
export type SecureKey = Static<typeof secureKey>

export const secureKeys = endpoint({
  id: 'platform.secureKeys',
  summary: 'List the keys of the encrypted transport',
  method: 'GET',
  path: '/_platform/v1/secure/keys',
  caller: 'operator',
  query: input({}),
  status: 200,
  output: Type.Object({ items: Type.Array(secureKey) }),
  failures: [],
})

export const rotateSecureKeys = endpoint({
  id: 'platform.rotateSecureKeys',
  summary: 'Replace the current key of the encrypted transport with the next one',
  method: 'POST',
  path: '/_platform/v1/secure/keys/rotate',
  caller: 'operator',
  ...noBody,
  status: 200,
  output: Type.Object({ items: Type.Array(secureKey) }),
  failures: [],
})

/** One line of the request log, without query, body and headers of the request. */
export const requestLogEntry = Type.Object({
  time: instant,
  request_id: Type.String(),
  endpoint: nullable(Type.String({ description: 'contract id, null outside the routes' })),
  method: Type.String(),
  path: nullable(Type.String({ description: 'the route with its parameters by name' })),
  status: Type.Integer(),
  code: nullable(Type.String({ description: 'failure code' })),
  application_id: nullable(Type.String()),
  voucher_id: nullable(Type.String()),
  replayed: Type.Boolean(),
  duration_ms: Type.Number(),
})
export type RequestLogEntry = Static<typeof requestLogEntry>

export const requests = endpoint({
  id: 'platform.requests',
  summary: 'Read the request log as NDJSON; follow=true keeps it open',
  method: 'GET',
  path: '/_platform/v1/requests',
  caller: 'operator',
  query: input({ follow: Type.Optional(oneOf(['true', 'false'])) }),
  status: 200,
  output: requestLogEntry,
  streams: true,
  failures: [],
})

export const openPage = endpoint({
  id: 'platform.openPage',
  summary: 'Create a link that opens the page of this server once',
  method: 'POST',
  path: '/_platform/v1/page-tickets',
  caller: 'operator',
  repeatable: true,
  ...noBody,
  status: 200,
  output: Type.Object({
    url: Type.String({ description: 'the one-time secret is in the fragment', ...secret }),
    expires_at: instant,
  }),
  evidence: { url: 'text' },
  failures: ['PAGE_OFF'],
})
