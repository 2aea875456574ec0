import type { Exchange } from './exchange.js'

/**
 * Returns every received value of a header: Node drops all Authorization headers but the first and joins repeats of
 * others. Reads rawHeaders, which decrypted requests have too.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: Pick<Exchange, 'rawHeaders'>, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] as string)
  }
  return values
}

/** False for a body with a content encoding or a charset other than UTF-8; true without a body. */
export function isPlainUtf8({ inner, method, headers }: Exchange): boolean {
  const empty =
    inner === null
      ? headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
      : inner.body === undefined
  if (empty || method === 'GET' || method === 'HEAD') return true
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  return charset === undefined || charset.toLowerCase() === 'utf-8'
}
