import { updateTypes } from '../../../contract/updates.js'

/** Every type is a member, since each update has its own. */
export const updateShape = {
  properties: Object.fromEntries(['update_id', 'type', 'created_at', ...updateTypes].map((name) => [name, {}])),
}
