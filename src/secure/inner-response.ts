import { asMembers, decodeUtf8, parseJson } from '../values/json.js'
import type { HttpResponse } from './http.js'

const passing = 'content-type retry-after x-request-id date idempotent-replayed ratelimit ratelimit-policy'.split(' ')

/**
 * Encodes the plaintext of a business response: status, the headers that a client may see, and body.
 * @param response `body` is JSON text, which is embedded unchanged, or empty
 */
export function encodeInnerResponse(response: HttpResponse): Uint8Array {
  return Buffer.from(writeInnerResponse(response))
}

/** Returns the plaintext of a business response as a string. */
export function writeInnerResponse({ status, headers, body }: HttpResponse): string {
  let shown = ''
  for (const name of passing) {
    const value = headers[name]
    if (value !== undefined) shown += `${shown === '' ? '' : ','}"${name}":${quoted(value)}`
  }
  return `{"status":${status},"headers":{${shown}},"body":${body === '' ? 'null' : body}}`
}

/** Returns a JSON string literal. JSON.stringify takes longer than the rest of this module; few values need escapes. */
function quoted(text: string): string {
  return /^[\w ;=/.-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}

/**
 * Parses a decrypted response. Drops unknown members and headers that are not strings; returns undefined without a
 * status from 200 to 599.
 */
export function readInnerResponse(plaintext: Uint8Array): HttpResponse | undefined {
  const text = decodeUtf8(plaintext)
  const value = asMembers(text === undefined ? undefined : parseJson(text))
  const status = value?.status
  if (value === undefined || typeof status !== 'number' || !Number.isInteger(status)) return undefined
  if (status < 200 || status > 599) return undefined
  const headers: Record<string, string> = {}
  for (const [name, item] of Object.entries(asMembers(value.headers) ?? {})) {
    if (typeof item === 'string') headers[name.toLowerCase()] = item
  }
  const { body = null } = value
  return { status, headers, body: body === null ? '' : JSON.stringify(body) }
}

/** True for a successful inner call: status 2xx, and `success` not false (rules/encryption.md#inner-responses). */
export function isBusinessSuccess({ status, body }: HttpResponse): boolean {
  return status >= 200 && status <= 299 && asMembers(parseJson(body))?.success !== false
}
