import type { DeliveryDetail } from '../../../contract/platform/deliveries.js'

type Outcome = readonly [tone: 'good' | 'bad' | 'note', sentence: string]

/** Outcome of a delivery so far. */
export function outcomeOf({ delivery, verification }: Pick<DeliveryDetail, 'delivery' | 'verification'>): Outcome {
  const { status, last_status_code: code, last_error, cancel_reason, attempts } = delivery
  if (status === 'delivered') return ['good', `The app accepted it with ${code}.`]
  if (cancel_reason) return ['note', `It was cancelled: ${cancel_reason.replace('_', ' ')}.`]
  // A listener does not forward a delivery that it refuses.
  if (verification?.ok === false && !attempts.length) {
    return ['bad', `It was refused: ${verification.reason?.replaceAll('_', ' ')}.`]
  }
  if (code === 401 || code === 403) return ['bad', `The app refused it with ${code}.`]
  if (last_error) return ['bad', last_error.message]
  return ['note', 'It is not sent yet.']
}
