import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { foldersOf } from '../host/folders.js'
import type { Host } from '../host/host.js'

/** What replaces the project file and its commands. */
export const INSTEAD =
  'Set VOUCHERCTL_BASE_URL or VOUCHERCTL_PROFILE in the environment instead, for example in an .envrc.'

/**
 * Finds the nearest voucherctl.json, from which earlier versions read settings. Its content stays unread, because
 * another user may have written it.
 */
export const findOldProjectFile = (host: Pick<Host, 'cwd' | 'homeDir'>): string | undefined =>
  foldersOf(host)
    .map((dir) => join(dir, 'voucherctl.json'))
    .find((path) => existsSync(path))

export const notReadText = (path: string) => `${path} is no longer read. ${INSTEAD}`
