import { application } from './apps.js'
import { bot } from './bots.js'
import { chat, chatTypes, message, transcriptMessage } from './chats.js'
import { endpoint } from './endpoint.js'
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
  text,
} from './fields.js'
import { type Static, Type } from './schema.js'
import { template } from './templates.js'
import { update } from './updates.js'

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
  output: Type.Object({ jwt: Type.String(), expires_at: instant }),
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

const clock = Type.Object({ now: instant, test_clock: Type.Boolean() })

export const getClock = endpoint({
  id: 'platform.getClock',
  summary: 'Read the test clock',
  method: 'GET',
  path: '/_platform/v1/clock',
  caller: 'operator',
  query: input({}),
  status: 200,
  output: clock,
  failures: ['TEST_CLOCK_OFF'],
})

export const setClock = endpoint({
  id: 'platform.setClock',
  summary: 'Set the test clock; it only moves forward',
  method: 'PUT',
  path: '/_platform/v1/clock',
  caller: 'operator',
  body: input({ now: instantInput }),
  status: 200,
  output: clock,
  failures: ['TEST_CLOCK_OFF'],
})

export const advanceClock = endpoint({
  id: 'platform.advanceClock',
  summary: 'Advance the test clock',
  method: 'POST',
  path: '/_platform/v1/clock/advance',
  caller: 'operator',
  body: input({ seconds: Type.Number({ minimum: 0, maximum: 3_153_600_000 }) }),
  status: 200,
  output: clock,
  failures: ['TEST_CLOCK_OFF'],
})

export const faultKinds = ['drop_response', 'delay', 'error'] as const

export const fault = Type.Object({
  endpoint: Type.String(),
  kind: oneOf(faultKinds),
  times: Type.Integer(),
  delay_ms: nullable(Type.Integer()),
})

/** Maximum number of calls that one fault affects. */
export const FAULT_TIMES_MAX = 1_000_000
export const FAULT_DELAY_MS_MAX = 60_000

export const addFault = endpoint({
  id: 'platform.addFault',
  summary: 'Inject a fault into the next calls of an endpoint',
  method: 'POST',
  path: '/_platform/v1/faults',
  caller: 'operator',
  body: input({
    endpoint: Type.String({ description: 'a contract id such as vouchers.redeem' }),
    kind: oneOf(faultKinds),
    times: Type.Integer({ minimum: 1, maximum: FAULT_TIMES_MAX }),
    delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: FAULT_DELAY_MS_MAX })),
  }),
  status: 200,
  output: fault,
  failures: [],
})

export const clearFaults = endpoint({
  id: 'platform.clearFaults',
  summary: 'Remove all faults',
  method: 'DELETE',
  path: '/_platform/v1/faults',
  caller: 'operator',
  ...noBody,
  status: 200,
  output: Type.Object({ removed: Type.Integer() }),
  failures: [],
})

export const snapshot = Type.Object({
  name: Type.String(),
  saved_at: instant,
  clock: instant,
  vouchers: Type.Integer({ description: 'number of vouchers in the snapshot' }),
})
export type Snapshot = Static<typeof snapshot>

const snapshotName = Type.Object({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    'x-expected': '1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit',
  }),
})

/** A call that replaces the state. `shared` permits it for a database that other servers may use. */
const replacing = {
  method: 'POST',
  caller: 'operator',
  body: input({ shared: Type.Optional(Type.Boolean()) }),
  bodyOptional: true,
  status: 200,
} as const

export const snapshots = endpoint({
  id: 'platform.snapshots',
  summary: 'List snapshots, oldest first',
  method: 'GET',
  path: '/_platform/v1/snapshots',
  caller: 'operator',
  query: input({}),
  status: 200,
  output: Type.Object({ items: Type.Array(snapshot) }),
  failures: ['RESET_NOT_ALLOWED'],
})

export const saveSnapshot = endpoint({
  id: 'platform.saveSnapshot',
  summary: 'Save the state of the server; replaces a snapshot of the same name',
  method: 'PUT',
  path: '/_platform/v1/snapshots/:name',
  caller: 'operator',
  params: snapshotName,
  ...noBody,
  status: 200,
  output: snapshot,
  failures: ['RESET_NOT_ALLOWED'],
})

export const restoreSnapshot = endpoint({
  ...replacing,
  id: 'platform.restoreSnapshot',
  summary: 'Return the server to a snapshot',
  path: '/_platform/v1/snapshots/:name/restore',
  params: snapshotName,
  output: snapshot,
  failures: ['RESET_NOT_ALLOWED', 'DATABASE_SHARED', 'SNAPSHOT_NOT_FOUND', 'SNAPSHOT_OUTDATED'],
})

export const removeSnapshot = endpoint({
  id: 'platform.removeSnapshot',
  summary: 'Remove a snapshot',
  method: 'DELETE',
  path: '/_platform/v1/snapshots/:name',
  caller: 'operator',
  params: snapshotName,
  ...noBody,
  status: 200,
  output: snapshot,
  failures: ['RESET_NOT_ALLOWED', 'SNAPSHOT_NOT_FOUND'],
})

export const reset = endpoint({
  ...replacing,
  id: 'platform.reset',
  summary: 'Return the server to the state of its start',
  path: '/_platform/v1/reset',
  output: Type.Object({ now: instant }),
  failures: ['RESET_NOT_ALLOWED', 'DATABASE_SHARED'],
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
