import { readRetryAfter } from '../../../../client/retry-after.js'
import type { Transport } from '../../../../client/transport.js'
import { isTransportError } from '../../../../client/transport.js'
import { codeOf } from '../../../../files/error-code.js'

/** A 429, which is no failure here: the row waits and is asked for again. */
class TooManyCalls extends Error {
  override readonly name = 'TooManyCalls'
  readonly code = 'TOO_MANY_CALLS'
  readonly retryAfterMs: number | null
  constructor(retryAfterMs: number | null) {
    super('The server asks to wait')
    this.retryAfterMs = retryAfterMs
  }
}

export const isTooManyCalls = (error: unknown): error is TooManyCalls => codeOf(error) === 'TOO_MANY_CALLS'

/**
 * Lets a 429 through all repeats at once, so that one place decides how long everybody waits.
 * @throws TooManyCalls
 */
export function raisingTooManyCalls(transport: Transport, now: () => number): Transport {
  const raise = (headers: Readonly<Record<string, string>>) => {
    throw new TooManyCalls(readRetryAfter(headers, now))
  }
  return async (request) => {
    try {
      const response = await transport(request)
      if (response.status === 429) raise(response.headers)
      return response
    } catch (error) {
      if (isTransportError(error) && error.secure?.status === 429) raise(error.secure.headers)
      throw error
    }
  }
}
