import type { StoredDelivery } from '../../../workbench/inbox/inbox.js'
import type { Context } from '../../command/context.js'
import type { Failure } from '../../failure.js'
import { fail, usage } from '../../failure.js'
import { text } from '../../flags/flags.js'
import { inboxFailure, inboxFlag, openInbox } from './inbox-dir.js'

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

/** A delivery of an inbox, by its id or by its update_id: then the newest verified one. */
export async function recordedDelivery(
  context: Context,
  id: string,
  named: string | undefined,
): Promise<{ readonly ok: true; readonly stored: StoredDelivery } | Failure> {
  const opened = await openInbox(context, named)
  if (!opened.ok) return opened
  const { inbox, dir } = opened
  try {
    const listed = inbox.byId(id)
    const stored = listed === undefined ? undefined : inbox.read(listed.id)
    return stored === undefined ? notRecorded(id, dir) : { ok: true, stored }
  } catch (error) {
    return inboxFailure(error, dir)
  }
}
