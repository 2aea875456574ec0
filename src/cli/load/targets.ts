import { type Call, createCall } from '../../client/call.js'
import type { Context } from '../command/context.js'
import { showProductionBanner } from '../command/create-context.js'
import { openInMode, openPool, withRetries } from '../command/transport.js'
import { refuseImpostor } from '../config/local-server.js'
import type { Failure } from '../failures/failure.js'

export interface Target {
  /** Makes a call once. */
  readonly call: Call
  /** Makes a call and retries transient failures; for vouchers that a run needs. */
  readonly callWithRetries: Call
  close(): Promise<void>
}

/** Opens pooled connections to each address, in the encryption mode of the settings. */
export async function openTargets(
  context: Context,
  addresses: readonly string[],
  connections: number,
): Promise<{ readonly ok: true; readonly targets: readonly Target[] } | Failure> {
  const tokens: string[] = []
  for (const address of addresses) {
    const credential = await context.credential('token', address)
    if (!credential.ok) return credential
    const impostor = await refuseImpostor(context.settings, address)
    if (impostor !== undefined) return impostor
    tokens.push(credential.value)
  }
  const targets: Target[] = []
  for (const [index, address] of addresses.entries()) {
    showProductionBanner(context, address)
    const pool = await openPool(context, address, connections)
    const sending = await openInMode(context, address, context.settings.secure.mode.value, pool.send)
    const settings = { token: tokens[index] as string }
    targets.push({
      call: createCall(sending, settings),
      callWithRetries: createCall(withRetries(context, sending), settings),
      close: pool.close,
    })
  }
  return { ok: true, targets }
}
