import { CAPTURED_BYTES_MAX, type CapturedExchange } from '../../contract/platform/activity.js'
import type { AttemptExchange, DeliveryDetail, DeliveryVerification } from '../../contract/platform/deliveries.js'
import { faultOfHeaders } from '../../contract/platform/fault-kinds.js'
import type { Delivery } from '../../contract/webhook.js'
import { hintsOf } from '../../webhook/refusal-hints.js'
import { signatureOf, type WebhookSecret, webhookHeaders } from '../../webhook/signature.js'
import { explainDelivery } from '../explain-delivery.js'
import { pairsOf, updateIdOf } from '../header-pairs.js'
import type { DeliverySummary, RecordedResponse, StoredDelivery } from '../inbox.js'

// Converts deliveries of an inbox to operator API shapes, so that the same page can show them.

/** State of a recorded delivery. A refused delivery never reached an application. */
export function stateOf({ verdict, status }: Pick<DeliverySummary, 'verdict' | 'status'>): Delivery['status'] {
  if (verdict === 'refused') return 'failed'
  if (status === undefined) return 'delivering'
  return isSuccess(status) ? 'delivered' : 'failed'
}

/** Converts a delivery without its content. */
export function deliveryOf({ id, at, update_id, type, verdict, headers, responses }: StoredDelivery): Delivery {
  const last = responses.at(-1)
  const refusal = verdict === 'refused' ? { last_attempt_at: iso(at), last_status_code: 401 } : undefined
  return {
    id,
    bot_id: '',
    // The page shows both as text: all digits of an id above 2^53, and the type as in the update if it is unknown.
    update_id: updateIdOf(update_id) as number,
    update_type: (type ?? 'unverified') as Delivery['update_type'],
    status: stateOf({ verdict, status: last?.status }),
    cancel_reason: null,
    attempt_count: responses.filter((it) => !it.replay).length,
    manual_attempt_count: responses.filter((it) => it.replay).length,
    created_at: iso(at),
    last_attempt_at: last === undefined ? null : startOf(last),
    next_attempt_at: null,
    delivered_at: isoOrNull(responses.find(({ status }) => isSuccess(status))?.at),
    last_status_code: last?.status ?? null,
    last_error: last === undefined ? null : errorOf(last),
    last_duration_ms: last?.duration_ms ?? null,
    attempts: responses.map((line, index) => ({
      number: index + 1,
      manual: line.replay,
      started_at: startOf(line),
      duration_ms: line.duration_ms,
      status_code: line.status,
      error: errorOf(line),
      ...(line.replay ? {} : faultOfHeaders(pairsOf(headers))),
    })),
    ...refusal,
  }
}

interface Receiver {
  /** Base URL of the listener, such as `http://127.0.0.1:8787`. */
  readonly address: string
  readonly secrets: readonly WebhookSecret[]
  now(): number
}

/** Converts a delivery with its signature and its responses. */
export function detailOf(stored: StoredDelivery, { address, secrets, now }: Receiver): DeliveryDetail {
  const { at, headers, body, url } = stored
  // Verify at the time of arrival: later, every timestamp is stale.
  const verification = explainDelivery(headers, body, secrets, at)
  const last = stored.responses.findLast((it) => !it.replay)
  return {
    delivery: deliveryOf(stored),
    bot_name: 'this listener',
    url: address + url,
    voucher_id: null,
    body: body.toString('base64'),
    request: { of: 'last_attempt', headers: pairsOf(headers) },
    signature: signatureParts(stored, secrets),
    verification,
    schedule: [],
    responses: stored.responses.map((it, index) => attemptOf(stored, it, index)),
    hints: last ? refusalHints({ ...last, request: { headers, body }, verification }) : [],
    now: iso(now()),
    true_now: iso(now()),
  }
}

interface Refused extends Pick<RecordedResponse, 'headers' | 'status' | 'to'> {
  /** Arrival of the response, ms. */
  readonly at: number
  readonly request: Message
  readonly verification: DeliveryVerification
  readonly isEdited?: boolean
}

/** Likely causes of a refusal by the application; none for a response of the listener itself. */
export function refusalHints({ to, status, headers, at, request, verification, isEdited = false }: Refused) {
  if (to === null) return []
  const sent = { headers: pairsOf(request.headers), body: request.body, at, aheadMs: 0, isEdited }
  return hintsOf({ ...sent, status, response: { headers: pairsOf(headers) }, endedAt: at, verification })
}

/** Latest Unix second that a page can show as a date. */
const SECONDS_MAX = 8_640_000_000_000

/** Signatures that the listener's secrets make over the received bytes and timestamp. */
function signatureParts({ at, headers, body }: StoredDelivery, secrets: readonly WebhookSecret[]) {
  const valueOf = (header: string) =>
    pairsOf(headers).find(([name]) => name.toLowerCase() === header.toLowerCase())?.[1] ?? ''
  const written = valueOf(webhookHeaders.timestamp)
  const timestamp = /^\d+$/.test(written) && Number(written) <= SECONDS_MAX ? written : String(Math.floor(at / 1000))
  const sent = valueOf(webhookHeaders.signature).split(',')
  return {
    timestamp: Number(timestamp),
    prefix: `${timestamp}.`,
    signed_bytes: timestamp.length + 1 + body.length,
    algorithm: 'HMAC-SHA256' as const,
    secrets: secrets.map((secret, index) => {
      const signature = signatureOf(body, secret, timestamp)
      const which = index === 0 ? ('current' as const) : ('previous' as const)
      return { which, signature, sent: sent.includes(signature), until: null }
    }),
    webhook_set_at: iso(at),
  }
}

function attemptOf(stored: StoredDelivery, response: RecordedResponse, index: number): AttemptExchange {
  const { status, replay, duration_ms } = response
  return {
    ...exchangeOf(stored, response),
    at: startOf(response),
    attempt: replay ? null : index + 1,
    manual: replay,
    replay,
    status,
    error: errorOf(response),
    duration_ms,
    ...(replay ? {} : faultOfHeaders(pairsOf(stored.headers))),
  }
}

interface Message {
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Request to the application and its response. */
export function exchangeOf(
  request: Message & { readonly method: string; readonly url: string },
  response: Message & { readonly status: number | null; readonly to: string | null; readonly body_bytes?: number },
): CapturedExchange {
  const { status, to, body_bytes } = response
  return {
    request: { method: request.method, url: to ?? request.url, ...contentOf(request) },
    response: status === null ? null : { status, ...contentOf(response, body_bytes) },
  }
}

const contentOf = ({ headers, body }: Message, body_bytes = body.length) => ({
  headers: pairsOf(headers),
  body: body.length === 0 ? null : body.subarray(0, CAPTURED_BYTES_MAX).toString('base64'),
  body_bytes,
})

/** Why a response counts as a failure; null for a 2xx. */
export function errorOf({ status, error, to }: Pick<RecordedResponse, 'status' | 'error' | 'to'>) {
  if (error !== null) return { code: 'app_failed', message: error }
  if (status === null) return { code: 'no_response', message: 'The sender got no response.' }
  const who = to === null ? 'The listener' : 'The application'
  return isSuccess(status) ? null : { code: 'http_status', message: `${who} responded with ${status}.` }
}

const isSuccess = (status: number | null | undefined) =>
  status !== null && status !== undefined && status >= 200 && status < 300

const startOf = ({ at, duration_ms }: RecordedResponse) => iso(at - duration_ms)

export const iso = (at: number) => new Date(at).toISOString()
const isoOrNull = (at: number | undefined) => (at === undefined ? null : iso(at))
