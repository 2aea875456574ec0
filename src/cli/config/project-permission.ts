import { type Failure, fail } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import type { Config, Profile } from './config.js'
import { findRunningServers, type LocalServer } from './local-server.js'
import type { ProjectFile } from './project-file.js'

/** Whether commands may send credentials to the server that a project file names, with the reason. */
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
 * call can carry credentials from the environment and another user may have written it (DECISIONS.md#project-file). On a
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

export function originOf(baseUrl: string | undefined): string | undefined {
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : undefined
}
