import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'

/**
 * Every value of a header as it came: Node takes the first Authorization and joins repeats of other headers.
 * Read from rawHeaders, the one list that an injected request has too.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] as string)
  }
  return values
}

/** JSON is UTF-8, and nothing here inflates bodies; what has no body is not looked at. */
export function isPlainUtf8({ inner, method, headers }: FastifyRequest): boolean {
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
