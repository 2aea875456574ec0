import { defaultUpdateTypes, type UpdateType } from '../contract/updates.js'
import { DAY_MS } from '../values/duration.js'
import { formatInstant } from './time.js'

export type UpdatePayload = object

/** Retention of an update that no poll has confirmed and no delivery has attempted (rules/bots.md#updates). */
export const UNCONFIRMED_UPDATE_RETENTION_MS = DAY_MS

/** Returns the update types that a bot receives. @param allowed JSON column of the queue, null for the default */
export function wantedTypes(allowed: string | null): readonly UpdateType[] {
  return allowed === null ? defaultUpdateTypes : (JSON.parse(allowed) as UpdateType[])
}

export function isWanted(type: UpdateType, allowed: string | null): boolean {
  return wantedTypes(allowed).includes(type)
}

/** Returns the new JSON column `allowed_updates`: undefined keeps `previous`, an empty list means the default types. */
export function chosenTypes(chosen: readonly UpdateType[] | undefined, previous: string | null): string | null {
  if (chosen === undefined) return previous
  return chosen.length === 0 ? null : JSON.stringify([...new Set(chosen)])
}

/** Serialises an update. Store, deliveries and polls use the returned text unchanged. */
export function updateBody(updateId: number, type: UpdateType, payload: UpdatePayload, now: number): string {
  return JSON.stringify({ update_id: updateId, type, created_at: formatInstant(now), [type]: payload })
}

/** Type and voucher of an update. */
export type UpdateSubject = ReturnType<typeof updateSubject>

interface ReadUpdate {
  readonly type?: string
  readonly [payload: string]: unknown
}

/** Reads the subject of a stored update. @param body JSON text of `updateBody` */
export function updateSubject(body: string) {
  const { type = '', ...update } = JSON.parse(body) as ReadUpdate
  const payload = update[type] as { voucher?: { id: string }; redemption?: { voucherId: string } } | undefined
  return { type, voucherId: payload?.voucher?.id ?? payload?.redemption?.voucherId ?? null }
}
