import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import type { PreparedCall } from '../../../client/prepare.js'
import type { CredentialKind } from '../../../contract/endpoint.js'
import type { Host } from '../../host/host.js'
import { credentialNames, credentialVariables, kindOf, redactCode } from '../../host/secrets.js'
import { shellWord } from '../../host/shell.js'

/** A shell variable that holds a secret, and a description of its value. */
interface Variable {
  readonly name: string
  readonly holds: string
}

/** A curl command that makes the call of `api`, with shell variables in place of secrets. */
interface CurlCommand {
  readonly command: string
  /** The variables that the user must set before running the command. */
  readonly variables: readonly Variable[]
}

interface CurlOptions {
  readonly kind: CredentialKind | 'none'
  readonly routeId: string | undefined
  /** Path of the body file; if it is undefined or `-`, the command contains the body. */
  readonly bodyFile: string | undefined
  readonly include: boolean
  readonly env: Host['env']
  readonly cwd: string
}

/** Proxy variables, which curl uses and voucherctl ignores. */
export const proxyVariables = ['http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']

export function curlOf(
  baseUrl: string,
  { request }: Pick<PreparedCall, 'request'>,
  { kind, routeId, bodyFile, include, env, cwd }: CurlOptions,
): CurlCommand {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const { method, path, body } = request
  const headers = Object.entries(request.headers).filter(([name]) => name !== 'authorization')
  const isFile = bodyFile !== undefined && bodyFile !== '-'
  const content = body === undefined || isFile ? undefined : writtenOut(body, routeId)
  const credential = kind === 'none' ? undefined : credentialVariables[kind]
  const words = [
    ['curl', '-sS', ...(include ? ['-i'] : []), ...(method === 'GET' ? [] : ['-X', method])],
    // By default curl would remove dot segments from the path and use a proxy.
    /\/\.{1,2}(?:[/?]|$)/.test(path) ? ['--path-as-is'] : [],
    proxyVariables.some((name) => env[name]) ? ['--noproxy', "'*'"] : [],
    [shellWord(`${origin}${prefix}${path}`)],
    credential === undefined ? [] : ['-H', `"Authorization: Bearer \${${credential}:?}"`],
    ...headers.map(([name, value]) => ['-H', shellWord(`${headerName(name)}: ${value}`)]),
    body === undefined
      ? []
      : content === undefined
        ? ['--data-binary', shellWord(`@${resolve(cwd, bodyFile ?? '')}`)]
        : ['--data-raw', content.word],
  ].filter((it) => it.length > 0)
  const needed =
    credential === undefined ? [] : [{ name: credential, holds: `the ${credentialNames[kind as CredentialKind]}` }]
  return {
    command: words.map((it) => it.join(' ')).join(' \\\n  '),
    variables: uniqueBy([...needed, ...(content?.variables ?? [])]),
  }
}

/** Capitalises a header name, such as `idempotency-key`. */
const headerName = (name: string) => name.replace(/(?:^|-)[a-z]/g, (it) => it.toUpperCase())

/** Quotes the body as one shell word, with variables in place of secrets. */
function writtenOut(body: string, routeId: string | undefined) {
  const marker = absentFrom(body)
  const { shown, variables } = hideSecrets(JSON.parse(body), marker, routeId)
  if (variables.length === 0) return { word: shellWord(body), variables }
  const word = JSON.stringify(shown)
    .split(marker)
    .map((part, i) => `${shellWord(part)}${i < variables.length ? `"\${${variables[i]?.name}:?}"` : ''}`)
    .join('')
  return { word, variables }
}

function absentFrom(text: string): string {
  let marker = '@'
  while (text.includes(marker)) marker += '@'
  return marker
}

const uniqueBy = (variables: readonly Variable[]) =>
  variables.filter((it, i) => variables.findIndex((other) => other.name === it.name) === i)

/**
 * Replaces voucher codes, tokens, webhook secrets and webhook URLs in a body with the marker (see
 * DECISIONS.md#hidden-values). Returns a variable for each marker, in the order of the markers.
 */
function hideSecrets(
  body: unknown,
  marker: string,
  routeId = '',
): { readonly shown: unknown; readonly variables: readonly Variable[] } {
  const variables: Variable[] = []
  const names = new Map<string, string>()
  const hide = (value: string, { name, holds }: Variable) => {
    const known = names.get(`${name} ${value}`)
    const used = new Set(names.values())
    let free = name
    for (let n = 2; used.has(free); n += 1) free = `${name}_${n}`
    names.set(`${name} ${value}`, known ?? free)
    const escaped = JSON.stringify(value) === `"${value}"` ? '' : ', escaped as in JSON'
    variables.push({ name: known ?? free, holds: `${holds}${escaped}` })
    return marker
  }
  const walk = (value: unknown, name: string, parent: string): unknown => {
    if (typeof value === 'string') {
      const variable = variableOf(value, name, parent, routeId)
      return variable === undefined ? value : hide(value, variable)
    }
    if (Array.isArray(value)) return value.map((it) => walk(it, name, parent))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([member, it]) => [member, walk(it, member, name)]))
  }
  return { shown: walk(body, '', ''), variables }
}

function variableOf(value: string, name: string, parent: string, routeId: string): Variable | undefined {
  if (parent === 'credential' && name === 'value') return { name: 'CODE', holds: `the code ${redactCode(value)}` }
  if (name === 'secret_token') return { name: 'VOUCHERCTL_WEBHOOK_SECRET', holds: 'the secret of the webhook' }
  // The full URL of a webhook is enough to post to it.
  if (name === 'url' && routeId.startsWith('webhook.')) return { name: 'WEBHOOK_URL', holds: 'the URL of the webhook' }
  const kind = kindOf(value)
  return kind === undefined ? undefined : { name: credentialVariables[kind], holds: `the ${credentialNames[kind]}` }
}
