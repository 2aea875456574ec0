import { curlCommand } from '../values/curl.js'
import { type ShellText, shellWord } from '../values/shell-word.js'
import type { CredentialKind } from './endpoint.js'
import { credentialVariables } from './secrets.js'

// How a call is written as a command, for the reference, the command line and the page.

/** Capitalises a header name, such as `idempotency-key`. */
const headerName = (name: string) => name.replace(/(?:^|-)[a-z]/g, (it) => it.toUpperCase())

interface CurlCall {
  readonly method: string
  readonly url: ShellText
  /** Headers without the credential. */
  readonly headers: readonly (readonly [name: string, value: ShellText])[]
  readonly body?: ShellText | undefined
  /** Path of a file with the body, in place of `body`. */
  readonly file?: string | undefined
  readonly caller: CredentialKind | 'none'
}

/**
 * Formats a call as curl, with the credential from the environment.
 * @param flags more flags, such as `i`
 * @param unless end of the reference to the credential, such as `:?`, with which the shell requires the variable
 */
export function curlOf({ headers, caller, ...request }: CurlCall, flags = '', unless = ''): string {
  const credential: ShellText[] =
    caller === 'none' ? [] : [['Authorization: Bearer ', { variable: credentialVariables[caller] + unless }]]
  const others = headers.map(([name, value]) => [`${headerName(name)}: `, value].flat())
  return curlCommand(flags, { ...request, headers: [...credential, ...others] })
}

const keyFlag = (key: ShellText | undefined) => (key === undefined ? '' : ` --idempotency-key ${shellWord(key)}`)

interface ApiCall {
  readonly method: string
  readonly path: ShellText
  readonly key?: ShellText | undefined
  readonly body?: ShellText | undefined
}

/** Formats the `voucherctl api` command of a call by method and path. */
export function apiCommand({ method, path, key, body }: ApiCall): string {
  const line = `voucherctl api ${shellWord(method)} ${shellWord(path)}${keyFlag(key)}`
  return body === undefined ? line : `printf %s ${shellWord(body)} |\n  ${line} --input -`
}

/**
 * Formats the dedicated command of a call.
 * @param template command of the contract, in which `:name` is a member of the input
 */
export function dedicatedCommand(
  template: string,
  input: Readonly<Record<string, unknown>>,
  key: string | undefined,
): string {
  const words = template.replace(/( --\S+ )?:(\w+)/g, (_, flag = '', name: string) =>
    flag && input[name] === undefined ? '' : flag + shellWord(String(input[name] ?? '')),
  )
  return `voucherctl ${words}${keyFlag(key)}`
}
