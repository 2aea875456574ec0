import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { codeOf } from '../../files/error-code.js'
import { emptyResponse, startListener } from '../../workbench/listener.js'
import { type ScriptedResponse, scriptedResponses } from '../../workbench/responses.js'
import type { Ok } from '../command/context.js'
import { type Failure, fail } from '../failures/failure.js'

/** A verified webhook delivery that no step of the scenario has consumed. */
export interface ScenarioDelivery {
  readonly type: string | null
  readonly body: unknown
}

/** Webhook receiver of a scenario on this machine. */
export interface ScenarioInbox {
  readonly port: number
  readonly url: string
  readonly secret: string
  /** Deliveries that no step has consumed, oldest first. */
  readonly waiting: ScenarioDelivery[]
  /** Resolves when the next delivery arrives or the signal aborts. */
  arrival(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Starts the webhook receiver of a scenario. @param port 0 chooses any free port */
export async function openInbox(
  responses: readonly [ScriptedResponse, ...ScriptedResponse[]],
  port: number,
): Promise<Ok<ScenarioInbox> | Failure> {
  const secret = randomBytes(32).toString('base64url')
  const waiting: ScenarioDelivery[] = []
  const events = new EventEmitter()
  const next = scriptedResponses(responses)
  try {
    const listener = await startListener({
      port,
      secrets: [secret],
      // Record nothing: the deliveries are needed only while the scenario runs.
      inbox: { recordDelivery: async () => '', recordResponse: async () => {} },
      async app() {
        const status = next()
        return emptyResponse(status === 'timeout' ? null : status)
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
