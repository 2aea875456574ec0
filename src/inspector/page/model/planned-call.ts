import { shellWord } from '../../../contract/values/shell-word.js'
import { type Call, requestOf, type Sent } from './copy-as.js'

/** A call that an action of the page makes, or that a program makes in its place. */
export interface PlannedCall {
  /** Contract id, such as `vouchers.redeem`. */
  readonly endpoint: string
  readonly method: string
  /** Path of the contract, with `:name` parameters. */
  readonly route: string
  readonly params: Readonly<Record<string, string>>
  readonly body?: object
  readonly idempotencyKey?: string
  /** Status of a success. */
  readonly status: number
  /** The same call with the command line; without a dedicated command, `voucherctl api` makes it. */
  readonly command?: string
  /** Application as which the operator makes a runtime call. */
  readonly applicationId?: string
  /** Voucher whose credential the server adds to the call. */
  readonly voucherId?: string
}

/** Path of the request, with parameters in place. */
export const pathOf = ({ route, params }: Pick<PlannedCall, 'route' | 'params'>): string =>
  route.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

/** The call in the form of the request log, as CopyAs reads it. */
export const loggedCallOf = ({ endpoint, method, route, status }: PlannedCall): Call => ({
  endpoint,
  method,
  path: route,
  status,
  code: null,
})

export const plannedRequestOf = (planned: PlannedCall): Sent =>
  requestOf(
    planned.method,
    pathOf(planned),
    planned.body,
    planned.idempotencyKey === undefined ? [] : [['Idempotency-Key', planned.idempotencyKey]],
  )

/** Joins a command with its flags; omits flags without a value. */
export function commandLine(words: string, flags: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(flags).filter(([, value]) => value)
  return [`voucherctl ${words}`, ...given.map(([name, value]) => `--${name} ${shellWord(value ?? '')}`)].join(' ')
}
