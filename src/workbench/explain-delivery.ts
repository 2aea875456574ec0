import { explainMismatch } from '../webhook/explain.js'
import { verifyWebhook, type WebhookRefusalReason, type WebhookSecret } from '../webhook/signature.js'
import { pairsOf } from './header-pairs.js'

/** Explanation of a signature that matches no known mistake. */
export const NO_KNOWN_MISTAKE =
  'The signature matches no known mistake: the secret differs, or the body was changed in another way.'

interface DeliveryExplanation {
  /** True if a receiver with these secrets accepts the delivery. */
  readonly ok: boolean
  readonly reason: WebhookRefusalReason | 'no_secret' | null
  readonly explanation: string
  readonly fix: string | null
}

/**
 * Verifies a delivery and explains the result in the words of `webhook verify --explain`.
 * @param at time of the receiver in milliseconds since 1970
 */
export function explainDelivery(
  headers: readonly string[],
  rawBody: Buffer,
  secrets: readonly WebhookSecret[],
  at: number,
): DeliveryExplanation {
  if (secrets.length === 0) {
    const explanation = 'This listener was started without a secret, so it verifies no delivery.'
    return { ok: false, reason: 'no_secret', explanation, fix: 'Start it with --secret-file.' }
  }
  const input = { headers: pairsOf(headers), rawBody, secrets, now: at }
  const verdict = verifyWebhook(input)
  const found = explainMismatch(input)
  const fix = found?.fix ?? null
  if (verdict.ok) {
    const explanation = found?.explanation ?? 'The signature, the timestamp and the update id are right.'
    return { ok: true, reason: null, explanation, fix }
  }
  return { ok: false, reason: verdict.reason, explanation: found?.explanation ?? NO_KNOWN_MISTAKE, fix }
}
