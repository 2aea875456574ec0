import type { DeliveryDetail, DeliveryVerification } from '../../contract/platform/deliveries.js'
import type { FaultKind } from '../../contract/platform/fault-kinds.js'
import { formatInstant } from '../../domain/time.js'
import { updateSubject } from '../../domain/update.js'
import type { DeliveryWithUpdate } from '../../store/delivery/deliveries.js'
import { explainMismatch } from '../../webhook/explain.js'
import { hintsOf } from '../../webhook/refusal-hints.js'
import { signatureOf, verifyWebhook, webhookHeaders } from '../../webhook/signature.js'
import { attemptExchange, type MadeAttempt } from './attempt-log.js'
import { deliveryHeaders, type OpenWebhook, signingSecrets } from './signing.js'

/** Current time in ms: of the server's clock (`now`) and of the system (`trueNow`). */
interface Times {
  readonly now: number
  readonly trueNow: number
}

/** Request of the last attempt, or of the next one before any attempt. */
interface LastRequest {
  readonly of: NonNullable<DeliveryDetail['request']>['of']
  readonly headers: Readonly<Record<string, string>>
  /** The attempt, if this process has it in memory. */
  readonly made: MadeAttempt | undefined
}

/** Finds the headers of the last attempt, or computes them (rules/operator.md#replays-by-the-operator). */
export function lastRequest(
  { delivery }: Pick<DeliveryWithUpdate, 'delivery'>,
  body: Uint8Array,
  webhook: OpenWebhook,
  held: readonly MadeAttempt[],
  { now, trueNow }: Times,
): LastRequest {
  const { last_attempt_at: lastAt, update_id: updateId } = delivery
  const fault = delivery.attempts.findLast((it) => it.started_at === lastAt)?.fault as FaultKind | undefined
  const made = held.findLast((it) => (it.manual || it.attempt !== null) && formatInstant(it.startedAt) === lastAt)
  if (made !== undefined) return { of: 'last_attempt', headers: made.headers, made }
  const sentAt = lastAt === null ? trueNow : Math.min(trueNow, Date.parse(lastAt) - (now - trueNow))
  const headers = deliveryHeaders(body, updateId, signingSecrets(webhook, now), Math.floor(sentAt / 1000), fault)
  return { of: lastAt === null ? 'next_attempt' : 'recomputed', headers, made }
}

/** Delivery record with its signature, for the operator. It contains no secret. */
export function deliveryDetail(
  found: DeliveryWithUpdate,
  webhook: OpenWebhook | null,
  held: readonly MadeAttempt[],
  times: Times,
): DeliveryDetail {
  const { delivery, schedule, bot } = found
  const body = found.body === null ? null : Buffer.from(found.body)
  const request = body === null || webhook === null ? null : lastRequest(found, body, webhook, held, times)
  return {
    delivery,
    bot_name: bot.name,
    account_id: bot.account_id,
    url: webhook?.url ?? null,
    voucher_id: found.body === null ? null : updateSubject(found.body).voucherId,
    body: body?.toString('base64') ?? null,
    schedule: [...schedule],
    responses: held.map(attemptExchange),
    now: formatInstant(times.now),
    true_now: formatInstant(times.trueNow),
    ...(body === null || webhook === null || request === null
      ? { request: null, signature: null, verification: null, hints: [] }
      : dissect(delivery, body, webhook, request, times)),
  }
}

function dissect(
  delivery: DeliveryWithUpdate['delivery'],
  body: Buffer,
  webhook: OpenWebhook,
  { of, headers, made }: LastRequest,
  { now, trueNow }: Times,
): Pick<DeliveryDetail, 'request' | 'signature' | 'verification' | 'hints'> {
  const { secret, oldSecret, row } = webhook
  const timestamp = Number(headers[webhookHeaders.timestamp])
  const sent = headers[webhookHeaders.signature]?.split(',') ?? []
  const signedWith = (which: 'current' | 'previous', key: string, until: number | null) => {
    const signature = signatureOf(body, key, timestamp)
    return { which, signature, sent: sent.includes(signature), until: until === null ? null : formatInstant(until) }
  }
  const secrets = [signedWith('current', secret, null)]
  const previous = oldSecret === null ? null : signedWith('previous', oldSecret, row.old_secret_until)
  if (previous !== null && (previous.sent || (row.old_secret_until ?? 0) > now)) secrets.push(previous)
  const verification = verificationOf(headers, body, signingSecrets(webhook, now), made?.endedAt ?? timestamp * 1000)
  const refused = {
    headers,
    body,
    at: delivery.last_attempt_at === null ? now : Date.parse(delivery.last_attempt_at),
    status: delivery.last_status_code,
    response: made?.result.response ?? null,
    endedAt: made?.endedAt ?? null,
    verification,
    isEdited: false,
    aheadMs: now - trueNow,
  }
  return {
    request: { of, headers: Object.entries(headers) },
    signature: {
      timestamp,
      prefix: `${timestamp}.`,
      signed_bytes: `${timestamp}.`.length + body.byteLength,
      algorithm: 'HMAC-SHA256',
      secrets,
      webhook_set_at: formatInstant(row.set_at),
    },
    verification,
    hints: hintsOf(refused, row),
  }
}

/** Verifies a delivery as a receiver with these secrets does. @param sentAt system time in ms */
export function verificationOf(
  headers: Readonly<Record<string, string>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  sentAt: number,
): DeliveryVerification {
  const input = { headers, rawBody, secrets, now: sentAt }
  const verdict = verifyWebhook(input)
  const mismatch = explainMismatch(input)
  const message = verdict.ok ? 'The current secret made this signature over these bytes.' : verdict.message
  return {
    ok: verdict.ok,
    reason: verdict.ok ? null : verdict.reason,
    explanation: mismatch?.explanation ?? message,
    fix: mismatch?.fix ?? null,
  }
}
