import { existsSync } from 'node:fs'
import { codeOf, reasonOf } from '../../../files/error-code.js'
import { Inbox, type StoredDelivery } from '../../../workbench/inbox.js'
import type { Context } from '../../command/context.js'
import { inboxDirOf } from '../../config/local-server.js'
import { type Failure, fail } from '../../failures/failure.js'
import { needing, ofKind, text } from '../../flags/flags.js'

export const inboxFlag = { inbox: text('DIR', 'Folder of the deliveries, default $XDG_DATA_HOME/voucherctl/inbox') }

/** Flags of commands that read a delivery either from files or from an inbox. */
export const recordedFlags = {
  id: ofKind(
    'recorded',
    text('ID', 'In place of files: a delivery of the inbox, such as 1-17, or the newest of an update_id'),
  ),
  inbox: needing(inboxFlag.inbox, 'id'),
}

/** Converts file system and inbox format errors to failures; rethrows others, which are bugs. */
export function inboxFailure(error: unknown, dir: string): Failure {
  const code = error instanceof Error ? codeOf(error) : ''
  if (error instanceof Error && code === 'INBOX_FORMAT')
    return fail('INBOX_FORMAT', error.message, 'Move the file away, or choose another folder with --inbox.')
  if (!(error instanceof Error && 'syscall' in error)) throw error
  return fail('FILE_UNWRITABLE', `The inbox ${dir} cannot be used${reasonOf(error)}.`, 'Choose another with --inbox.')
}

/** Refuses a missing folder only if --inbox names it (rules/workbench.md#named-inboxes-and-types). */
export function missingInbox(named: string | undefined, dir: string): Failure | undefined {
  if (named === undefined || existsSync(dir)) return undefined
  return fail(
    'INBOX_NOT_FOUND',
    `There is no inbox ${dir}.`,
    '`voucherctl webhook listen` makes it; without --inbox the default one is read.',
  )
}

export interface OpenedInbox {
  readonly ok: true
  readonly inbox: Inbox
  readonly dir: string
  /** Exit code after reading the whole inbox: 11 if it has damaged lines (rules/workbench.md#inbox-damage). */
  readonly exit: 0 | 11
}

const DAMAGE_SHOWN_MAX = 10

/** Opens an inbox for reading, and warns if it has damaged lines. */
export function openInbox({ host, output }: Context, named: string | undefined): OpenedInbox | Failure {
  const dir = inboxDirOf(host, named)
  const missing = missingInbox(named, dir)
  if (missing !== undefined) return missing
  let inbox: Inbox
  try {
    inbox = new Inbox(dir)
  } catch (error) {
    return inboxFailure(error, dir)
  }
  const { damage } = inbox
  for (const { path, line } of damage.slice(0, DAMAGE_SHOWN_MAX))
    output.notice(`warning: line ${line} of ${path} is damaged. It was skipped and stays in the file.`)
  if (damage.length > DAMAGE_SHOWN_MAX)
    output.notice(`warning: ${damage.length - DAMAGE_SHOWN_MAX} more lines are damaged.`)
  return { ok: true, inbox, dir, exit: damage.length === 0 ? 0 : 11 }
}

export const notRecorded = (id: string, dir: string): Failure =>
  fail('DELIVERY_NOT_RECORDED', `No delivery ${id} is in ${dir}.`, 'See `voucherctl webhook inbox list`.')

/** Reads a recorded delivery by its inbox id, or the newest verified one by its update_id. */
export function recordedDelivery(
  context: Context,
  id: string,
  named: string | undefined,
): { readonly ok: true; readonly stored: StoredDelivery } | Failure {
  const opened = openInbox(context, named)
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
