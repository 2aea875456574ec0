import type { Stored } from '../../webhooks/inbox.js'
import type { Failure } from '../failure.js'
import { fail, usage } from '../failure.js'
import { text } from '../flags.js'
import type { Host } from '../host.js'
import { inboxDirOf, inboxFailure, inboxFlag } from './webhook-inbox-dir.js'

export const recordedFlags = {
  id: text('ID', 'In place of files: a delivery of the inbox, such as 1-17, or the newest of an update_id'),
  ...inboxFlag,
}

/** Refused where a delivery of the inbox and a file are both named, or an inbox without a delivery. */
export function wrongPlace(
  flags: Readonly<Partial<Record<'id' | 'inbox' | 'body-file' | 'headers-file', string | undefined>>>,
): Failure | undefined {
  if (flags.id === undefined) return flags.inbox === undefined ? undefined : usage('--inbox belongs to --id.')
  const file = (['body-file', 'headers-file'] as const).find((it) => flags[it] !== undefined)
  return file === undefined ? undefined : usage(`--id and --${file} exclude each other.`)
}

export const notRecorded = (id: string, dir: string): Failure =>
  fail('DELIVERY_NOT_RECORDED', `No delivery ${id} is in ${dir}.`, 'See `voucherctl webhook inbox list`.')

export const damaged = (id: string, dir: string): Failure =>
  fail('STORE_UNUSABLE', `Delivery ${id} in ${dir} is damaged: what lies there is not what was written.`)

/** A delivery of an inbox, by its id or by its update_id: then the newest verified one. */
export async function recordedDelivery(
  host: Host,
  id: string,
  inboxDir: string | undefined,
): Promise<{ readonly ok: true; readonly stored: Stored } | Failure> {
  const dir = inboxDirOf(host, inboxDir)
  const { Inbox } = await import('../../webhooks/inbox.js')
  try {
    const inbox = Inbox.open(dir)
    const listed = inbox.byId(id)
    if (listed === undefined) return notRecorded(id, dir)
    const stored = inbox.read(listed)
    return stored === undefined ? damaged(id, dir) : { ok: true, stored }
  } catch (error) {
    return inboxFailure(error, dir)
  }
}
