import { deliveryError, statusError } from '../../src/server/delivery/errors.js'
import type { AttemptResult, Delivery, Sender } from '../../src/server/delivery/sender.js'
import type { Scheduler } from './scheduler.js'

const TIMEOUT_MS = 15_000

export interface ReceiverBehaviour {
  /** Virtual ms until the receiver responds. */
  latency(): number
  /** Status of the response; null for no response. */
  status(): number | null
}

/** Creates the sender of one process, whose deliveries reach simulated receivers. */
export function simulatedSender(
  scheduler: Scheduler,
  receivers: ReceiverBehaviour,
  onSend: (delivery: Delivery) => (result: AttemptResult) => void,
  onLateSend: (delivery: Delivery) => void,
): Sender {
  const running = new Set<() => void>()
  let closed = false

  async function send(delivery: Delivery): Promise<AttemptResult> {
    if (closed) {
      onLateSend(delivery)
      throw new Error('the sender is closed')
    }
    const onEnd = onSend(delivery)
    const startedAt = scheduler.now
    const status = receivers.status()
    let isAborted = false
    await new Promise<void>((resolve) => {
      const abort = () => {
        isAborted = true
        resolve()
      }
      running.add(abort)
      void scheduler.sleep(status === null ? TIMEOUT_MS : Math.min(receivers.latency(), TIMEOUT_MS)).then(() => {
        running.delete(abort)
        resolve()
      })
    })
    const ended = { durationMs: scheduler.now - startedAt, ipAddress: '93.184.215.14', response: null }
    const result: AttemptResult = isAborted
      ? { ...ended, statusCode: null, error: deliveryError('aborted') }
      : status === null
        ? { ...ended, statusCode: null, error: deliveryError('response_timeout') }
        : { ...ended, statusCode: status, error: statusError(status) }
    onEnd(result)
    return result
  }

  return {
    send,
    async close(graceMs = 0) {
      closed = true
      if (running.size > 0) await scheduler.sleep(graceMs)
      for (const abort of running) abort()
    },
  }
}
