import { FAULT_HEADER, type FaultKind } from '../../contract/platform/fault-kinds.js'
import type { WebhookRow } from '../../domain/bot/rows.js'
import type { Keyring } from '../../domain/keyring.js'
import { unseal } from '../../domain/sealing.js'
import { DEFAULT_TOLERANCE_SECONDS, signWebhook, webhookHeaders } from '../../webhook/signature.js'

/** Age of a stale signature: twice the tolerance of a receiver. */
const STALE_SECONDS = 2 * DEFAULT_TOLERANCE_SECONDS

/** A webhook with its decrypted URL and secrets. */
export type OpenWebhook = ReturnType<typeof openWebhook>

/** Decrypts a webhook. @throws for a row that the key ring cannot decrypt */
export function openWebhook(row: WebhookRow, keys: Keyring) {
  const open = (value: string) => unseal(keys, row.bot_id, value)
  return {
    row,
    url: open(row.url),
    allowedIps: JSON.parse(row.allowed_ips) as string[],
    secret: open(row.secret),
    oldSecret: row.old_secret === null ? null : open(row.old_secret),
    isBorrowed: row.lease !== null,
  }
}

/** Returns the signing secrets: the current one and, during the grace period, the old one. */
export function signingSecrets({ row, secret, oldSecret }: OpenWebhook, now: number): readonly string[] {
  return oldSecret !== null && (row.old_secret_until ?? 0) > now ? [secret, oldSecret] : [secret]
}

/**
 * Returns the headers of a delivery. A planted fault makes its signature wrong or old, and is named in a header, so that
 * nobody takes its effect for an error of the server.
 * @param timestamp Unix seconds
 */
export function deliveryHeaders(
  rawBody: Uint8Array,
  updateId: number | string,
  secrets: readonly string[],
  timestamp: number,
  fault?: FaultKind,
): Record<string, string> {
  const signed = signWebhook({
    rawBody,
    secrets,
    timestamp: fault === 'stale' ? timestamp - STALE_SECONDS : timestamp,
    updateId,
  })
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'voucherctl',
    ...signed,
    ...(fault === 'forged' && { [webhookHeaders.signature]: almostRight(signed[webhookHeaders.signature]) }),
    ...(fault && { [FAULT_HEADER]: fault }),
  }
}

/** Changes only the last digit of each signature, so that a receiver that compares a part of it accepts the delivery. */
const almostRight = (signatures: string) =>
  signatures.replaceAll(/[\da-f](?=,|$)/g, (digit) => (digit === '0' ? '1' : '0'))
