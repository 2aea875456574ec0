import type { EndpointId } from '../../../contract/index.js'
import { HIDDEN } from '../../../contract/platform/captured.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { shellWord } from '../../../values/shell-word.js'
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
type Facts = Pick<ReferenceEndpoint, 'id' | 'method' | 'path' | 'status' | 'command'>

const textOf = (value: unknown) => String(value ?? '')

export const pathOf = ({ input }: PlannedCall, { path }: Facts): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(textOf(input[name])))

/** Members of the body; the credential of a voucher is hidden. */
export function bodyOf({ input, voucherId }: PlannedCall, { path }: Facts): Readonly<Record<string, unknown>> {
  const inPath = path.split('/')
  const members = Object.entries(input).filter(([name]) => !inPath.includes(`:${name}`))
  const credential = voucherId && { credential: { type: 'redeem_code', value: HIDDEN } }
  return { ...credential, ...Object.fromEntries(members) }
}

/** The call in the form of the request log, as CopyAs reads it. */
export const loggedCallOf = (endpoint: Facts): Call => ({ ...endpoint, endpoint: endpoint.id, code: null })

export function plannedRequestOf(planned: PlannedCall, endpoint: Facts): Sent {
  const body = bodyOf(planned, endpoint)
  const key = planned.idempotencyKey
  const sent = Object.keys(body).length > 0 ? body : undefined
  return requestOf(endpoint.method, pathOf(planned, endpoint), sent, key ? [['Idempotency-Key', key]] : [])
}

/** The same call as a command; undefined if no dedicated command makes it. */
export function commandLineOf(
  { input, idempotencyKey, voucherId }: PlannedCall,
  { command }: Facts,
): string | undefined {
  if (command === null) return undefined
  const words = command.replace(/( --\S+ )?:(\w+)/g, (_, flag = '', name: string) =>
    flag && input[name] === undefined ? '' : flag + shellWord(textOf(input[name])),
  )
  const key = idempotencyKey ? ` --idempotency-key ${shellWord(idempotencyKey)}` : ''
  return `${voucherId ? 'printf %s "$SECRET" | ' : ''}voucherctl ${words}${key}`
}
