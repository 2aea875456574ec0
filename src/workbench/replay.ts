import { FAULT_HEADER } from '../contract/platform/fault-kinds.js'
import { signWebhook, type WebhookSecret, webhookHeaders } from '../webhook/signature.js'
import type { ForwardedDelivery, Forwarder } from './forwarding.js'
import { pairsOf } from './header-pairs.js'
import type { RecordedResponse, StoredDelivery } from './inbox.js'

interface ReplayTools {
  readonly forwarder: Forwarder
  readonly inbox: { recordResponse(response: RecordedResponse): Promise<void> }
  /** Current time in milliseconds since 1970. */
  now(): number
}

/** Sends a recorded delivery to an application, and records the response, which arrived at `at`, in the inbox. */
export async function sendReplay(
  { forwarder, inbox, now }: ReplayTools,
  to: URL,
  id: string,
  delivery: ForwardedDelivery,
) {
  const started = performance.now()
  const response = await forwarder.send(to, delivery)
  const duration_ms = Math.round(performance.now() - started)
  const at = now()
  const { status, failure, headers, body } = response
  const error = failure?.message ?? null
  await inbox.recordResponse({ of: id, at, to: to.href, status, duration_ms, error, replay: true, headers, body })
  return { response, duration_ms, at }
}

/**
 * Signs a recorded delivery again: replaces its signature and timestamp headers in place and appends missing ones.
 * Undefined if its update_id is unknown.
 * @param timestamp Unix seconds
 */
export function resign(
  { headers, body, update_id }: Pick<StoredDelivery, 'headers' | 'body' | 'update_id'>,
  secret: WebhookSecret,
  timestamp: number,
): string[] | undefined {
  const pairs = pairsOf(headers)
  const header = pairs.find(([name]) => name.toLowerCase() === webhookHeaders.updateId.toLowerCase())?.[1]
  const updateId = update_id ?? header
  if (updateId === undefined || !/^\d+$/.test(updateId)) return undefined
  const signed = signWebhook({ rawBody: body, secrets: [secret], timestamp, updateId })
  const fresh = new Map(Object.entries(signed).map((pair) => [pair[0].toLowerCase(), pair]))
  // Without the name of a planted fault: the new signature is right.
  const names = [...fresh.keys(), FAULT_HEADER.toLowerCase()]
  const replaced = pairs.flatMap((pair) => {
    const name = pair[0].toLowerCase()
    if (!names.includes(name)) return pair
    const first = fresh.get(name) ?? []
    fresh.delete(name)
    return first
  })
  return [...replaced, ...[...fresh.values()].flat()]
}
