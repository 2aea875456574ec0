import { parseJson } from '../../values/json.js'
import type { HttpRequest } from '../http.js'
import { type InnerRefusal, invalid, isLogicalPath, isMethod, readInnerHeaders } from '../inner-request.js'

/**
 * Encodes the plaintext of a business request. Applies the rules of the server (DECISIONS.md#inner-requests), so
 * that a request that it would refuse fails before it is sent. Embeds the JSON text of the body unchanged.
 */
export function encodeInnerRequest(
  request: HttpRequest,
): { readonly ok: true; readonly plaintext: Uint8Array } | InnerRefusal {
  const { method, body = '' } = request
  const mark = request.path.indexOf('?')
  const path = mark === -1 ? request.path : request.path.slice(0, mark)
  const headers = readInnerHeaders(request.headers)
  if (!isMethod(method)) return invalid('method')
  if (!isLogicalPath(path)) return invalid('path')
  if (headers === undefined) return invalid('headers')
  if (body !== '' && (method === 'GET' || parseJson(body) === undefined)) return invalid('body')
  const query = queryOf(mark === -1 ? '' : request.path.slice(mark + 1))
  const start = JSON.stringify({ method, path, query, headers })
  return { ok: true, plaintext: Buffer.from(`${start.slice(0, -1)},"body":${body === '' ? 'null' : body}}`) }
}

/** Parses a query string to members; a repeated name becomes an array. */
function queryOf(text: string): Record<string, string | string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) values.set(name, [...(values.get(name) ?? []), value])
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? (all[0] as string) : all]))
}
