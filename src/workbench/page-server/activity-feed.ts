import type { Readable } from 'node:stream'
import type { ActivityLine, DeliveryActivity } from '../../contract/platform/activity.js'
import { faultOfHeaders } from '../../contract/platform/fault-kinds.js'
import { Followers } from '../../inspector/line-stream.js'
import type { WebhookSecret } from '../../webhook/signature.js'
import { explainDelivery } from '../explain-delivery.js'
import { pairsOf, updateIdOf } from '../header-pairs.js'
import type { Inbox, RecordedResponse, StoredDelivery } from '../inbox.js'
import type { RequestEvent } from '../listener.js'
import { errorOf, iso } from './inbox-records.js'

/** Maximum deliveries of the inbox that a page lists when it opens. */
const PAST_MAX = 200
/** Maximum lines of this run in memory, because their responses may not be in the inbox yet. */
const RECENT_MAX = 200
/** Maximum bytes to explain immediately: a longer body is explained when opened, at up to 0.1 s per MiB. */
const EXPLAINED_BYTES_MAX = 64 * 1024

/** Live deliveries for open pages (rules/workbench.md#page-of-a-listener). */
export class ActivityFeed {
  readonly #secrets: readonly WebhookSecret[]
  readonly #recent: DeliveryActivity[] = []
  /** Null stands between the stored deliveries and the live ones. */
  readonly #followers = new Followers<DeliveryActivity | null>()
  #seq = 0

  constructor(secrets: readonly WebhookSecret[]) {
    this.#secrets = secrets
  }

  /** Adds a request if it is a recorded delivery. */
  received(event: RequestEvent): void {
    const { inboxId, update, at, status, reason, verdict, durationMs, failure, headers, rawBody } = event
    if (inboxId === null) return
    const arrival = { id: inboxId, at, update_id: update?.id ?? null, type: update?.type ?? null, verdict, reason }
    const error = verdict === 'refused' ? null : errorOf({ status, error: failure, to: null })
    this.#add(this.#arrivalOf({ ...arrival, headers, body: rawBody }, { status, error, duration_ms: durationMs }))
  }

  /** Adds a replay that the page requested. */
  replayed(stored: StoredDelivery, response: RecordedResponse): void {
    this.#add(this.#replayOf(stored, response))
  }

  /** Streams the deliveries of the inbox, then new ones. */
  stream(inbox: Inbox): Readable {
    const known = new Set(this.#recent.map(({ delivery_id }) => delivery_id))
    const past = inbox
      .find({}, PAST_MAX)
      // Skip a delivery without a response: it is still running, and its line follows.
      .filter(({ id, verdict, status }) => !known.has(id) && (verdict === 'refused' || status !== undefined))
      .flatMap(({ id }) => inbox.read(id) ?? [])
      .flatMap((it) => this.#linesOf(it))
    const all = [...past, ...this.#recent].sort((a, b) => a.at.localeCompare(b.at))
    return this.#followers.stream([...all, null], true, (delivery) => {
      const seq = ++this.#seq
      const line: ActivityLine =
        delivery === null ? { seq, kind: 'live' } : { seq, kind: 'delivery', delivery, exchange: null }
      return JSON.stringify(line)
    })
  }

  close(): void {
    this.#followers.close()
  }

  #add(delivery: DeliveryActivity): void {
    this.#recent.push(delivery)
    if (this.#recent.length > RECENT_MAX) this.#recent.shift()
    this.#followers.add(delivery)
  }

  /** The lines of a recorded delivery: one for its arrival, and one for each replay. */
  #linesOf(stored: StoredDelivery): DeliveryActivity[] {
    const { verdict, responses } = stored
    const first = responses.find((it) => !it.replay)
    const arrival = this.#arrivalOf(stored, {
      status: verdict === 'refused' ? 401 : (first?.status ?? null),
      error: first === undefined ? null : errorOf(first),
      duration_ms: first?.duration_ms ?? 0,
    })
    return [arrival, ...responses.filter((it) => it.replay).map((it) => this.#replayOf(stored, it))]
  }

  #arrivalOf(
    { id, at, update_id, type, verdict, reason, headers, body }: Arrival,
    result: Pick<DeliveryActivity, 'status' | 'error' | 'duration_ms'>,
  ): DeliveryActivity {
    return {
      ...common,
      ...result,
      ...faultOfHeaders(pairsOf(headers)),
      delivery_id: id,
      update_id: updateIdOf(update_id),
      update_type: type,
      at: iso(at),
      verdict,
      reason,
      explanation: verdict === 'refused' ? this.#explanationOf(headers, body, at) : null,
    }
  }

  #replayOf({ id, update_id, type, verdict }: StoredDelivery, response: RecordedResponse): DeliveryActivity {
    return {
      ...common,
      delivery_id: id,
      update_id: updateIdOf(update_id),
      update_type: type,
      at: iso(response.at),
      attempt: null,
      manual: true,
      replay: true,
      status: response.status,
      error: errorOf(response),
      duration_ms: response.duration_ms,
      verdict,
      reason: null,
      explanation: null,
    }
  }

  #explanationOf(headers: readonly string[], body: Buffer, at: number): string | null {
    return body.length > EXPLAINED_BYTES_MAX ? null : explainDelivery(headers, body, this.#secrets, at).explanation
  }
}

type Arrival = Pick<StoredDelivery, 'id' | 'at' | 'update_id' | 'type' | 'verdict' | 'reason' | 'headers' | 'body'>

const common = { bot_id: null, voucher_id: null, attempt: 1, manual: false, replay: false } as const
