import { get, group } from '../endpoint.js'
import { nullable, oneOf } from '../fields.js'
import { type Static, Type } from '../schema.js'

// The interface as data for people, such as the page shows it.

const member = Type.Object({
  in: oneOf(['path', 'query', 'body']),
  name: Type.String({ description: 'members of objects after a dot, of listed objects after []' }),
  type: Type.String(),
  required: Type.Boolean(),
  description: Type.String({ description: 'empty if name and type say it all' }),
})
export type ReferenceMember = Static<typeof member>

const endpoint = Type.Object({
  id: Type.String(),
  method: Type.String(),
  path: Type.String(),
  summary: Type.String(),
  command: nullable(Type.String({ description: ':name is a member of the input, - a credential from stdin' })),
  caller: oneOf(['token', 'bot', 'jwt', 'operator']),
  scope: nullable(Type.String({ description: 'scope that the token needs' })),
  idempotency_key: nullable(oneOf(['required', 'optional'])),
  status: Type.Integer({ description: 'of a success' }),
  members: Type.Array(member),
  failures: Type.Array(Type.String(), {
    description: 'first the codes that only its work has, then the codes that other endpoints have too',
  }),
  example: Type.Object({ curl: Type.String(), client: Type.String(), response: Type.String() }),
})
export type ReferenceEndpoint = Static<typeof endpoint>

const failure = Type.Object(
  { code: Type.String(), status: Type.Integer(), message: Type.String(), fix: Type.String() },
  { example: { code: 'REDEMPTION_NOT_FOUND', status: 404, message: 'No such redemption.', fix: 'Use its id.' } },
)

const reference = Type.Object({
  groups: Type.Array(
    Type.Object({
      name: Type.String({ example: 'vouchers' }),
      description: Type.String({ example: 'Issue, verify, redeem and reverse' }),
      endpoints: Type.Array(endpoint),
    }),
    { description: 'the operator API last' },
  ),
  failures: Type.Array(failure, { description: 'the failure table' }),
})
export type Reference = Static<typeof reference>

export const platformReference = group('platform', {
  reference: get('/_platform/v1/reference', {
    summary: 'Describe each endpoint with its members, failures and examples',
    output: reference,
  }),
})
