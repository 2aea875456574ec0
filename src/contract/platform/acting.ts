import { group, post } from '../endpoint.js'
import { input, nullable, oneOf, secret } from '../fields.js'
import { type Static, Type } from '../schema.js'
import { templates } from '../templates.js'
import { credential, vouchers } from '../vouchers.js'

// The operator acts for an application or a developer (rules/operator.md#acting-for-an-application).

/** Calls of an application token. */
export const applicationCalls = [...Object.values(vouchers), ...Object.values(templates)] as const
type ApplicationCall = (typeof applicationCalls)[number]['id']
const callIds = applicationCalls.map((it) => it.id) as [ApplicationCall, ...ApplicationCall[]]

const openObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

/** A call that the operator made as an application, with secrets replaced by HIDDEN. */
const madeCall = Type.Object({
  status: Type.Integer(),
  code: nullable(Type.String({ description: 'failure code' })),
  body: nullable(openObject),
  request: Type.Object({
    method: Type.String(),
    url: Type.String(),
    idempotency_key: nullable(Type.String()),
    body: nullable(openObject),
  }),
})
export type MadeCall = Static<typeof madeCall>

/** Maximum length of a body with a seed. */
const SEED_BYTES_MAX = 1_048_576

const named = { id: Type.String(), name: Type.String() }
const seededToken = Type.Object({ ...named, token: Type.String(secret) })
const planted = Type.Object({
  planted: Type.Boolean({ description: 'false if the store already holds the seed' }),
  applications: Type.Array(Type.Object({ ...named, tokens: Type.Array(seededToken) })),
  bots: Type.Array(Type.Object({ id: Type.String(), username: Type.String(), token: nullable(Type.String(secret)) })),
})
export type Planted = Static<typeof planted>

const foundRecord = Type.Object({
  kind: oneOf(['voucher', 'template', 'application', 'bot', 'chat', 'delivery']),
  ...named,
  detail: nullable(
    Type.String({ description: 'recipient, external id, account, username, user, or bot, in the order of the kinds' }),
  ),
})
export type FoundRecord = Static<typeof foundRecord>

export const platformActing = group('platform', {
  callAsApp: post('/_platform/v1/applications/:appId/calls', {
    summary: 'Make one runtime call as an application, without a token',
    body: input({
      endpoint: oneOf(callIds),
      input: Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'members of path, query and body by their names',
      }),
      idempotency_key: Type.Optional(Type.String({ description: 'made if absent' })),
      voucher_id: Type.Optional(Type.String({ description: 'instead of the credential in input' })),
    }),
    output: madeCall,
    failures: ['SERVER_NOT_LOOPBACK', 'APPLICATION_NOT_FOUND', 'VOUCHER_NOT_FOUND'],
  }),

  showCredentials: post('/_platform/v1/vouchers/:voucherId/credentials', {
    summary: 'Show the credentials of a voucher',
    unrecorded: true,
    repeatable: true,
    output: Type.Object({ voucher_id: Type.String(), credentials: Type.Array(credential) }),
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
    summary: 'Find records by code, id, own id, user, username or the start of a name',
    repeatable: true,
    body: input({ text: Type.String({ minLength: 1, maxLength: 256, ...secret }) }),
    output: Type.Object({ items: Type.Array(foundRecord, { description: 'at most 20' }) }),
  }),
})
