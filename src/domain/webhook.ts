import type { UpdateType } from '../contract/updates.js'
import type { DeliveryMode, WebhookInfo, WebhookSettings, WebhookWarning } from '../contract/webhook.js'
import type { WebhookRow } from './bot/rows.js'
import { chosenTypes, wantedTypes } from './update.js'

export const DEFAULT_MAX_CONNECTIONS = 40

/** Settings of a set-webhook call; absent members keep the previous value. */
export interface WebhookRequest {
  readonly url: string
  /** `https://host`, followed by the port unless it is 443. */
  readonly origin: string
  readonly secret?: string | undefined
  /** Seconds during which the server also signs with the old secret. */
  readonly graceSeconds?: number | undefined
  readonly allowedUpdates?: readonly UpdateType[] | undefined
  readonly allowedIps?: readonly string[] | undefined
  readonly maxConnections?: number | undefined
}

/** A webhook with its URL and secret in clear text, which the server neither stores nor shows. */
export interface ClearWebhook {
  readonly url: string
  readonly secret: string
  readonly allowedIps: readonly string[]
  readonly maxConnections: number
}

/** Result of a set-webhook call. */
export interface WebhookChange {
  readonly webhook: ClearWebhook
  /** JSON column `allowed_updates` of the queue. */
  readonly allowedUpdates: string | null
  /** False when the call repeats the current settings. */
  readonly changed: boolean
  readonly urlChanged: boolean
  /** End of the old secret's grace period in ms; null without a grace period, undefined for an unchanged secret. */
  readonly oldSecretUntil: number | null | undefined
}

/** Applies a set-webhook call. @param newSecret signs deliveries if neither the call nor the webhook has a secret */
export function decideWebhook(
  previous: ClearWebhook | null,
  previousUpdates: string | null,
  request: WebhookRequest,
  newSecret: string,
  now: number,
): WebhookChange {
  const webhook = {
    url: request.url,
    secret: request.secret ?? previous?.secret ?? newSecret,
    allowedIps: request.allowedIps ?? previous?.allowedIps ?? [],
    maxConnections: request.maxConnections ?? previous?.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
  }
  const allowedUpdates = chosenTypes(request.allowedUpdates, previousUpdates)
  const { graceSeconds = 0 } = request
  const secretChanged = previous !== null && previous.secret !== webhook.secret
  const urlChanged = previous?.url !== webhook.url
  return {
    webhook,
    allowedUpdates,
    changed:
      urlChanged ||
      secretChanged ||
      allowedUpdates !== previousUpdates ||
      previous?.maxConnections !== webhook.maxConnections ||
      JSON.stringify(previous?.allowedIps) !== JSON.stringify(webhook.allowedIps),
    urlChanged,
    oldSecretUntil: secretChanged ? (graceSeconds > 0 ? now + graceSeconds * 1000 : null) : undefined,
  }
}

export type PublicWebhookRow = Pick<WebhookRow, 'origin' | 'allowed_ips' | 'max_connections'>

/** Webhook settings for the console. Shows only the origin of the URL, because the path is a secret. */
export function webhookSettings(row: PublicWebhookRow, allowedUpdates: string | null): WebhookSettings {
  return {
    url: `${row.origin}/…`,
    has_secret_token: true,
    allowed_updates: [...wantedTypes(allowedUpdates)],
    allowed_ips: JSON.parse(row.allowed_ips) as string[],
    max_connections: row.max_connections,
  }
}

interface QueueState {
  /** JSON column allowed_updates of the queue; null for the default types. */
  readonly allowedUpdates: string | null
  readonly pending: number
}

/** Response of the calls that set or delete a webhook. @param row null when the bot uses polling */
export function deliveryModeRecord(
  row: WebhookRow | null,
  queue: QueueState,
  droppedUpdates: number,
  warnings: readonly WebhookWarning[] = [],
): DeliveryMode {
  const settings =
    row === null
      ? { ...noWebhook, allowed_updates: [...wantedTypes(queue.allowedUpdates)] }
      : webhookSettings(row, queue.allowedUpdates)
  return {
    delivery_mode: row === null ? 'polling' : 'webhook',
    ...settings,
    pending_update_count: queue.pending,
    dropped_updates: droppedUpdates,
    warnings: [...warnings],
  }
}

const noWebhook = { url: null, has_secret_token: false, allowed_ips: [], max_connections: DEFAULT_MAX_CONNECTIONS }

const secondsOrNull = (ms: number | null | undefined): number | null => (ms == null ? null : Math.floor(ms / 1000))

/** Response of getWebhookInfo. @param url URL in clear text; null for a bot without a webhook */
export function webhookInfo(
  row: WebhookRow | null,
  url: string | null,
  queue: QueueState & { readonly failed: number; readonly deadLetter: number },
  egressIps: readonly string[],
): WebhookInfo {
  const { pending_update_count, dropped_updates: _, warnings: __, ...settings } = deliveryModeRecord(row, queue, 0)
  return {
    ...settings,
    url,
    pending_update_count,
    failed_count: queue.failed,
    dead_letter_count: queue.deadLetter,
    ip_address: row?.ip_address ?? null,
    last_error_date: secondsOrNull(row?.last_error_at),
    last_error_message: row?.last_error_message ?? null,
    last_success_date: secondsOrNull(row?.last_success_at),
    platform_egress_ips: [...egressIps],
  }
}
