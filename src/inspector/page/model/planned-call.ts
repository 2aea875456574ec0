import { requestParts } from '../../../contract/call-request.js'
import { dedicatedCommand } from '../../../contract/call-text.js'
import type { EndpointId } from '../../../contract/index.js'
import { HIDDEN } from '../../../contract/platform/captured.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { type Call, requestOf, type Sent } from './copy-as.js'

/** A call that an action of the page makes, in the form in which a program would make it. */
export interface PlannedCall {
  readonly endpoint: EndpointId
  /** Members of path and body by name. */
  readonly input: Readonly<Record<string, unknown>>
  readonly idempotencyKey?: string
  /** Whom the operator makes the call for, without their token; absent for a call of the operator API. */
  readonly as?: { readonly kind: 'application' | 'bot' | 'account'; readonly id: string }
  /** Voucher whose credential the server adds to the call: the page does not have the code. */
  readonly voucherId?: string
}

/** The call without the members whose fields are empty. */
export const filled = (planned: PlannedCall): PlannedCall => ({
  ...planned,
  input: Object.fromEntries(Object.entries(planned.input).filter(([, value]) => value !== '')),
})

/** What the page knows about the endpoint of a planned call. */
type Facts = Pick<ReferenceEndpoint, 'id' | 'method' | 'path' | 'status' | 'command' | 'members'>

/** Path and body; the credential of a voucher is hidden. Without its ids, the path has the names of its parameters. */
function partsOf({ input, voucherId }: PlannedCall, { method, path, members }: Facts) {
  const isInQuery = (name: string) => method === 'GET' || members.some((it) => it.in === 'query' && it.name === name)
  const credential = voucherId && { credential: { type: 'redeem_code', value: HIDDEN } }
  const needsBody = members.some((it) => it.in === 'body')
  const parts = requestParts({ path, isInQuery, needsBody }, { ...credential, ...input })
  return parts.ok ? parts : { path, body: undefined }
}

export const pathOf = (planned: PlannedCall, endpoint: Facts): string => partsOf(planned, endpoint).path

export const bodyOf = (planned: PlannedCall, endpoint: Facts) => partsOf(planned, endpoint).body

/** The call in the form of the request log, as CopyAs reads it. */
export const loggedCallOf = (endpoint: Facts): Call => ({ ...endpoint, endpoint: endpoint.id, code: null })

/** The request without secrets, which become variables of a copied command. */
export function plannedRequestOf(planned: PlannedCall, endpoint: Facts): Sent {
  const secrets = endpoint.members.filter((it) => it.secret && it.name in planned.input)
  const hidden = Object.fromEntries(secrets.map(({ name }) => [name, HIDDEN]))
  const { path, body } = partsOf({ ...planned, input: { ...planned.input, ...hidden } }, endpoint)
  return requestOf(endpoint.method, path, body, planned.idempotencyKey)
}

/** The same call as a command; undefined if no dedicated command sends all of its members. */
export function commandLineOf(
  { input, idempotencyKey, voucherId }: PlannedCall,
  { command }: Facts,
): string | undefined {
  const others = Object.keys(input).filter((name) => name !== 'credential')
  if (!command || !others.every((name) => command.includes(`:${name}`))) return undefined
  const secret = voucherId || input.credential ? 'printf %s "$SECRET" | ' : ''
  return secret + dedicatedCommand(command, input, idempotencyKey)
}
