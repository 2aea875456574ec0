import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { looksSecret } from '../../contract/values/secrets.js'
import { isMissing, reasonOf } from '../../files/error-code.js'
import { platform } from '../../files/platform.js'
import { readText, realPathOf } from '../../files/read-file.js'
import { parseObject } from '../../values/json.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import { foreignness } from '../host/permissions.js'
import { type Config, isSecure, type Profile, projectMembers, type SecureProfile } from './config.js'
import { findRunningServers, type LocalServer, originOf } from './local-server.js'

export interface ProjectFile {
  readonly path: string
  /** Text of the file. The command checks, shows and allows exactly this text. */
  readonly content: string
  readonly members: Readonly<Partial<Record<Exclude<(typeof projectMembers)[number], 'secure'>, string | number>>> & {
    readonly secure?: Omit<SecureProfile, 'latched'>
  }
}

/** A project file that was not read, because another user may have written it. */
export interface SkippedFile {
  readonly path: string
  readonly why: string
}

export type ProjectResult =
  | { readonly ok: true; readonly project: ProjectFile | undefined; readonly passedOver: readonly SkippedFile[] }
  | Failure

/**
 * Reads the nearest voucherctl.json between the working folder and the root of the repository or the home folder. It
 * does not read a file that another user may have written. It refuses a file with a secret, because project files are
 * shared.
 */
export function readProjectFile(host: Pick<Host, 'cwd' | 'homeDir'>): ProjectResult {
  const passedOver: SkippedFile[] = []
  for (const dir of foldersOf(host)) {
    const path = join(dir, 'voucherctl.json')
    const read = readOwnFile(path, dir)
    if (read === undefined) continue
    if ('why' in read) {
      passedOver.push({ path, why: read.why })
      continue
    }
    if ('ok' in read) return read
    const checked = checkProjectFile(path, read.content)
    return 'ok' in checked ? checked : { ok: true, project: checked, passedOver }
  }
  return { ok: true, project: undefined, passedOver }
}

/**
 * Lists the folders to search: from the working folder up to the repository root or home folder, else up to the root
 * of the file system. On Windows, where Node reports no owner, it searches only the working folder unless that is in a
 * repository or in the home folder.
 */
export function foldersOf(
  { cwd, homeDir }: Pick<Host, 'cwd' | 'homeDir'>,
  { hasOwners } = platform,
): readonly string[] {
  const home = realPathOf(homeDir)
  const folders: string[] = []
  for (let dir = cwd; ; dir = dirname(dir)) {
    folders.push(dir)
    if (existsSync(join(dir, '.git')) || realPathOf(dir) === home) return folders
    if (dirname(dir) === dir) return hasOwners ? folders : [cwd]
  }
}

type OwnFileResult = { readonly content: string } | { readonly why: string } | Failure

/** Opens the file once, so that the checked owner and mode belong to the content even if the file is replaced. */
function readOwnFile(path: string, dir: string): OwnFileResult | undefined {
  let file: number | undefined
  try {
    // Without O_NONBLOCK, opening a named pipe would block the command.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stats = fstatSync(file)
    const why = foreignness(path, stats) ?? foreignness(dir, statSync(dir))
    if (why !== undefined) return { why }
    if (!stats.isFile()) return fail('CONFIG_INVALID', `${path} is not a file.`)
    return { content: readText(file).replace(/^\ufeff/, '') }
  } catch (error) {
    if (isMissing(error)) return undefined
    const why = foreignnessOfClosed(path, dir)
    return why === undefined ? fail('CONFIG_INVALID', `${path} cannot be read${reasonOf(error)}.`) : { why }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Explains why a file that cannot be opened may belong to another user. */
function foreignnessOfClosed(path: string, dir: string): string | undefined {
  try {
    const stats = lstatSync(path)
    // Ignore the mode of a symbolic link, which is always writable.
    const owned = stats.isSymbolicLink() ? { uid: stats.uid, gid: stats.gid, mode: 0 } : stats
    return foreignness(path, owned) ?? foreignness(dir, statSync(dir))
  } catch {
    return undefined
  }
}

function checkProjectFile(path: string, content: string): ProjectFile | Failure {
  const members = parseObject(content)
  if (members === undefined) return fail('CONFIG_INVALID', `${path} is not a JSON object.`)
  const secret = Object.entries(members).find(([name, value]) => looksSecret(name, value))
  if (secret !== undefined) {
    return fail(
      'CONFIG_HOLDS_SECRET',
      `${path} holds a secret in "${secret[0]}". A project file is shared with everybody who has the project.`,
      'Remove it there and revoke it; keep secrets in a profile (`voucherctl login`) or in the environment.',
    )
  }
  const unknown = Object.keys(members).find((name) => !(projectMembers as readonly string[]).includes(name))
  if (unknown !== undefined) {
    return fail(
      'CONFIG_INVALID',
      `${path} has an unknown member "${unknown}".`,
      `It may hold ${projectMembers.join(', ')}.`,
    )
  }
  for (const [name, value] of Object.entries(members)) {
    const form = wrongForm(name, value)
    if (form !== undefined) return fail('CONFIG_INVALID', `${path}: "${name}" must be ${form}.`)
  }
  return { path, content, members }
}

/** Says what the value of a member must be; undefined for a valid value. */
function wrongForm(name: string, value: unknown): string | undefined {
  if (name === 'secure') {
    const isRight = isSecure(value) && Object.keys(value).every((it) => ['mode', 'origin', 'pins'].includes(it))
    return isRight ? undefined : 'an object with mode, origin and pins'
  }
  const [type, form] = name === 'retries' ? ['number', 'a number'] : ['string', 'text']
  return typeof value === type ? undefined : form
}

/** Permission for commands to send credentials to the server that a project file names, with the reason. */
export interface Permission {
  readonly allowed: boolean
  readonly reason: 'no server' | 'local server' | 'server of the profile' | 'allowed' | 'changed since' | 'not allowed'
  /** The running server of this user that has the base URL. */
  readonly localServer?: LocalServer | undefined
}

/** The base URL of a project file that the user has not allowed. */
export interface UnapprovedServer {
  readonly path: string
  readonly baseUrl: string
  readonly reason: Permission['reason']
}

/**
 * Decides whether calls may go to the server that a project file names. The user must have allowed the file, because a
 * call can carry credentials from the environment and another user may have written it (RULES.md#project-file). On a
 * loopback port a process of any user may listen, so only the user's own running servers need no permission.
 */
export function permissionOf(
  host: Pick<Host, 'env' | 'homeDir'>,
  { path, content, members }: ProjectFile,
  profile: Profile,
  config: Config,
): Permission {
  const { base_url: baseUrl } = members
  if (typeof baseUrl !== 'string') return { allowed: true, reason: 'no server' }
  const origin = originOf(baseUrl)
  if (originOf(profile.base_url) === origin) return { allowed: true, reason: 'server of the profile' }
  const localServer = findRunningServers(host, config).find((it) => originOf(it.base_url) === origin)
  if (localServer !== undefined) return { allowed: true, reason: 'local server', localServer }
  const { projects = {} } = config
  if (!Object.hasOwn(projects, path)) return { allowed: false, reason: 'not allowed' }
  const isSame = projects[path] === content
  return { allowed: isSame, reason: isSame ? 'allowed' : 'changed since' }
}

export function projectNotAllowed({ path, baseUrl, reason }: UnapprovedServer): Failure {
  const state = reason === 'changed since' ? 'has changed since you allowed it' : 'is not allowed to name it'
  return fail(
    'PROJECT_NOT_ALLOWED',
    `The server ${baseUrl} is named by ${path} alone, which ${state}. Nothing was sent.`,
    'If you trust that file: `voucherctl project allow`. Or name the server yourself with --base-url URL.',
    { project_file: path },
  )
}
