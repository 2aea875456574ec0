import type { Call } from '../../../../client/call.js'
import { createCall } from '../../../../client/call.js'
import type { Context } from '../../../command/context.js'
import { showProductionBanner } from '../../../command/create-context.js'
import { openInMode, openPool, withRepeats } from '../../../command/transport.js'
import { refuseImpostor } from '../../../config/server-identity.js'
import type { Failure } from '../../../failure.js'
import { raisingTooManyCalls } from './too-many-calls.js'

interface OpenedCall {
  readonly ok: true
  readonly call: Call
  close(): Promise<void>
}

/** Calls of the chosen server over kept connections, in the chosen mode, repeated as any call is, save after a 429. */
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
