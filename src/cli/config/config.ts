import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CredentialKind } from '../../contract/endpoint.js'
import { codeOf, isMissing } from '../../files/error-code.js'
import type { SecureMode } from '../../secure/client/options.js'
import { asMembers } from '../../secure/json.js'
import { type Failure, fail } from '../failure.js'
import type { Host } from '../host/host.js'
import { parseObject } from '../host/parse-object.js'
import { closing, othersMay, othersMayWrite } from '../host/permissions.js'

/** A secret, and the origin that it was stored for: it is sent nowhere else. */
interface StoredCredential {
  readonly value: string
  readonly origin: string
}

/** How a profile encrypts its calls (DECISIONS.md#client-modes, DECISIONS.md#key-pins). */
export interface SecureProfile {
  readonly mode?: SecureMode
  readonly origin?: string
  /** Of the server's key; the oldest first, two at most. */
  readonly pins?: readonly string[]
  /** Origins of servers that took part once: `auto` never goes back to plain text there. */
  readonly latched?: readonly string[]
}

/** What a person keeps about a server under a name. */
export interface Profile {
  readonly base_url?: string
  readonly account?: string
  readonly production?: boolean
  /** `reference`: the server forms redeem codes as this one does, so a code is checked before the call. */
  readonly codes?: 'reference'
  readonly output?: string
  readonly timeout?: string
  readonly retries?: number
  /** Data folder of the local server that was logged in to. */
  readonly data_dir?: string
  readonly secure?: SecureProfile
  readonly credentials?: Readonly<Partial<Record<CredentialKind, StoredCredential>>>
}

export interface Config {
  readonly current: string
  readonly profiles: Readonly<Record<string, Profile>>
  /** Project files that the user allowed to name a server: path to allowed content. */
  readonly projects?: Readonly<Record<string, string>> | undefined
}

export const DEFAULT_PROFILE = 'default'

/** What says where the profile file is. */
type Home = Pick<Host, 'env' | 'homeDir'>

export function configDir({ env, homeDir }: Home): string {
  if (env.VOUCHERCTL_CONFIG_DIR) return env.VOUCHERCTL_CONFIG_DIR
  return join(env.XDG_CONFIG_HOME || join(homeDir, '.config'), 'voucherctl')
}

export const configFile = (host: Home) => join(configDir(host), 'config.json')

/** With a warning where its secrets are not safe. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warning?: string | undefined }
  | Failure

export function readConfig(host: Home): ConfigResult {
  const path = configFile(host)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return { ok: true, config: { current: DEFAULT_PROFILE, profiles: {} } }
    return fail('CONFIG_INVALID', `${path} cannot be read (${codeOf(error)}).`, 'Check its owner and permissions.')
  }
  const stored = parseObject(content) as Partial<Config> | undefined
  if (
    stored === undefined ||
    !isProfiles(stored.profiles) ||
    !holds(stored.projects ?? {}, (it) => typeof it === 'string')
  ) {
    return fail('CONFIG_INVALID', `${path} is not a profile file.`, 'Repair it or move it away, then log in again.')
  }
  const { current = DEFAULT_PROFILE, profiles, projects } = stored
  return { ok: true, config: { current, profiles, projects }, warning: warningOf(path) }
}

/** A folder that others may only read harms nobody: the file in it is closed. Who may write there could replace it. */
function warningOf(path: string): string | undefined {
  if (othersMay(path) !== 0)
    return `Other users of this machine have access to ${path}. Close it: ${closing(path, '600')}`
  const dir = dirname(path)
  return othersMayWrite(dir)
    ? `Other users of this machine can write to ${dir}. Close it: ${closing(dir, '700')}`
    : undefined
}

/** A name may be that of a member of every object. */
export const findProfile = ({ profiles }: Config, name: string) =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined

export function profileNotFound(name: string, { profiles }: Config): Failure {
  const known = Object.keys(profiles)
  return fail(
    'PROFILE_NOT_FOUND',
    `There is no profile ${name}.`,
    known.length === 0 ? 'Make one with `voucherctl login`.' : `There are ${known.join(', ')}.`,
  )
}

/**
 * Changes the profile file: read again and written under a lock, so that two commands at once both keep their work.
 * Atomic, 0600, in a folder that is made with 0700; an existing folder keeps its permissions.
 */
export async function updateConfig(host: Home, change: (config: Config) => Config): Promise<Failure | undefined> {
  return underLock(host, ({ replaceFile }) => {
    const stored = readConfig(host)
    if (!stored.ok) return stored
    replaceFile(configFile(host), `${JSON.stringify(change(stored.config), null, 2)}\n`)
    return undefined
  })
}

/** Writes one profile, made from what it is at that moment: empty when there is none. */
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

/** Why the profile file cannot be written, before something is done that cannot be done again. */
export async function checkConfigWritable(host: Home): Promise<Failure | undefined> {
  return underLock(host, () => undefined)
}

async function underLock(
  host: Home,
  act: (files: typeof import('../../files/replace-file.js')) => Failure | undefined,
): Promise<Failure | undefined> {
  const { mkdirSync } = await import('node:fs')
  const { withLock } = await import('../host/lock.js')
  const files = await import('../../files/replace-file.js')
  try {
    mkdirSync(configDir(host), { recursive: true, mode: 0o700 })
    return await withLock(`${configFile(host)}.lock`, () => {
      // Nobody else writes under the lock: every draft is of a killed writer.
      files.removeDrafts(configFile(host), 'all')
      return act(files)
    })
  } catch (error) {
    const code = codeOf(error)
    const hint =
      unwritable[code] ?? 'Check the permissions of its folder, or choose another with VOUCHERCTL_CONFIG_DIR.'
    return fail('FILE_UNWRITABLE', `${configFile(host)} cannot be written (${code}).`, hint)
  }
}

const unwritable: Readonly<Partial<Record<string, string>>> = {
  ENOSPC: 'The disk is full: make room. What the file held before is still there.',
  EDQUOT: 'Your quota of the disk is used up: make room. What the file held before is still there.',
  ELOCKED: 'Another voucherctl is writing it. If none runs, remove config.json.lock beside it.',
}

const areTexts = (values: readonly unknown[]) => values.every((it) => typeof it === 'string')

/** True for an object whose members all pass. */
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

/** Modes, origins and pins are judged where they are used, with the place that they came from. */
export function isSecure(value: unknown): value is SecureProfile {
  const secure = asMembers(value)
  if (secure === undefined) return false
  const { mode = '', origin = '', pins = [], latched = [] } = secure
  return areTexts([mode, origin]) && [pins, latched].every((list) => Array.isArray(list) && areTexts(list))
}
