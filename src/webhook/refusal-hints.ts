import type { DeliveryHint, DeliveryVerification } from '../contract/platform/deliveries.js'
import { rightRefusal } from './explain.js'
import { DEFAULT_TOLERANCE_SECONDS, valuesByName, type WebhookHeaders, webhookHeaders } from './signature.js'

/** A request that the application may have refused. */
interface SentRequest {
  readonly headers: WebhookHeaders
  readonly body: Uint8Array
  /** Time of sending by the clock of the sender, ms. */
  readonly at: number
  readonly status: number | null
  readonly response: { readonly headers: readonly (readonly [name: string, value: string])[] } | null
  /** Arrival of the response by the system clock, ms; null if unknown. */
  readonly endedAt: number | null
  readonly verification: Pick<DeliveryVerification, 'ok' | 'explanation'> & { readonly reason: string | null }
  /** True if the sent bytes differ from the signed bytes. */
  readonly isEdited: boolean
  /** Milliseconds by which the clock of the sender is ahead of the system time. */
  readonly aheadMs: number
}

/** Statuses with which applications refuse a signature, a caller or a format. */
const REFUSALS: readonly (number | null)[] = [400, 401, 403, 415]

const TOLERANCE_MS = DEFAULT_TOLERANCE_SECONDS * 1000

/** When the webhook and its previous secret changed, ms. A listener does not know it. */
interface WebhookChanges {
  readonly set_at: number
  readonly old_secret_until: number | null
}

/** Returns likely causes of a refusal, most certain first; empty for other responses. */
export function hintsOf(
  sent: SentRequest,
  { set_at, old_secret_until: until }: WebhookChanges = { set_at: 0, old_secret_until: null },
): DeliveryHint[] {
  const { status, verification, isEdited, aheadMs, at } = sent
  const headers = valuesByName(sent.headers)
  const [fault] = headers.get('x-platform-fault') ?? []
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
    verification.ok && set_at > at,
    'webhook_changed',
    `The webhook was set again at ${formatInstant(set_at)}, after this attempt; its secret or URL may have been another one.`,
  )
  hint(
    headers.get(webhookHeaders.signature.toLowerCase())?.some((it) => it.includes(',')) === true,
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

const formatInstant = (ms: number) => new Date(ms).toISOString()

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
