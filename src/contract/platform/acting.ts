import { apps } from '../apps.js'
import { bots, botToken } from '../bots.js'
import { type CredentialKind, type Endpoint, group, post } from '../endpoint.js'
import { ids, input, nullable, oneOf, requestId, secret } from '../fields.js'
import { exampleOf, type Static, Type, withExample } from '../schema.js'
import { templates } from '../templates.js'
import { createdToken, tokens } from '../tokens.js'
import { credential, credentials, vouchers } from '../vouchers.js'
import { webhook } from '../webhook.js'
import { accountParams } from './platform.js'

// The operator acts for an application, a bot or an account (rules/operator.md#acting-for-others).

/** Calls that only make a token: the operator does not get to see it, so nobody could use it. */
const tokenMakers = ['tokens.create', 'bots.regenerateToken'] as const

type CallOf<Group, Kind> = Exclude<Extract<Group[keyof Group], { caller: Kind }>, { id: (typeof tokenMakers)[number] }>
type ActingCall<Kind> =
  | CallOf<typeof apps, Kind>
  | CallOf<typeof tokens, Kind>
  | CallOf<typeof templates, Kind>
  | CallOf<typeof vouchers, Kind>
  | CallOf<typeof bots, Kind>
  | CallOf<typeof webhook, Kind>

/** Returns the calls that the operator can make in place of a caller with this kind of credential. */
export const actingCalls = <Kind extends CredentialKind>(kind: Kind) =>
  [apps, tokens, templates, vouchers, bots, webhook]
    .flatMap((it): Endpoint[] => Object.values(it))
    .filter(({ caller, id }) => caller === kind && !tokenMakers.some((it) => it === id)) as unknown as [
    ActingCall<Kind>,
    ...ActingCall<Kind>[],
  ]

const openObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

const redeem = { endpoint: 'vouchers.redeem', voucher_id: exampleOf(ids.voucherId), input: { reference: 'till-4' } }
const REFUSED = 'VOUCHER_ALREADY_REDEEMED'

/** A call that the operator made in place of another caller, with secrets replaced by HIDDEN. */
const madeCall = Type.Object({
  status: Type.Integer({ example: 409 }),
  code: nullable(Type.String({ description: 'failure code', example: REFUSED })),
  body: nullable(openObject, { success: false, code: REFUSED, requestId: exampleOf(requestId) }),
  request: Type.Object({
    method: Type.String({ example: 'POST' }),
    url: Type.String({ example: '/api/v1/open-platform/vouchers/redeem' }),
    idempotency_key: nullable(Type.String(), 'order-1001-redeem'),
    body: nullable(openObject, { reference: 'till-4', credential: { type: 'redeem_code', value: '[hidden]' } }),
  }),
})
export type MadeCall = Static<typeof madeCall>

/** Members of a call in place of a caller with this kind of credential. */
const callMembers = <Kind extends CredentialKind>(kind: Kind) => ({
  endpoint: oneOf(actingCalls(kind).map((it) => it.id) as [ActingCall<Kind>['id'], ...ActingCall<Kind>['id'][]]),
  input: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'members of path, query and body by their names',
  }),
  idempotency_key: Type.Optional(Type.String({ description: 'made if absent' })),
})

/** Maximum length of a body with a seed. */
const SEED_BYTES_MAX = 1_048_576

const name = (example: string) => Type.String({ example })
const seededToken = Type.Object({
  id: ids.tokenId,
  name: name('example'),
  token: Type.String({ example: exampleOf(createdToken).token, ...secret }),
})
const planted = Type.Object({
  planted: Type.Boolean({ description: 'false if the store already holds the seed', example: true }),
  applications: Type.Array(Type.Object({ id: ids.appId, name: name('Coffee shop'), tokens: Type.Array(seededToken) })),
  bots: Type.Array(Type.Object({ id: ids.botId, username: name('coffee_bot'), token: nullable(botToken) })),
})
export type Planted = Static<typeof planted>

const foundRecord = Type.Object({
  kind: oneOf(['voucher', 'template', 'application', 'bot', 'chat', 'delivery']),
  id: ids.voucherId,
  name: name('One free coffee'),
  detail: nullable(
    Type.String({ description: 'recipient, external id, account, username, user, or bot, in the order of the kinds' }),
    'user-42',
  ),
})
export type FoundRecord = Static<typeof foundRecord>

export const platformActing = group('platform', {
  callAsApp: post('/_platform/v1/applications/:appId/calls', {
    summary: 'Make one runtime call as an application, without a token',
    unlisted: true,
    body: input(
      {
        ...callMembers('token'),
        voucher_id: Type.Optional(Type.String({ description: 'instead of the credential in input' })),
      },
      { example: { ...redeem, idempotency_key: 'order-1001-redeem' } },
    ),
    output: madeCall,
    failures: ['SERVER_NOT_LOOPBACK', 'APPLICATION_NOT_FOUND', 'VOUCHER_NOT_FOUND'],
  }),

  callAsBot: post('/_platform/v1/bots/:botId/calls', {
    summary: 'Make one call as a bot, without its token',
    unlisted: true,
    body: input(callMembers('bot'), { example: { endpoint: 'webhook.info', input: {} } }),
    output: madeCall,
    failures: ['SERVER_NOT_LOOPBACK', 'BOT_NOT_FOUND'],
  }),

  callAsAccount: post('/_platform/v1/accounts/:accountId/calls', {
    summary: 'Make one console call as an account, without a JWT',
    unlisted: true,
    params: accountParams,
    body: input(callMembers('jwt'), { example: { endpoint: 'apps.list', input: {} } }),
    output: madeCall,
    failures: ['SERVER_NOT_LOOPBACK'],
  }),

  showCredentials: post('/_platform/v1/vouchers/:voucherId/credentials', {
    summary: 'Show the credentials of a voucher',
    unrecorded: true,
    repeatable: true,
    output: Type.Object({
      voucher_id: ids.voucherId,
      credentials: withExample(Type.Array(credential), exampleOf(credentials)),
    }),
    evidence: { credentials: 'credentials' },
    failures: ['SERVER_NOT_LOOPBACK', 'VOUCHER_NOT_FOUND'],
  }),

  seedStore: post('/_platform/v1/seed', {
    summary: 'Plant a seed, or the example, into an empty store',
    body: input({
      seed: Type.Optional(Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, ...secret })),
    }),
    bodyOptional: true,
    bodyBytesMax: SEED_BYTES_MAX,
    output: planted,
    failures: ['SERVER_NOT_LOOPBACK', 'STORE_NOT_EMPTY'],
  }),

  /** A POST, because the text may be a credential, which must not be in a URL. */
  find: post('/_platform/v1/find', {
    summary: 'Find records by code, id, own id, user, username or a word of a name',
    unlisted: true,
    repeatable: true,
    body: input({ text: Type.String({ minLength: 1, maxLength: 256, example: 'user-42', ...secret }) }),
    output: Type.Object({
      items: Type.Array(foundRecord, { description: 'at most 20' }),
      note: nullable(Type.String({ description: 'what was not searched, or that more records fit' }), null),
    }),
  }),
})
