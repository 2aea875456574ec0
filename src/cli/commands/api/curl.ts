import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import type { PreparedCall } from '../../../client/settings.js'
import { curlOf as curlText } from '../../../contract/call-text.js'
import { type CredentialKind, membersOf } from '../../../contract/endpoint.js'
import { isSecret } from '../../../contract/fields.js'
import type { Schema } from '../../../contract/schema.js'
import { kindOf, redactCode, SecretNames } from '../../../contract/secrets.js'
import type { ShellText } from '../../../values/shell-word.js'
import type { Host } from '../../host/host.js'
import { credentialNames, credentialVariables } from '../../host/secrets.js'

/** A shell variable that holds a secret, and a description of its value. */
interface Variable {
  readonly name: string
  readonly holds: string
}

interface CurlOptions {
  readonly kind: CredentialKind | 'none'
  /** Schema of the body, if known. */
  readonly schema: Schema | undefined
  /** Path of the body file; if it is undefined or `-`, the command contains the body. */
  readonly bodyFile: string | undefined
  readonly include: boolean
  readonly env: Host['env']
  readonly cwd: string
  /** Variable that names the proxy for this server, if any. */
  readonly proxyVariable: string | undefined
}

const proxyVariables = ['http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']

/**
 * Formats the call of `api` as a curl command through the same proxy as voucherctl, with shell variables that the user
 * must set in place of secrets.
 */
export function curlOf(
  baseUrl: string,
  { request }: Pick<PreparedCall, 'request'>,
  { kind, schema, bodyFile, include, env, cwd, proxyVariable }: CurlOptions,
): { readonly command: string; readonly variables: readonly Variable[] } {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const { method, path, body } = request
  const headers = Object.entries(request.headers).filter(([name]) => name !== 'authorization')
  const isFile = bodyFile !== undefined && bodyFile !== '-'
  const variables = new Map<string, string>()
  if (kind !== 'none') variables.set(credentialVariables[kind], `the ${credentialNames[kind]}`)
  const direct = proxyVariables.some((name) => env[name]) ? " --noproxy '*'" : ''
  // Through the variable, because the URL of a proxy may hold a password.
  const proxy = proxyVariable === undefined ? direct : ` --proxy "\${${proxyVariable}:?}"`
  const sent =
    body === undefined
      ? {}
      : isFile
        ? { file: resolve(cwd, bodyFile) }
        : { body: withVariables(body, schema, variables) }
  const call = { method, url: `${origin}${prefix}${path}`, headers, caller: kind, ...sent }
  const command = curlText(call, `${include ? 'i' : ''}${proxy}`, REQUIRED)
  return { command, variables: Array.from(variables, ([name, holds]) => ({ name, holds })) }
}

/** Ends the name of a variable without which the shell does not run the command. */
const REQUIRED = ':?'

/**
 * Replaces the voucher codes, tokens, webhook secrets and webhook URLs of a body with shell variables (see
 * rules/cli.md#hidden-values), and adds their values to `variables`.
 */
function withVariables(body: string, schema: Schema | undefined, variables: Map<string, string>): ShellText {
  const names = new SecretNames()
  const collect = (value: unknown, name = '', parent = ''): void => {
    if (Array.isArray(value)) for (const it of value) collect(it, name, parent)
    else if (typeof value === 'object' && value !== null)
      for (const [member, it] of Object.entries(value)) collect(it, member, name)
    const found = typeof value === 'string' ? variableOf(value, name, parent, schema) : undefined
    if (found === undefined) return
    const written = JSON.stringify(value)
    const escaped = written === `"${value}"` ? '' : ', escaped as in JSON'
    const variable = names.add(found.name, written)
    if (!variables.has(variable)) variables.set(variable, `${found.holds}${escaped}`)
  }
  const json: unknown = JSON.parse(body)
  collect(json)
  const parts = names.split(JSON.stringify(json))
  if (parts.length === 1) return body
  // The quotes of a JSON string stay outside the variable.
  const last = parts.length - 1
  return parts.map((part, at) =>
    typeof part === 'string'
      ? `${at === 0 ? '' : '"'}${part}${at === last ? '' : '"'}`
      : { variable: part.variable + REQUIRED },
  )
}

function variableOf(value: string, name: string, parent: string, schema: Schema | undefined): Variable | undefined {
  if (parent === 'credential' && name === 'value') return { name: 'CODE', holds: `the code ${redactCode(value)}` }
  if (name === 'secret_token') return { name: 'VOUCHERCTL_WEBHOOK_SECRET', holds: 'the secret of the webhook' }
  // The full URL of a webhook is enough to post to it.
  if (name === 'url' && isSecret(membersOf(schema).url)) return { name: 'WEBHOOK_URL', holds: 'the URL of the webhook' }
  const kind = kindOf(value)
  return kind === undefined ? undefined : { name: credentialVariables[kind], holds: `the ${credentialNames[kind]}` }
}
