import type { Failure } from '../../failure.js'
import { fail } from '../../failure.js'
import { untilAborted } from '../../host/until-aborted.js'

/** A delivery whose signature was checked. */
interface Received {
  readonly updateId: string
  readonly type: string
}

/** A webhook endpoint on this machine, for the length of the walkthrough. */
export interface Receiver {
  readonly port: number
  /** Deliveries are refused until a secret is known. */
  trust(secret: string): void
  /** The next delivery that passed. */
  next(signal: AbortSignal): Promise<{ ok: true; value: Received } | Failure>
  close(): Promise<void>
}

const WAIT_MS = 10_000
/** The quickstart shows deliveries once: nothing of them is kept. */
const NO_INBOX = { recordDelivery: async () => '0-0', recordResponse: async () => {} }

export async function startReceiver(): Promise<Receiver> {
  const { emptyResponse, startListener } = await import('../../../workbench/listener.js')
  const secrets: string[] = []
  const arrived: Received[] = []
  let wake: (() => void) | undefined
  const { port, close } = await startListener({
    port: 0,
    secrets,
    inbox: NO_INBOX,
    app: async () => emptyResponse(200),
    now: Date.now,
    onRequest({ verdict, update }) {
      if (verdict !== 'ok' || update === null) return
      arrived.push({ updateId: update.id, type: update.type ?? '' })
      wake?.()
    },
  })
  return {
    port,
    close,
    trust: (secret) => secrets.push(secret),
    async next(signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
      while (arrived.length === 0 && !limit.aborted) {
        await untilAborted(
          new Promise<void>((resolve) => {
            wake = resolve
          }),
          limit,
        )
      }
      const value = arrived.shift()
      if (value !== undefined) return { ok: true, value }
      return signal.aborted ? fail('ABORTED', 'Interrupted.') : fail('UNEXPECTED', 'No delivery arrived.')
    },
  }
}
