import { parseBaseUrl } from '../client/base-url.js'
import type { Secrets } from './secrets.js'
import type { WireRequest } from './wire.js'

/** The curl command that sends a request, with variables of a shell in place of secrets. */
export function curlOf(baseUrl: string, { method, path, headers, body }: WireRequest, secrets: Secrets): string {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const word = (text: string) => shellWord(secrets.hide(text))
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((it) => `${name}: ${it}`))
  return [
    `curl -sS -i${method === 'GET' ? '' : ` -X ${method}`}`,
    // By default curl removes dot segments from the path.
    ...(/\/\.{1,2}(?:[/?]|$)/.test(path) ? ['--path-as-is'] : []),
    word(`${origin}${prefix}${path}`),
    ...lines.map((it) => `-H ${word(it)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(body)}`]),
  ].join(' \\\n  ')
}

/** Quotes a text as one word of a shell, which expands only the variables in place of secrets. */
function shellWord(text: string): string {
  return text
    .split(/(\$\{[A-Z_0-9]+\})/)
    .filter((it) => it !== '')
    .map((it) => (/^\$\{[A-Z_0-9]+\}$/.test(it) ? `"${it}"` : `'${it.replaceAll("'", "'\\''")}'`))
    .join('')
}
