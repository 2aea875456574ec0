import { parseBaseUrl } from '../client/base-url.js'
import type { Secrets, TextPart } from './secrets.js'
import type { WireRequest } from './wire.js'

/** The curl command that sends a request, with variables of a shell in place of secrets. */
export function curlOf(baseUrl: string, { method, path, headers, body }: WireRequest, secrets: Secrets): string {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const word = (text: string) => secrets.split(text).map(shellWord).join('')
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((it) => `${name}: ${it}`))
  return [
    // Without -g, curl expands brackets and braces of a URL.
    `curl -sSgi${method === 'GET' ? '' : ` -X ${method}`}`,
    // By default curl removes dot segments from the path.
    ...(/\/\.{1,2}(?:[/?]|$)/.test(path) ? ['--path-as-is'] : []),
    word(`${origin}${prefix}${path}`),
    ...lines.map((it) => `-H ${word(it)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(body)}`]),
  ].join(' \\\n  ')
}

/** Quotes a part of a word of a shell, which expands only the variables in place of secrets. */
const shellWord = ({ text, isName }: TextPart): string =>
  isName ? `"\${${text}}"` : `'${text.replaceAll("'", "'\\''")}'`
