import { oneOf } from './fields.js'
import { updateTypes } from './page-choices.js'
import { type Static, Type } from './schema.js'
import type { payloadSchemas } from './update-payloads.js'

export { updateTypes }
export type UpdateType = (typeof updateTypes)[number]

export const defaultUpdateTypes: readonly UpdateType[] = updateTypes.slice(0, 5)

/** Update types that a bot selects: absent keeps the current selection, an empty list means the default types. */
export const allowedUpdates = Type.Array(oneOf(updateTypes), { maxItems: 100 })

/** `{ update_id, type, created_at, "<type>": {…} }`: webhook and getUpdates send the same bytes. */
export const update = Type.Unsafe<Update>({
  type: 'object',
  additionalProperties: true,
})

/** Payloads by update type. */
export type UpdatePayloads = { [T in UpdateType]: Static<(typeof payloadSchemas)[T]> }

/** An update of one type, whose member named like the type has the payload. */
export type UpdateOf<T extends UpdateType> = {
  [Name in T]: { update_id: number; type: Name; created_at: string } & { [Payload in Name]: UpdatePayloads[Name] }
}[T]
/** Union of the updates of all types; `type` tells them apart. */
export type Update = UpdateOf<UpdateType>
