import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../../contract/errors.js'

/** Path and query of a request target, by which routes and request fingerprints are computed. */
export function targetOf(url: string): string {
  return decodable(originForm(url))
}

/** Reduces an absolute target to its path, which names the same resource. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** Treats % as literal if an escape is malformed, so that a malformed id counts as unknown. */
function decodable(url: string): string {
  if (!url.includes('%')) return url
  try {
    // The result is used: a bundler may drop a call without one, as if it could not throw.
    return decodeURIComponent(url) === '' ? '' : url
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
