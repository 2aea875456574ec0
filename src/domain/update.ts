import { defaultUpdateTypes, type UpdateType } from '../contract/updates.js'
import { DAY_MS, formatInstant } from './time.js'

export type UpdatePayload = object

/** How long an update is kept that no poll confirmed and no attempt touched (DECISIONS.md#updates). */
export const UNCONFIRMED_UPDATE_MS = DAY_MS

/** The types that a bot is told of. @param allowed JSON as the queue keeps it, null for the default */
export function wantedTypes(allowed: string | null): readonly UpdateType[] {
  return allowed === null ? defaultUpdateTypes : (JSON.parse(allowed) as UpdateType[])
}

export function isWanted(type: UpdateType, allowed: string | null): boolean {
  return wantedTypes(allowed).includes(type)
}

/** `allowed_updates` of a call as the queue keeps it: absent keeps, an empty list means the default. */
export function chosenTypes(chosen: readonly UpdateType[] | undefined, kept: string | null): string | null {
  if (chosen === undefined) return kept
  return chosen.length === 0 ? null : JSON.stringify([...new Set(chosen)])
}

/** Written once: these characters are what is stored, delivered and polled. */
export function updateBody(updateId: number, type: UpdateType, payload: UpdatePayload, now: number): string {
  return JSON.stringify({ update_id: updateId, type, created_at: formatInstant(now), [type]: payload })
}
