import type { DeliveryDetail, DeliveryHint, DeliveryVerification } from '../../contract/platform/deliveries.js'
import { FAULT_HEADER, type FaultKind } from '../../contract/platform/fault-kinds.js'
import { formatInstant } from '../../domain/time.js'
import { updateSubject } from '../../domain/update.js'
import type { DeliveryWithUpdate } from '../../store/delivery/deliveries.js'
import { explainMismatch, rightRefusal } from '../../webhook/explain.js'
import { DEFAULT_TOLERANCE_SECONDS, signatureOf, verifyWebhook, webhookHeaders } from '../../webhook/signature.js'
import { attemptExchange, type MadeAttempt } from './attempt-log.js'
import type { EndpointResponse } from './connection.js'
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
    hints: hintsOf(refused, webhook),
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

/** A request that the application may have refused. */
interface SentRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Time of sending by the server's clock, ms. */
  readonly at: number
  readonly status: number | null
  readonly response: Pick<EndpointResponse, 'headers'> | null
  /** Arrival of the response by the system clock, ms; null if unknown. */
  readonly endedAt: number | null
  readonly verification: DeliveryVerification
  /** True if the sent bytes differ from the signed bytes. */
  readonly isEdited: boolean
  /** Milliseconds by which the server's clock is ahead of the system time. */
  readonly aheadMs: number
}

/** Statuses with which applications refuse a signature, a caller or a format. */
const REFUSALS: readonly (number | null)[] = [400, 401, 403, 415]

const TOLERANCE_MS = DEFAULT_TOLERANCE_SECONDS * 1000

/** Returns likely causes of a refusal, most certain first; empty for other responses. */
export function hintsOf(sent: SentRequest, { row }: Pick<OpenWebhook, 'row'>): DeliveryHint[] {
  const { status, verification, isEdited, aheadMs, at } = sent
  const fault = sent.headers[FAULT_HEADER]
  const isLost = fault === 'lost' && status === null
  const isRefused = REFUSALS.includes(status)
  const planted = isLost ? 'A planted fault (lost): nothing was sent.' : isRefused ? rightRefusal(fault) : undefined
  if (planted !== undefined) return [{ code: 'planted_fault', text: planted }]
  if (!isRefused) return []
  const headerOf = (wanted: string) =>
    sent.response?.headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null
  const hints: DeliveryHint[] = []
  const hint = (holds: boolean, code: DeliveryHint['code'], text: string) => void (holds && hints.push({ code, text }))

  hint(
    isEdited,
    'body_edited',
    'The bytes were changed and not signed again, so a receiver that verifies must refuse them.',
  )
  hint(
    verification.reason === 'stale' || verification.reason === 'future',
    'stale',
    `${verification.explanation} Send it with a new signature.`,
  )
  const appTime = Date.parse(headerOf('date') ?? '')
  const appAheadMs = sent.endedAt === null ? 0 : appTime - sent.endedAt
  hint(
    Math.abs(appAheadMs) > TOLERANCE_MS,
    'app_clock',
    `By the Date header of its response, the clock of the application is ${span(appAheadMs)} ${side(appAheadMs)} this machine; receivers allow ${DEFAULT_TOLERANCE_SECONDS} s. Correct that clock.`,
  )
  hint(
    Math.abs(aheadMs) > TOLERANCE_MS,
    'test_clock',
    `The test clock of this server is ${span(aheadMs)} ${side(aheadMs)} the true time, but X-Platform-Timestamp is the true time. An application that compares it with the test clock refuses it.`,
  )
  hint(
    verification.reason === 'bad_signature' && !isEdited,
    'secret_replaced',
    'No present secret made the signature that was sent: the secret was replaced after this attempt. Send it with a new signature.',
  )
  hint(
    verification.ok && row.set_at > at,
    'webhook_changed',
    `The webhook was set again at ${formatInstant(row.set_at)}, after this attempt; its secret or URL may have been another one.`,
  )
  const until = row.old_secret_until
  hint(
    sent.headers[webhookHeaders.signature]?.includes(',') === true,
    'two_signatures',
    `The signature header has two signatures, of the new and of the previous secret${until === null ? '' : `, until ${formatInstant(until)}`}. The application must accept either of them and not compare the whole header.`,
  )
  hint(
    until !== null && until <= at,
    'previous_secret_ended',
    `The secret was replaced, and the previous one signed only until ${formatInstant(until ?? 0)}. The application may still have the previous one.`,
  )
  hint(
    headerOf('www-authenticate') !== null,
    'login',
    'The response asks for a login (WWW-Authenticate): a proxy or a check of the framework stands before the webhook. Exempt its path.',
  )
  hint(
    verification.ok && (status === 400 || status === 415),
    'content_type',
    'The Content-Type is application/json. Check that the application accepts this type and does not parse the body before it verifies the bytes.',
  )
  hint(
    verification.ok,
    'other_secret',
    'The signature is right for the secret of this webhook. Compare the secret of the application with it, byte for byte: quotes, spaces and a line end are part of a secret.',
  )
  hint(
    verification.ok,
    'raw_body',
    `The signature covers the ${sent.body.byteLength} bytes of the body as they were sent. An application that parses the JSON and writes it again verifies other bytes.`,
  )
  hint(
    status === 403,
    'csrf',
    'Web frameworks also respond 403 to a POST without their CSRF token. Exempt the path of the webhook from that check.',
  )
  return hints
}

const side = (aheadMs: number) => (aheadMs < 0 ? 'behind' : 'ahead of')

/** Formats a duration in its largest unit. */
function span(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const unit = (
    [
      ['d', 86_400],
      ['h', 3_600],
      ['min', 60],
    ] as const
  ).find(([, length]) => seconds >= 2 * length)
  return unit === undefined ? `${seconds} s` : `${Math.floor(seconds / unit[1])} ${unit[0]}`
}
