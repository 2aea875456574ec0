import type { DeliveryDetail } from '../../../contract/platform/deliveries.js'
import { faultOfHeaders } from '../../../contract/platform/fault-kinds.js'

type Outcome = readonly [tone: 'good' | 'bad' | 'note', sentence: string]

/** Planted fault of the last attempt. A delivery that a listener refused has no attempts; its header names the fault. */
export const faultOf = ({ delivery: { attempts }, request }: Pick<DeliveryDetail, 'delivery' | 'request'>) =>
  attempts.length === 0 ? faultOfHeaders(request?.headers ?? []).fault : attempts.at(-1)?.fault

/** Outcome of a delivery so far. */
export function outcomeOf(detail: Pick<DeliveryDetail, 'delivery' | 'verification' | 'request'>): Outcome {
  const { delivery, verification } = detail
  const { status, last_status_code: code, last_error, cancel_reason, attempts } = delivery
  const isWrong = ['forged', 'stale'].includes(faultOf(detail) ?? '')
  const refused = isWrong ? 'good' : 'bad'
  const cause = isWrong ? ' A planted fault made its signature wrong or old.' : ''
  if (status === 'delivered') return [isWrong ? 'bad' : 'good', `The app accepted it with ${code}.${cause}`]
  if (cancel_reason) return ['note', `It was cancelled: ${cancel_reason.replace('_', ' ')}.`]
  // A listener does not forward a delivery that it refuses.
  if (verification?.ok === false && !attempts.length) {
    return [refused, `It was refused: ${verification.reason?.replaceAll('_', ' ')}.${cause}`]
  }
  if (code === 401 || code === 403) return [refused, `The app refused it with ${code}.${cause}`]
  if (last_error) return [last_error.code === 'planted_fault' ? 'note' : 'bad', last_error.message]
  return ['note', 'It is not sent yet.']
}
