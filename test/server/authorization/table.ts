import type { BotScope, CredentialKind, Scope } from '../../../src/contract/endpoint.js'

/** Who may call a route and which objects it accepts, written from the rules, not from the contract under test. */
export interface Row {
  readonly route: string
  readonly caller: CredentialKind
  readonly scope?: Scope | BotScope
  /** By input member that names an object: the failure code if the object is absent or belongs to somebody else. */
  readonly objects: Readonly<Record<string, string>>
}

const row = (route: string, caller: CredentialKind, scope?: Row['scope'], objects: Row['objects'] = {}): Row => ({
  route,
  caller,
  ...(scope === undefined ? {} : { scope }),
  objects,
})

const app = { appId: 'APPLICATION_NOT_FOUND' }
const bot = { botId: 'BOT_NOT_FOUND' }
const template = { templateId: 'TEMPLATE_NOT_FOUND' }
const redemption = { redemptionId: 'REDEMPTION_NOT_FOUND' }
const snapshot = { name: 'SNAPSHOT_NOT_FOUND' }
const chat = { chatId: 'CHAT_NOT_FOUND' }

const open = '/api/v1/open-platform'
const ofApp = `${open}/applications/:appId`
const ofBot = '/api/v1/bots/my/:botId'
const platform = '/_platform/v1'

export const rows: Readonly<Record<string, Row>> = {
  // Runtime endpoints: an application token with one scope.
  'templates.list': row(`GET ${open}/vouchers/templates`, 'token', 'vouchers:read'),
  'templates.create': row(`POST ${open}/vouchers/templates`, 'token', 'vouchers:templates:write'),
  'templates.submit': row(
    `POST ${open}/vouchers/templates/:templateId/submit`,
    'token',
    'vouchers:templates:write',
    template,
  ),
  'vouchers.issue': row(`POST ${open}/vouchers/issue`, 'token', 'vouchers:issue', {
    template_id: 'TEMPLATE_NOT_FOUND',
  }),
  'vouchers.verify': row(`POST ${open}/vouchers/verify`, 'token', 'vouchers:verify', {
    credential: 'VOUCHER_NOT_FOUND',
  }),
  'vouchers.redeem': row(`POST ${open}/vouchers/redeem`, 'token', 'vouchers:redeem', {
    credential: 'VOUCHER_NOT_FOUND',
  }),
  'vouchers.redemption': row(`GET ${open}/vouchers/redemptions/:redemptionId`, 'token', 'vouchers:read', redemption),
  'vouchers.reverse': row(
    `POST ${open}/vouchers/redemptions/:redemptionId/reverse`,
    'token',
    'vouchers:reverse',
    redemption,
  ),

  // Bot endpoints: a bot token with a scope of rules/callers.md#scopes.
  'bots.issue': row('POST /api/v1/bots/vouchers/issue', 'bot', 'vouchers:issue', {
    chat_id: 'CHAT_NOT_FOUND',
    template_id: 'TEMPLATE_NOT_FOUND',
  }),
  'bots.send': row('POST /api/v1/bots/sendMessage', 'bot', 'messages:send', { chat_id: 'CHAT_NOT_FOUND' }),
  'bots.updates': row('POST /api/v1/bots/getUpdates', 'bot', 'messages:receive'),
  'webhook.setByBot': row('POST /api/v1/bots/setWebhook', 'bot', 'messages:receive'),
  'webhook.info': row('GET /api/v1/bots/getWebhookInfo', 'bot', 'messages:receive'),

  // Console endpoints: an account's JWT, for its own applications.
  'apps.list': row(`GET ${open}/applications`, 'jwt'),
  'apps.create': row(`POST ${open}/applications`, 'jwt'),
  'apps.get': row(`GET ${ofApp}`, 'jwt', undefined, app),
  'apps.update': row(`PATCH ${ofApp}`, 'jwt', undefined, app),
  'tokens.list': row(`GET ${ofApp}/tokens`, 'jwt', undefined, app),
  'tokens.create': row(`POST ${ofApp}/tokens`, 'jwt', undefined, app),
  'tokens.revoke': row(`DELETE ${ofApp}/tokens/:tokenId`, 'jwt', undefined, { ...app, tokenId: 'TOKEN_NOT_FOUND' }),
  'apps.linkBot': row(`PUT ${ofApp}/bots/:botId`, 'jwt', undefined, { ...app, ...bot }),
  'apps.unlinkBot': row(`DELETE ${ofApp}/bots/:botId`, 'jwt', undefined, { ...app, ...bot }),

  // Console endpoints for bots: an account's JWT, for its own bots.
  'bots.apply': row('POST /api/v1/bots/applications', 'jwt'),
  'bots.list': row('GET /api/v1/bots/my', 'jwt'),
  'bots.get': row(`GET ${ofBot}`, 'jwt', undefined, bot),
  'bots.update': row(`PATCH ${ofBot}`, 'jwt', undefined, bot),
  'webhook.set': row(`POST ${ofBot}/webhook`, 'jwt', undefined, bot),
  'webhook.delete': row(`DELETE ${ofBot}/webhook`, 'jwt', undefined, bot),
  'webhook.deliveries': row(`GET ${ofBot}/deliveries`, 'jwt', undefined, bot),
  'webhook.retry': row(`POST ${ofBot}/deliveries/:deliveryId/retry`, 'jwt', undefined, {
    ...bot,
    deliveryId: 'DELIVERY_NOT_FOUND',
  }),
  'bots.regenerateToken': row(`POST ${ofBot}/regenerate-token`, 'jwt', undefined, bot),
  'bots.metrics': row(`GET ${ofBot}/metrics`, 'jwt', undefined, bot),
  'bots.templates': row(`GET ${ofBot}/vouchers/templates`, 'jwt', undefined, bot),
  'bots.createTemplate': row(`POST ${ofBot}/vouchers/templates`, 'jwt', undefined, bot),
  'bots.submitTemplate': row(`POST ${ofBot}/vouchers/templates/:templateId/submit`, 'jwt', undefined, {
    ...bot,
    ...template,
  }),

  // Operator endpoints: the operator key reaches the objects of every account, so no object is foreign.
  'platform.issueAccountToken': row(`POST ${platform}/accounts/:accountId/token`, 'operator'),
  'platform.reviews': row(`GET ${platform}/reviews`, 'operator'),
  'platform.approveTemplate': row(`POST ${platform}/templates/:templateId/approve`, 'operator', undefined, template),
  'platform.rejectTemplate': row(`POST ${platform}/templates/:templateId/reject`, 'operator', undefined, template),
  'platform.suspendApp': row(`POST ${platform}/applications/:appId/suspend`, 'operator', undefined, app),
  'platform.reinstateApp': row(`POST ${platform}/applications/:appId/reinstate`, 'operator', undefined, app),
  'platform.setAppFeatures': row(`PUT ${platform}/applications/:appId/features`, 'operator', undefined, app),
  'platform.approveBot': row(`POST ${platform}/bots/:botId/approve`, 'operator', undefined, bot),
  'platform.rejectBot': row(`POST ${platform}/bots/:botId/reject`, 'operator', undefined, bot),
  'platform.disableBot': row(`POST ${platform}/bots/:botId/disable`, 'operator', undefined, bot),
  'platform.enableBot': row(`POST ${platform}/bots/:botId/enable`, 'operator', undefined, bot),
  'platform.addUpdate': row(`POST ${platform}/bots/:botId/updates`, 'operator', undefined, bot),
  'platform.borrowWebhook': row(`PUT ${platform}/bots/:botId/webhook-leases/:leaseId`, 'operator', undefined, bot),
  'platform.returnWebhook': row(`DELETE ${platform}/bots/:botId/webhook-leases/:leaseId`, 'operator', undefined, bot),
  'platform.createChat': row(`POST ${platform}/chats`, 'operator', undefined, { bot_id: 'BOT_NOT_FOUND' }),
  'platform.chats': row(`GET ${platform}/chats`, 'operator'),
  'platform.chat': row(`GET ${platform}/chats/:chatId`, 'operator', undefined, chat),
  'platform.messages': row(`GET ${platform}/chats/:chatId/messages`, 'operator', undefined, chat),
  'platform.sendAsUser': row(`POST ${platform}/chats/:chatId/messages`, 'operator', undefined, chat),
  'platform.blockChat': row(`POST ${platform}/chats/:chatId/block`, 'operator', undefined, chat),
  'platform.unblockChat': row(`POST ${platform}/chats/:chatId/unblock`, 'operator', undefined, chat),
  'platform.getClock': row(`GET ${platform}/clock`, 'operator'),
  'platform.setClock': row(`PUT ${platform}/clock`, 'operator'),
  'platform.advanceClock': row(`POST ${platform}/clock/advance`, 'operator'),
  'platform.forecast': row(`GET ${platform}/clock/forecast`, 'operator'),
  'platform.faults': row(`GET ${platform}/faults`, 'operator'),
  'platform.addFault': row(`POST ${platform}/faults`, 'operator'),
  'platform.releaseCalls': row(`POST ${platform}/held-calls/release`, 'operator'),
  'platform.removeFault': row(`DELETE ${platform}/faults/:faultId`, 'operator'),
  'platform.clearFaults': row(`DELETE ${platform}/faults`, 'operator'),
  'platform.snapshots': row(`GET ${platform}/snapshots`, 'operator'),
  'platform.saveSnapshot': row(`PUT ${platform}/snapshots/:name`, 'operator'),
  'platform.restoreSnapshot': row(`POST ${platform}/snapshots/:name/restore`, 'operator', undefined, snapshot),
  'platform.removeSnapshot': row(`DELETE ${platform}/snapshots/:name`, 'operator', undefined, snapshot),
  'platform.reset': row(`POST ${platform}/reset`, 'operator'),
  'platform.reference': row(`GET ${platform}/reference`, 'operator'),
  'platform.secureKeys': row(`GET ${platform}/secure/keys`, 'operator'),
  'platform.rotateSecureKeys': row(`POST ${platform}/secure/keys/rotate`, 'operator'),
  'platform.requests': row(`GET ${platform}/requests`, 'operator'),
  'platform.applications': row(`GET ${platform}/applications`, 'operator'),
  'platform.templates': row(`GET ${platform}/templates`, 'operator'),
  'platform.template': row(`GET ${platform}/templates/:templateId`, 'operator', undefined, template),
  'platform.bots': row(`GET ${platform}/bots`, 'operator'),
  'platform.bot': row(`GET ${platform}/bots/:botId`, 'operator', undefined, bot),
  'platform.callAsApp': row(`POST ${platform}/applications/:appId/calls`, 'operator', undefined, app),
  'platform.callAsBot': row(`POST ${platform}/bots/:botId/calls`, 'operator', undefined, bot),
  // An account is a name: the server keeps no record of it.
  'platform.callAsAccount': row(`POST ${platform}/accounts/:accountId/calls`, 'operator'),
  'platform.showCredentials': row(`POST ${platform}/vouchers/:voucherId/credentials`, 'operator', undefined, {
    voucherId: 'VOUCHER_NOT_FOUND',
  }),
  'platform.seedStore': row(`POST ${platform}/seed`, 'operator'),
  'platform.recordScenario': row(`POST ${platform}/recordings`, 'operator'),
  'platform.find': row(`POST ${platform}/find`, 'operator'),
  'platform.totals': row(`GET ${platform}/totals`, 'operator'),
  'platform.overview': row(`GET ${platform}/overview`, 'operator'),
  'platform.openPage': row(`POST ${platform}/page-tickets`, 'operator'),
  'platform.activity': row(`GET ${platform}/activity`, 'operator'),
  'platform.vouchers': row(`GET ${platform}/vouchers`, 'operator'),
  'platform.voucher': row(`GET ${platform}/vouchers/:voucherId`, 'operator', undefined, {
    voucherId: 'VOUCHER_NOT_FOUND',
  }),
  'platform.findVoucher': row(`POST ${platform}/voucher-lookup`, 'operator', undefined, {
    credential: 'VOUCHER_NOT_FOUND',
  }),
  'platform.deliveries': row(`GET ${platform}/deliveries`, 'operator'),
  'platform.delivery': row(`GET ${platform}/deliveries/:deliveryId`, 'operator', undefined, {
    deliveryId: 'DELIVERY_NOT_FOUND',
  }),
  'platform.replayDelivery': row(`POST ${platform}/deliveries/:deliveryId/replay`, 'operator', undefined, {
    deliveryId: 'DELIVERY_NOT_FOUND',
  }),
}

/** Routes of the page as Fastify prints them; their requests pass other checks first (page.test.ts). */
export const pageRoutes = ['GET /_platform/ui/*', 'POST /_platform/ui/proof', 'POST /_platform/ui/session']

/** Routes without a credential: health checks, and the encrypted transport, whose inner calls carry a credential. */
export const openRoutes = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /api/v1/secure/bootstrap',
  'POST /api/v1/secure/session',
  'POST /api/v1/secure/dispatch',
]

/** GET routes that do not support HEAD. No route supports OPTIONS. */
export const withoutHead = [`GET ${platform}/requests`, `GET ${platform}/activity`]

export type Transport = 'plain' | 'dispatch' | 'plain, server wants encryption'

/** A credential, its fault, and the state of its bot and application. */
export interface Held {
  /** Null for an absent or malformed credential. */
  readonly kind: CredentialKind | null
  readonly fault?: 'missing' | 'malformed' | 'unknown' | 'revoked' | 'expired'
  /** The granted scopes; undefined means every scope. */
  readonly scopes?: readonly string[]
  readonly botDisabled?: true
  readonly unlinked?: true
  readonly application?: 'disabled' | 'suspended' | 'featureless' | 'encrypted only' | 'other origin'
}

/**
 * Applies the checks in the order of rules/calls.md#order-of-checks; the first that fails decides the response.
 * @param missing the failure code of an object that is absent or foreign; null if the caller owns the object
 * @returns the expected failure code, or null for a success
 */
export function expectedCode(row: Row, held: Held, transport: Transport, missing: string | null): string | null {
  const runtime = row.route.includes(`${open}/vouchers/`) || row.route.endsWith('/bots/vouchers/issue')
  const isLinked = !held.unlinked
  const acting = runtime && isLinked ? held.application : undefined
  const lines: readonly [string, boolean][] = [
    ['SECURE_REQUEST_INVALID', transport === 'dispatch' && row.route.includes(platform)],
    ['SECURE_TRANSPORT_REQUIRED', runtime && transport === 'plain, server wants encryption'],
    ['TOKEN_MISSING', held.fault === 'missing'],
    ['TOKEN_INVALID', held.fault === 'malformed'],
    ['TOKEN_TYPE_NOT_ACCEPTED', held.kind !== row.caller],
    ['TOKEN_INVALID', held.fault === 'unknown'],
    ['TOKEN_REVOKED', held.fault === 'revoked'],
    ['TOKEN_EXPIRED', held.fault === 'expired'],
    ['BOT_DISABLED', held.botDisabled === true],
    ['APPLICATION_DISABLED', acting === 'disabled' || acting === 'suspended'],
    ['SECURE_TRANSPORT_REQUIRED', acting === 'encrypted only' && transport !== 'dispatch'],
    ['ORIGIN_NOT_ALLOWED', acting === 'other origin' && transport === 'dispatch'],
    ['FEATURE_UNAVAILABLE', acting === 'featureless'],
    ['INSUFFICIENT_SCOPE', row.scope !== undefined && held.scopes !== undefined && !held.scopes.includes(row.scope)],
    ['BOT_NOT_LINKED', runtime && !isLinked],
  ]
  return lines.find(([, holds]) => holds)?.[0] ?? missing
}
