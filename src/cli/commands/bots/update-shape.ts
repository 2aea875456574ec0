import { updateTypes } from '../../../contract/updates.js'

/** The union of all types: each update has a member named after its type. */
export const updateShape = {
  properties: Object.fromEntries(['update_id', 'type', 'created_at', ...updateTypes].map((name) => [name, {}])),
}
