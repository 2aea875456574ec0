import type { DeliveryDetail } from '../../../contract/deliveries.js'

type Outcome = readonly [tone: 'good' | 'bad' | 'note' | 'plain', sentence: string]

/** What became of a delivery so far. */
export function outcomeOf({ delivery, verification }: Pick<DeliveryDetail, 'delivery' | 'verification'>): Outcome {
  const { status, last_status_code: code, last_error, cancel_reason } = delivery
  if (cancel_reason) return ['plain', `It was cancelled: ${cancel_reason.replaceAll('_', ' ')}.`]
  if (status === 'delivered') return ['good', `The app accepted it with ${code}.`]
  if (last_error) {
    const what = code === 401 || code === 403 ? `The app refused it with ${code}.` : last_error.message
    return ['bad', status === 'dead_letter' ? `${what} It is a dead letter: no attempt follows.` : what]
  }
  if (verification?.ok === false) return ['bad', 'A receiver refuses it.']
  return ['note', status === 'delivering' ? 'It is on its way.' : 'It waits for its first attempt.']
}
