import type { DeliveryDetail } from '../../../contract/deliveries.js'
import type { SecretVerdict } from './signature-check.js'

type Verdict = readonly [tone: 'good' | 'bad' | 'warn', text: string]

/** What a pasted secret says about a delivery, in words. */
export function verdictOf(
  found: SecretVerdict,
  { signature, delivery }: Pick<DeliveryDetail, 'signature' | 'delivery'>,
): Verdict {
  const secret = found && signature?.secrets[found.index]
  if (!secret) return ['bad', 'This secret gives another signature: the app uses a different secret.']
  if (found.mistake) {
    return ['bad', `The app uses the ${secret.which} secret ${found.mistake}. Use it as it was set at the platform.`]
  }
  if (!secret.sent) {
    return [
      'warn',
      `This is the ${secret.which} secret, but the last attempt was signed with another one: replay it signed again.`,
    ]
  }
  const text = `This secret matches: it is the ${secret.which} one.`
  if (delivery.status === 'delivered') return ['good', text]
  return ['good', `${text} If the app refuses the signature, it signs other bytes than these.`]
}
