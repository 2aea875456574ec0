import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../../contract/errors.js'

/** The path and query of a target, as routes and Idempotency-Keys see it. */
export function targetOf(url: string): string {
  return decodable(originForm(url))
}

/** An absolute target names the same resource as its path: to the routes, and to an Idempotency-Key. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** A malformed percent escape is a literal %, so that a malformed id is an unknown one. */
function decodable(url: string): string {
  if (!url.includes('%')) return url
  try {
    decodeURIComponent(url)
    return url
  } catch {
    return url.replaceAll('%', '%25')
  }
}

const NO_HOST = { pointer: 'Host', code: 'required', message: 'is required' }

/** HTTP/1.1 requires the header Host (RFC 9112, 3.2); Node itself would refuse with an empty body. */
export function refuseWithoutHost(request: IncomingMessage): Refusal<'VALIDATION_FAILED'> | undefined {
  if (request.httpVersionMinor === 0 || request.headers.host !== undefined) return undefined
  return refuse('VALIDATION_FAILED', { errors: [NO_HOST] })
}
