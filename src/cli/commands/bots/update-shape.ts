import { updateTypes } from '../../../contract/updates.js'

/** Schema of an update of any type; an update has a member named after its type. */
export const updateShape = {
  properties: Object.fromEntries(['update_id', 'type', 'created_at', ...updateTypes].map((name) => [name, {}])),
}
