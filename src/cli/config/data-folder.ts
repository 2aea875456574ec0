import { accessSync, chmodSync, constants, existsSync, lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { codeOf, reasonOf } from '../../files/error-code.js'
import { makeFolder } from '../../files/sync-folder.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { closing, othersMay, writableFolder } from '../host/permissions.js'

/** Files of a data folder that only their owner may read: the keys are enough to forge vouchers. */
export const PRIVATE_FILES =
  'keys.json operator.key page-sessions.json secure-keys.json voucherctl.db webhook-secret'.split(' ')

const ROOT = 0
const GROUP_READS = 0o040

/**
 * Creates the data folder of a server. In an existing folder it removes other users' permissions from private files.
 * @param isNamed true if the user named the folder; then the mode of the folder itself is not changed
 * @param changes false only checks that the folder can be made and used
 * @returns one sentence for each changed mode, and for each path that other users can still read or write
 */
export function prepareDataFolder(
  dir: string,
  isNamed: boolean,
  changes = true,
): { readonly ok: true; readonly warnings: readonly string[] } | Failure {
  let path = dir
  try {
    if (changes) makeFolder(dir)
    while (!changes && !existsSync(path)) path = dirname(path)
    // The dot refuses a file.
    accessSync(`${path}/.`, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return usage(`${dir} cannot be the data folder${reasonOf(error)}.`, 'Choose another with --data.')
  }
  if (!changes) return { ok: true, warnings: [] }
  const closed = PRIVATE_FILES.map((name) => close(join(dir, name), 0o600))
  const folder = isNamed ? writableFolder(dir) : close(dir, 0o700)
  return { ok: true, warnings: [folder, ...closed].filter((it) => it !== undefined) }
}

/** True for a file of this user. A link or device may lead to what other programs need open. */
export function isOwnFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true && found.uid === process.geteuid?.()
}

function close(path: string, mode: 0o600 | 0o700): string | undefined {
  if (othersMay(path) === 0) return undefined
  if (mode === 0o600 && !isOwnFile(path))
    return `${path} is open to other users of this machine, and keeps its mode, because it is no file of yours.`
  try {
    chmodSync(path, mode)
  } catch (error) {
    return `${path} is open to other users of this machine, and cannot be closed (${codeOf(error)}).`
  }
  // On a file system without permissions, chmod succeeds without an effect.
  return othersMay(path) === 0
    ? `${path} was open to other users of this machine; its mode is 0${mode.toString(8)} now.`
    : `${path} is open to other users of this machine, and its file system keeps no permissions.`
}

/**
 * Refuses a key file that other users can read; it never changes the mode of a file that the user named. A key file
 * owned by root may be readable for its group, because containers mount secrets that way.
 */
export function refuseOpenKeyFile(path: string): Failure | undefined {
  const open = othersMay(path)
  if (open === 0 || (open === GROUP_READS && statSync(path).uid === ROOT)) return undefined
  return fail(
    'KEYS_UNUSABLE',
    `${path} is open to other users of this machine, who could make and verify vouchers with its keys.`,
    `Close it: ${closing(path, '600')}`,
  )
}
