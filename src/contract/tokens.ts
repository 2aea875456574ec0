import { byAccount, del, get, group, post, type Scope, scopes } from './endpoint.js'
import { ids, input, instant, nullable, oneOf, page, pageQuery, secret, text, withoutDuplicates } from './fields.js'
import { type Static, Type } from './schema.js'

const tillScopes: Scope[] = ['vouchers:verify', 'vouchers:redeem']

/** Token record (rules/callers.md#application-tokens); only the response of `create` contains the token itself. */
const record = {
  id: ids.tokenId,
  name: Type.String({ example: 'till' }),
  tokenPrefix: Type.String({ example: 'sop_EXAM' }),
  last4: Type.String({ example: 'LE01' }),
  scopes: Type.Array(oneOf(scopes), { example: tillScopes }),
  status: oneOf(['active', 'expired', 'revoked']),
  createdAt: instant,
  expiresAt: nullable(instant, '2027-11-21T10:00:00.000Z'),
  lastUsedAt: nullable(instant, null),
  revokedAt: nullable(instant, null),
}
export const token = Type.Object(record)
export type Token = Static<typeof token>

export const createdToken = Type.Object({
  ...record,
  token: Type.String({ description: 'shown once', example: 'sop_EXAMPLEexampleEXAMPLEexampleEXAMPLE01', ...secret }),
})
export type CreatedToken = Static<typeof createdToken>

export const tokens = group('tokens', {
  list: get('/api/v1/open-platform/applications/:appId/tokens', {
    summary: 'List the tokens of an application',
    ...byAccount,
    query: input(pageQuery),
    output: page(token),
    failures: ['APPLICATION_NOT_FOUND'],
  }),

  create: post('/api/v1/open-platform/applications/:appId/tokens', {
    summary: 'Create an application token; its full value is shown once',
    ...byAccount,
    body: input({
      name: text(1, 100, 'till'),
      scopes: Type.Array(oneOf(scopes), {
        minItems: 1,
        maxItems: scopes.length,
        ...withoutDuplicates,
        example: tillScopes,
      }),
      expires_in_days: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 365, example: 365 }))),
    }),
    status: 201,
    output: createdToken,
    evidence: { id: 'text', token: 'text' },
    failures: ['APPLICATION_NOT_FOUND', 'TOKEN_LIMIT_REACHED'],
  }),

  revoke: del('/api/v1/open-platform/applications/:appId/tokens/:tokenId', {
    summary: 'Revoke a token',
    accepts: ['active'],
    irreversible: {
      action: 'Revoking',
      loses: 'Every client that uses this token is refused from then on, permanently.',
    },
    ...byAccount,
    output: token,
    failures: ['APPLICATION_NOT_FOUND', 'TOKEN_NOT_FOUND'],
  }),
})
