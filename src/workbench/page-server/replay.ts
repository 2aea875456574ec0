import { type Refusal, refuse } from '../../contract/errors.js'
import type { DeliveryReplay } from '../../contract/platform/deliveries.js'
import { readUpdate, type WebhookSecret } from '../../webhook/signature.js'
import { explainDelivery } from '../explain-delivery.js'
import type { Forwarder } from '../forwarding.js'
import { withoutContentLength } from '../header-pairs.js'
import type { RecordedResponse, StoredDelivery } from '../inbox.js'
import { resign, sendReplay } from '../replay.js'
import { errorOf, exchangeOf, refusalHints } from './inbox-records.js'

export interface ReplayOrder {
  readonly mode: 'as_sent' | 'resigned'
  /** Bytes in place of the recorded body. */
  readonly body?: Buffer | undefined
}

export interface PageReplayTools {
  readonly secrets: readonly WebhookSecret[]
  readonly forwarder: Forwarder
  readonly inbox: { recordResponse(response: RecordedResponse): Promise<void> }
  /** Returns the URL of the application for a delivery; undefined without one. */
  appOf(type: string | null, body: Buffer): Promise<URL | undefined>
  now(): number
}

interface Replayed {
  readonly ok: true
  readonly data: DeliveryReplay
  readonly response: RecordedResponse
}

/** Replays a recorded delivery to the application that got it, or else to the present application for its type. */
export async function replayFromPage(
  tools: PageReplayTools,
  stored: StoredDelivery,
  { mode, body = stored.body }: ReplayOrder,
): Promise<Replayed | Refusal<'DELIVERY_NOT_REPLAYABLE'>> {
  const { secrets, now, appOf } = tools
  const isEdited = body !== stored.body
  const first = stored.responses.find((it) => !it.replay && it.to !== null)?.to
  const to = first ? new URL(first) : await appOf(stored.type, body)
  if (to === undefined) return refuse('DELIVERY_NOT_REPLAYABLE', { reason: 'no_app' })
  let headers: readonly string[] | undefined = isEdited ? withoutContentLength(stored.headers) : stored.headers
  const sentAt = now()
  if (mode === 'resigned') {
    const [secret] = secrets
    if (secret === undefined) return refuse('DELIVERY_NOT_REPLAYABLE', { reason: 'no_secret' })
    const update = readUpdate(body)
    const update_id = update.ok ? update.updateId : stored.update_id
    headers = resign({ headers, body, update_id }, secret, Math.floor(sentAt / 1000))
    if (headers === undefined) return refuse('DELIVERY_NOT_REPLAYABLE', { reason: 'no_update_id' })
  }
  const sent = { headers, body, method: 'POST', url: stored.url }
  const { response, duration_ms, at } = await sendReplay(tools, to, stored.id, sent)
  const { status, failure } = response
  const recorded = { ...response, of: stored.id, at, duration_ms, error: failure?.message ?? null, replay: true }
  const verification = explainDelivery(headers, body, secrets, sentAt)
  const isUnsigned = isEdited && mode === 'as_sent'
  const data: DeliveryReplay = {
    status,
    error: errorOf(recorded),
    duration_ms,
    exchange: exchangeOf(sent, recorded),
    verification,
    hints: refusalHints({ ...recorded, request: sent, verification, isEdited: isUnsigned }),
  }
  return { ok: true, data, response: recorded }
}
