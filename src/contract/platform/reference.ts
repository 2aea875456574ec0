import { get, group } from '../endpoint.js'
import { nullable, oneOf } from '../fields.js'
import { type Static, Type } from '../schema.js'

// The interface as data for people, such as the page shows it.

const described = {
  name: Type.String({ description: 'members of objects after a dot, of listed objects after []' }),
  type: Type.String(),
  required: Type.Boolean(),
  description: Type.String({ description: 'empty if name and type say it all' }),
}
const outputMember = Type.Object(described)
const member = Type.Object({
  in: oneOf(['path', 'query', 'body']),
  ...described,
  values: Type.Optional(Type.Array(Type.String(), { description: 'if only these are allowed' })),
  secret: Type.Optional(Type.Boolean({ description: 'true for a value that nothing shows again' })),
  example: Type.Optional(Type.Unsafe<unknown>({ description: 'value in the example of the call' })),
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
  terminal_only: nullable(Type.String({ description: 'why the page cannot make the call' }), null),
  irreversible: nullable(
    Type.Object({ action: Type.String({ description: 'the record follows' }), loses: Type.String() }),
    { action: 'Revoking token', loses: 'Every client that uses this token is refused from then on, permanently.' },
  ),
  members: Type.Array(member),
  output: Type.Array(outputMember, { description: 'members of `data` in a success' }),
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
