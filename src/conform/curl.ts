import { parseBaseUrl } from '../client/base-url.js'
import { curlCommand } from '../values/curl.js'
import { parseJson } from '../values/json.js'
import type { ShellPart } from '../values/shell-word.js'
import type { Secrets } from './secrets.js'
import type { WireRequest } from './wire.js'

/** Formats a request as a curl command, with shell variables in place of secrets. */
export function curlOf(baseUrl: string, { method, path, headers, body }: WireRequest, secrets: Secrets): string {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const hide = (text: string) => secrets.split(text).flatMap((part) => withoutParts(part, secrets))
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((it) => `${name}: ${it}`))
  const shown = body !== undefined && parseJson(body) !== undefined ? escapeInvisible(body) : body
  return curlCommand('i', {
    method,
    url: hide(`${origin}${prefix}${path}`),
    headers: lines.map(hide),
    body: shown === undefined ? undefined : hide(shown),
  })
}

const BORDER = /("(?:[^"\\]|\\.)*"|\s+)/

/** Replaces words and JSON strings that contain part of a secret, such as a code in lower case, with a name. */
function withoutParts(part: ShellPart, secrets: Secrets): readonly ShellPart[] {
  if (typeof part !== 'string' || !secrets.hasPart(part)) return [part]
  return part.split(BORDER).flatMap((text) => {
    const quote = text.startsWith('"') ? '"' : ''
    return secrets.hasPart(text) ? [quote, { variable: 'CHANGED_SECRET' }, quote] : [text]
  })
}

/** Escapes characters in a JSON text that a terminal combines or hides. The parsed value stays the same. */
export const escapeInvisible = (json: string): string =>
  json.replaceAll(/[\p{M}\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/gu, (text) =>
    Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
