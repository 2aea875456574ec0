import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { codeOf } from '../../../../files/error-code.js'
import { emptyResponse, startListener } from '../../../../workbench/listener.js'
import { type ScriptedResponse, scriptedResponses } from '../../../../workbench/responses.js'
import type { Ok } from '../../../command/context.js'
import { type Failure, fail } from '../../../failure.js'

/** A delivery whose signature was checked, and that no step has taken yet. */
export interface Arrived {
  readonly type: string | null
  readonly body: unknown
}

/** The webhook endpoint of a scenario, on this machine. */
export interface ScenarioInbox {
  readonly port: number
  readonly url: string
  readonly secret: string
  /** Deliveries that no step has taken, in the order of their arrival. */
  readonly waiting: Arrived[]
  /** Over when another arrives, or with the signal. */
  arrival(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** @param port 0 takes any free one */
export async function openInbox(
  answers: readonly [ScriptedResponse, ...ScriptedResponse[]],
  port: number,
): Promise<Ok<ScenarioInbox> | Failure> {
  const secret = randomBytes(32).toString('base64url')
  const waiting: Arrived[] = []
  const events = new EventEmitter()
  const next = scriptedResponses(answers)
  try {
    const listener = await startListener({
      port,
      secrets: [secret],
      // Nothing is kept beyond the scenario.
      inbox: { recordDelivery: async () => '', recordResponse: async () => {} },
      async app() {
        const answer = next()
        return emptyResponse(answer === 'timeout' ? null : answer)
      },
      onRequest({ verdict, update }) {
        if (verdict !== 'ok' || update === null) return
        waiting.push({ type: update.type, body: update.body })
        events.emit('arrival')
      },
      now: Date.now,
    })
    return {
      ok: true,
      value: {
        port: listener.port,
        url: `${listener.url}/`,
        secret,
        waiting,
        async arrival(signal) {
          await once(events, 'arrival', { signal }).catch((error: unknown) => {
            if (!signal.aborted) throw error
          })
        },
        close: () => listener.close(),
      },
    }
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error
    return fail(code, `The receiver of webhooks cannot listen on port ${port}.`, 'Choose another with --webhook-port.')
  }
}
