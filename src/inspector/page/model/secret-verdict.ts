import type { DeliveryDetail } from '../../../contract/platform/deliveries.js'
import type { SecretVerdict } from './signature-check.js'

type Verdict = readonly [tone: 'good' | 'bad', text: string]

/** Says in words whether a pasted secret made the signature of a delivery. */
export function verdictOf(
  found: SecretVerdict,
  { signature, delivery }: Pick<DeliveryDetail, 'signature' | 'delivery'>,
): Verdict {
  if (!found) return ['bad', 'This secret gives another signature: the app uses a different secret.']
  const secret = signature?.secrets[found.index]
  if (!secret) return ['bad', 'This secret made the signature that was sent, but it is not in use here.']
  const which = `the ${secret.which} secret`
  if (found.difference)
    return ['bad', `This is ${which} but for its ${found.difference}: use it exactly as it was set.`]
  if (!secret.sent) return ['bad', `This is ${which}, and the last attempt was signed with another one.`]
  const doubt = delivery.status === 'delivered' ? '' : ' If the app refuses the signature, it signs other bytes.'
  return ['good', `It matches: this is ${which}.${doubt}`]
}
