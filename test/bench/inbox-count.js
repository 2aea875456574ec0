// Bundled for P14: the number of verified deliveries in an inbox, each update_id counted once.
import { Inbox } from '../../src/workbench/inbox.js'

/** @param {string} dir */
export function countUpdates(dir) {
  const inbox = new Inbox(dir)
  return new Set(inbox.find({ verdicts: ['ok'] }).map((it) => it.update_id)).size
}
