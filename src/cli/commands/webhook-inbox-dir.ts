import { join, resolve } from 'node:path'
import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import { text } from '../flags.js'
import type { Host } from '../host.js'
import { defaultDataDir } from '../local-server.js'
import { codeOf } from '../config.js'

export const inboxFlag = { inbox: text('DIR', 'Folder of the deliveries, default $XDG_DATA_HOME/voucherctl/inbox') }

export const inboxDirOf = (host: Host, named: string | undefined) =>
  resolve(host.cwd, named ?? join(defaultDataDir(host), 'inbox'))

/** For what the file system says; anything else is a bug. */
export function inboxFailure(error: unknown, dir: string): Failure {
  if (!(error instanceof Error && 'syscall' in error)) throw error
  const code = codeOf(error)
  return fail('FILE_UNWRITABLE', `The inbox ${dir} cannot be used (${code}).`, 'Choose another folder with --inbox.')
}
