import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import { isLoopbackHost } from '../../../contract/values/loopback.js'
import type { Context } from '../../command/context.js'
import { profileNotFound } from '../../config/config.js'
import {
  dataDirOf,
  findLocalServer,
  findRunningServers,
  isAddressOf,
  type LocalServer,
} from '../../config/local-server.js'
import { isGivenForCall, type Settings } from '../../config/settings.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { text } from '../../flags/flags.js'

export const dataFlag = {
  data: text('DIR', 'Data folder, default that of the profile'),
}

/**
 * Returns the absolute path of the data folder for a server command: --data, else the folder in the profile, else the
 * default (RULES.md#local-server).
 * @param mayBeNew true if the profile need not exist
 */
export function serverFolder(
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  named: string | undefined,
  mayBeNew = false,
): { readonly ok: true; readonly dir: string } | Failure {
  if (named !== undefined) return { ok: true, dir: resolve(host.cwd, named) }
  const { profile, profileName, profileMissing, config } = settings
  if (profileMissing && !mayBeNew) return profileNotFound(profileName.value, config)
  const remote = remoteOf(settings)
  if (remote === undefined) return { ok: true, dir: resolve(host.cwd, dataDirOf(host, profile)) }
  return usage(
    `Profile ${profileName.value} is for ${remote}, which is no local server.`,
    'Name the data folder of a local one with --data DIR, or choose another profile with -p.',
  )
}

/** Returns a profile's base URL if a flag or the environment selects the profile and its server is remote. */
export function remoteOf({ profile, profileName }: Settings): string | undefined {
  if (profile.data_dir !== undefined || !isGivenForCall(profileName)) return undefined
  const { base_url: baseUrl } = profile
  return baseUrl === undefined || !URL.canParse(baseUrl) || isLoopbackHost(parseBaseUrl(baseUrl).hostname)
    ? undefined
    : baseUrl
}

type ServerLookup =
  | { readonly ok: true; readonly dir: string; readonly server: LocalServer | undefined }
  | { readonly ok: true; readonly dir: undefined; readonly baseUrl: string }

/**
 * Finds the server for `server status` and `server stop`: in the folder of --data, else at the base URL of a flag or
 * the environment, else at the loopback URL of a profile without a folder, else in the profile's folder. `dir` is
 * undefined if no local server runs at a base URL that was given for this call.
 */
export function findServer({ host, settings }: Context, data: string | undefined): ServerLookup | Failure {
  const { baseUrl, profile, config } = settings
  const named = data === undefined && isGivenForCall(baseUrl) ? baseUrl.value : undefined
  const url = named ?? (data === undefined && profile.data_dir === undefined ? profile.base_url : undefined)
  const found = url === undefined ? undefined : findRunningServers(host, config).find((it) => isAddressOf(it, url))
  if (found !== undefined) return { ok: true, dir: found.data_dir, server: found }
  if (named !== undefined) return { ok: true, dir: undefined, baseUrl: named }
  const folder = serverFolder({ host, settings }, data)
  return folder.ok ? { ...folder, server: findLocalServer(folder.dir) } : folder
}

export function notRunning({ host, settings }: Pick<Context, 'host' | 'settings'>, dir: string): Failure {
  const isAnother = findRunningServers(host, settings.config).length > 0
  const other = isAnother ? 'choose one that runs: `voucherctl server list`' : 'name its folder with --data'
  const start = 'Start one with `voucherctl server start --detach`'
  return fail('LOCAL_SERVER_NOT_RUNNING', `No server runs in ${dir}.`, `${start}, or ${other}.`)
}
