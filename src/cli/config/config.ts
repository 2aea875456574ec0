import { dirname, isAbsolute, join } from 'node:path'
import type { CredentialKind } from '../../contract/endpoint.js'
import { userFolder } from '../../files/data-dir.js'
import { codeOf, isMissing, reasonOf } from '../../files/error-code.js'
import { readText } from '../../files/read-file.js'
import type { SecureMode } from '../../secure/client/options.js'
import { asMembers, parseObject } from '../../values/json.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import { closing, othersMay, writableFolder } from '../host/permissions.js'

/** A secret and the only origin to which it may be sent. */
export interface StoredCredential {
  readonly value: string
  readonly origin: string
  /** Id of the local store that issued it; it is then sent to the server of this store, whatever its port. */
  readonly store?: string
}

/** Encryption settings of a profile (rules/encryption.md#client-modes, rules/encryption.md#key-pins). */
export interface SecureProfile {
  readonly mode?: SecureMode
  readonly origin?: string
  /** Accepted keys of the server, as at most two pins, oldest first. */
  readonly pins?: readonly string[]
  /** Origins with downgrade protection: the mode `auto` never sends plain text to them. */
  readonly latched?: readonly string[]
}

export interface Profile {
  readonly base_url?: string
  readonly account?: string
  readonly production?: boolean
  /** `reference`: redeem codes have the form of the reference server, so commands can check a code before a call. */
  readonly codes?: 'reference'
  readonly output?: string
  readonly timeout?: string
  readonly retries?: number
  /** Data folder of the local server; a login stores it. */
  readonly data_dir?: string
  /** Store of the local server, which commands find by its folder. Null: no local server; absent: not known. */
  readonly store?: string | null
  readonly secure?: SecureProfile
  readonly credentials?: Readonly<Partial<Record<CredentialKind, StoredCredential>>>
}

export interface Config {
  readonly current: string
  readonly profiles: Readonly<Record<string, Profile>>
}

export const DEFAULT_PROFILE = 'default'

export const emptyConfig: Config = { current: DEFAULT_PROFILE, profiles: {} }

/** Members of a host that decide where the profile file is. */
type Home = Pick<Host, 'env' | 'homeDir'>

export const configDir = (host: Home): string =>
  host.env.VOUCHERCTL_CONFIG_DIR || join(userFolder(host, 'CONFIG'), 'voucherctl')

export const configFile = (host: Home) => join(configDir(host), 'config.json')

/** The profile file; `warning` is set if other users can read it. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warning?: string | undefined }
  | Failure

/** Refuses variables that would put secrets into the working folder (rules/cli.md#folders). */
export function refuseFolders({ env: { VOUCHERCTL_CONFIG_DIR: dir }, homeDir }: Home): Failure | undefined {
  if (dir?.startsWith('~')) return notAbsolute('VOUCHERCTL_CONFIG_DIR', dir, '/.config/voucherctl')
  return isAbsolute(homeDir) ? undefined : notAbsolute('HOME', homeDir || 'unset', '')
}

const notAbsolute = (name: string, value: string, path: string) =>
  fail('FOLDER_INVALID', `${name} must be absolute, not ${value}.`, `Set it: \`export ${name}=/home/you${path}\`.`)

export function readConfig(host: Home): ConfigResult {
  const refused = refuseFolders(host)
  if (refused !== undefined) return refused
  const path = configFile(host)
  let content: string
  try {
    content = readText(path)
  } catch (error) {
    if (isMissing(error)) return { ok: true, config: emptyConfig }
    return fail('CONFIG_INVALID', `${path} cannot be read${reasonOf(error)}.`, 'Check its owner and permissions.')
  }
  const stored = parseObject(content) as Partial<Config> | undefined
  if (stored === undefined || !isProfiles(stored.profiles)) {
    return fail('CONFIG_INVALID', `${path} is not a profile file.`, 'Repair it or move it away, then log in again.')
  }
  const { current = DEFAULT_PROFILE, profiles } = stored
  return { ok: true, config: { current, profiles }, warning: warningOf(path) }
}

/** Warns of an insecure file or folder. A readable folder is fine (the file is 0600), a writable one is not. */
function warningOf(path: string): string | undefined {
  if (othersMay(path) !== 0)
    return `Other users of this machine have access to ${path}. Close it: ${closing(path, '600')}`
  return writableFolder(dirname(path))
}

/** Finds a profile by name; inherited members such as `constructor` are not profiles. */
export const findProfile = ({ profiles }: Config, name: string) =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined

export function profileNotFound(name: string, { profiles }: Config): Failure {
  const known = Object.keys(profiles)
  return fail(
    'PROFILE_NOT_FOUND',
    `There is no profile ${name}.`,
    known.length === 0 ? 'Make one with `voucherctl login`.' : `The profiles: ${known.join(', ')}.`,
  )
}

/**
 * Changes the profile file while holding a lock, so that concurrent commands do not lose changes. It replaces the file
 * atomically with mode 0600; a new folder gets 0700, an existing folder keeps its permissions.
 */
export async function updateConfig(host: Home, change: (config: Config) => Config): Promise<Failure | undefined> {
  return underLock(host, ({ replaceFile }) => {
    const stored = readConfig(host)
    if (!stored.ok) return stored
    replaceFile(configFile(host), `${JSON.stringify(change(stored.config), null, 2)}\n`)
    return undefined
  })
}

/** Changes one profile; `change` gets the current profile, or an empty one if it does not exist. */
export function changeProfile(
  host: Home,
  name: string,
  change: (before: Profile) => Profile,
): Promise<Failure | undefined> {
  return updateConfig(host, (config) => {
    const changed = change(findProfile(config, name) ?? {})
    return { ...config, profiles: { ...config.profiles, [name]: changed } }
  })
}

/** Checks that the profile file is writable, before an action that cannot be repeated if storing its result fails. */
export async function checkConfigWritable(host: Home): Promise<Failure | undefined> {
  return underLock(host, () => undefined)
}

async function underLock(
  host: Home,
  act: (files: typeof import('../../files/replace-file.js')) => Failure | undefined,
): Promise<Failure | undefined> {
  const { withLock } = await import('../host/lock.js')
  const files = await import('../../files/replace-file.js')
  const { makeFolder } = await import('../../files/sync-folder.js')
  try {
    makeFolder(configDir(host))
    return await withLock(`${configFile(host)}.lock`, () => {
      // This process holds the lock, so no other one can be writing: all drafts are from killed processes.
      files.removeDrafts(configFile(host))
      files.removeDrafts(`${configFile(host)}.lock`)
      files.refuseForeignFile(configFile(host))
      return act(files)
    })
  } catch (error) {
    const code = codeOf(error)
    const hint =
      unwritable[code] ?? 'Check the permissions of its folder, or choose another with VOUCHERCTL_CONFIG_DIR.'
    return fail('FILE_UNWRITABLE', `${configFile(host)} cannot be written${reasonOf(error)}.`, hint)
  }
}

const unwritable: Readonly<Partial<Record<string, string>>> = {
  ENOSPC: 'The disk is full: make room. What the file held before is still there.',
  EDQUOT: 'Your quota of the disk is used up: make room. What the file held before is still there.',
  OWNED_BY_ANOTHER_USER: 'Run the command as the user who owns it, or name a folder with VOUCHERCTL_CONFIG_DIR.',
  ELOCKED: 'Another voucherctl is writing it. If none runs, remove config.json.lock beside it.',
}

const areTexts = (values: readonly unknown[]) => values.every((it) => typeof it === 'string')

function holds(value: unknown, test: (member: unknown) => boolean): boolean {
  const members = asMembers(value)
  return members !== undefined && Object.values(members).every(test)
}

const isProfiles = (value: unknown): value is Config['profiles'] => holds(value, isProfile)

function isProfile(value: unknown): boolean {
  const profile = asMembers(value)
  if (profile === undefined) return false
  const { base_url = '', account = '', data_dir = '', credentials = {}, secure = {} } = profile
  return areTexts([base_url, account, data_dir]) && isSecure(secure) && holds(credentials, isCredential)
}

function isCredential(value: unknown): boolean {
  const { value: secret, origin } = asMembers(value) ?? {}
  return areTexts([secret, origin])
}

/** Checks only the types of the members. `resolveSecure` checks the values, because its errors name the source. */
function isSecure(value: unknown): value is SecureProfile {
  const secure = asMembers(value)
  if (secure === undefined) return false
  const { mode = '', origin = '', pins = [], latched = [] } = secure
  return areTexts([mode, origin]) && [pins, latched].every((list) => Array.isArray(list) && areTexts(list))
}
