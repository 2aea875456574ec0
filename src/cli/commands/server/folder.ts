import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import { isLoopbackHost } from '../../../values/loopback.js'
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
import { type Failure, fail, optionOf, usage } from '../../failures/failure.js'
import { text } from '../../flags/flags.js'

export const dataFlag = {
  data: text('DIR', 'Data folder, default from the profile'),
}

/**
 * Returns the absolute path of the data folder for a server command: --data, else the folder in the profile, else the
 * default (rules/cli.md#local-server).
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

/** Loopback URL of a profile that names its server by address, not by a data folder (rules/cli.md#local-server). */
export function addressOf({ profile }: Settings): string | undefined {
  const { base_url: baseUrl } = profile
  if (baseUrl === undefined || profile.store || !URL.canParse(baseUrl)) return undefined
  return isLoopbackHost(parseBaseUrl(baseUrl).hostname) ? baseUrl : undefined
}

type ServerLookup =
  | { readonly ok: true; readonly dir: string; readonly server: LocalServer | undefined }
  | { readonly ok: true; readonly dir: undefined; readonly baseUrl: string }

/**
 * Finds the server for `server status` and `server stop`: in the folder of --data, else at the base URL of a flag or
 * the environment, else at the loopback URL of a profile that is not bound to a folder, else in the profile's folder.
 * `dir` is undefined if no local server runs at the URL. It refuses the server of a folder at another URL.
 */
export function findServer({ host, settings, line }: Context, data: string | undefined): ServerLookup | Failure {
  const { baseUrl, profile, profileName, config } = settings
  const named = data === undefined && isGivenForCall(baseUrl) ? baseUrl.value : undefined
  const url = named ?? (data === undefined ? addressOf(settings) : undefined)
  const found = url === undefined ? undefined : findRunningServers(host, config).find((it) => isAddressOf(it, url))
  if (found !== undefined) return { ok: true, dir: found.data_dir, server: found }
  if (named !== undefined) return { ok: true, dir: undefined, baseUrl: named }
  const folder = serverFolder({ host, settings }, data)
  if (!folder.ok) return folder
  const server = findLocalServer(folder.dir)
  if (url === undefined || (server === undefined && profile.data_dir !== undefined)) return { ...folder, server }
  if (server === undefined) return { ok: true, dir: undefined, baseUrl: url }
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No local server runs on ${url}, which profile ${profileName.value} names; the server of ${folder.dir} runs on ${server.base_url}.`,
    `To act on that one: \`${line} ${optionOf('data', folder.dir)}\``,
  )
}

export function notRunning({ host, settings }: Pick<Context, 'host' | 'settings'>, dir: string): Failure {
  const isAnother = findRunningServers(host, settings.config).length > 0
  const other = isAnother ? 'choose one that runs: `voucherctl server list`' : 'name its folder with --data'
  const start = 'Start one with `voucherctl server start --detach`'
  return fail('LOCAL_SERVER_NOT_RUNNING', `No server runs in ${dir}.`, `${start}, or ${other}.`)
}
