// Bundled for P14: how many verified deliveries an inbox holds, each update_id once.
import { Inbox } from '../../src/workbench/inbox.js'

/** @param {string} dir */
export function countUpdates(dir) {
  const inbox = new Inbox(dir)
  return new Set(inbox.find({ verdicts: ['ok'] }).map((it) => it.update_id)).size
}
