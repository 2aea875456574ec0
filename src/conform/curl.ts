import { parseBaseUrl } from '../client/base-url.js'
import { parseJson } from '../secure/json.js'
import type { Secrets, TextPart } from './secrets.js'
import { visible } from './visible.js'
import type { WireRequest } from './wire.js'

/** The curl command that sends a request, with variables of a shell in place of secrets. */
export function curlOf(baseUrl: string, { method, path, headers, body }: WireRequest, secrets: Secrets): string {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const word = (text: string) =>
    secrets
      .split(text)
      .flatMap((part) => withoutParts(part, secrets))
      .map(shellWord)
      .join('')
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((it) => `${name}: ${it}`))
  return [
    // Without -g, curl expands brackets and braces of a URL.
    `curl -sSgi${method === 'GET' ? '' : ` -X ${method}`}`,
    // By default curl removes dot segments from the path.
    ...(/\/\.{1,2}(?:[/?]|$)/.test(path) ? ['--path-as-is'] : []),
    word(`${origin}${prefix}${path}`),
    ...lines.map((it) => `-H ${word(it)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(parseJson(body) === undefined ? body : visible(body))}`]),
  ].join(' \\\n  ')
}

/** A string of JSON, or a space between words. */
const BORDER = /("(?:[^"\\]|\\.)*"|\s+)/

/** Puts a name in place of words and JSON strings that have a part of a secret, such as a code in lower case. */
function withoutParts(part: TextPart, secrets: Secrets): readonly TextPart[] {
  if (part.isName || !secrets.hasPart(part.text)) return [part]
  return part.text.split(BORDER).flatMap((text) => {
    if (!secrets.hasPart(text)) return [{ text, isName: false }]
    const quote = { text: text.startsWith('"') ? '"' : '', isName: false }
    return [quote, { text: 'CHANGED_SECRET', isName: true }, quote].filter((it) => it.text !== '')
  })
}

/** Quotes a part of a word of a shell, which expands only the variables in place of secrets. */
const shellWord = ({ text, isName }: TextPart): string =>
  isName ? `"\${${text}}"` : `'${text.replaceAll("'", "'\\''")}'`
