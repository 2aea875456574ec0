import { type Call, createCall } from '../../client/call.js'
import { readRetryAfter } from '../../client/retry.js'
import { isTransportError, type Transport } from '../../client/transport.js'
import type { Context } from '../command/context.js'
import { showProductionBanner } from '../command/create-context.js'
import { openInMode, openPool, withRetries } from '../command/transport.js'
import { refuseImpostor } from '../config/local-server.js'
import type { Failure } from '../failures/failure.js'

/** Thrown for a 429 response. The row has not failed and is tried again later. */
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
  /** Makes a call. @throws TooManyCalls for a 429 response */
  readonly call: Call
  close(): Promise<void>
}

/** Opens pooled connections in the encryption mode of the settings. Calls retry transient failures except a 429. */
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
  const retrying = withRetries(context, raisingTooManyCalls(sending, context.host.now))
  return { ok: true, call: createCall(retrying, { token }), close: pool.close }
}

/** Throws for a 429, which bypasses the retries, so that only the throttle decides how long to wait. */
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
