import { type Call, createCall } from '../../../../client/call.js'
import { readRetryAfter } from '../../../../client/retry-after.js'
import { isTransportError, type Transport } from '../../../../client/transport.js'
import type { Context } from '../../../command/context.js'
import { showProductionBanner } from '../../../command/create-context.js'
import { openInMode, openPool, withRepeats } from '../../../command/transport.js'
import { refuseImpostor } from '../../../config/server-identity.js'
import type { Failure } from '../../../failure.js'

/** A 429, which is not a failure here: the row is retried later. */
export class TooManyCalls extends Error {
  override readonly name = 'TooManyCalls'
  readonly retryAfterMs: number | null
  constructor(retryAfterMs: number | null) {
    super('The server asks to wait')
    this.retryAfterMs = retryAfterMs
  }
}

interface OpenedCall {
  readonly ok: true
  /** @throws TooManyCalls */
  readonly call: Call
  close(): Promise<void>
}

/** Opens calls over pooled connections in the chosen mode; retries transient failures except a 429. */
export async function openCall(
  context: Context,
  baseUrl: string,
  token: string,
  connections: number,
): Promise<OpenedCall | Failure> {
  const impostor = await refuseImpostor(context.settings, baseUrl)
  if (impostor !== undefined) return impostor
  showProductionBanner(context, baseUrl)
  const pool = await openPool(context, baseUrl, connections)
  const sending = await openInMode(context, baseUrl, context.settings.secure.mode.value, pool.send)
  const repeating = withRepeats(context, raisingTooManyCalls(sending, context.host.now))
  return { ok: true, call: createCall(repeating, { token }), close: pool.close }
}

/** Lets a 429 bypass the retries, so that the throttle alone decides how long to wait. */
function raisingTooManyCalls(transport: Transport, now: () => number): Transport {
  return async (request) => {
    try {
      const response = await transport(request)
      if (response.status === 429) throw new TooManyCalls(readRetryAfter(response.headers, now))
      return response
    } catch (error) {
      if (!isTransportError(error) || error.secure?.status !== 429) throw error
      throw new TooManyCalls(readRetryAfter(error.secure.headers, now))
    }
  }
}
