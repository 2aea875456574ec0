// Bundled for P14: counts the different update ids of the verified deliveries in an inbox.
import { Inbox } from '../../../src/workbench/inbox.js'

/** @param {string} dir */
export function countUpdates(dir) {
  const inbox = new Inbox(dir)
  return new Set(inbox.find({ verdicts: ['ok'] }).map((it) => it.update_id)).size
}
