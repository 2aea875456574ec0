import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import type { Context, ContextCallOptions } from '../../command/context.js'
import { type Profile, profileNotFound } from '../../config/config.js'
import {
  dataDirOf,
  findLocalServer,
  findRunningServers,
  isAddressOf,
  isProven,
  type LocalServer,
  localStart,
  readOperatorKey,
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
 * @param starts true for `server start`: it follows only a profile that the line names, which need not exist yet
 */
export function serverFolder(
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  named: string | undefined,
  starts = false,
): { readonly ok: true; readonly dir: string } | Failure {
  if (named !== undefined) return { ok: true, dir: resolve(host.cwd, named) }
  const { profile, profileName, profileMissing, config } = settings
  if (profileMissing && !starts) return profileNotFound(profileName.value, config)
  const remote = remoteOf(settings)
  const followed = starts && !isGivenForCall(profileName) ? {} : profile
  if (remote === undefined) return { ok: true, dir: resolve(host.cwd, dataDirOf(host, followed)) }
  return usage(
    `Profile ${profileName.value} is for ${remote}, which is no local server.`,
    'Name the data folder of a local one with --data DIR, or choose another profile with -p.',
  )
}

/** Base URL of a profile, if it names this machine or, with `isLocal` false, another one. */
const urlOf = ({ base_url: url }: Profile, isLocal: boolean): string | undefined =>
  url !== undefined && URL.canParse(url) && isLoopbackHost(parseBaseUrl(url).hostname) === isLocal ? url : undefined

/** Returns a profile's base URL if a flag or the environment selects the profile and its server is remote. */
export const remoteOf = ({ profile, profileName }: Settings): string | undefined =>
  profile.data_dir === undefined && isGivenForCall(profileName) ? urlOf(profile, false) : undefined

/** Loopback URL of a profile that names its server by address, not by a data folder (rules/cli.md#local-server). */
export const addressOf = ({ profile }: Settings): string | undefined =>
  profile.store ? undefined : urlOf(profile, true)

/** Where a command looked for a server: a data folder, or a base URL at which no local server runs. */
export type Place = { readonly data_dir: string | null; readonly base_url: string | null }

export type ServerLookup = Place & { readonly ok: true; readonly server: LocalServer | undefined }

/**
 * Finds the server for `server status` and `server stop`: in the folder of --data, else at the base URL of a flag or
 * the environment, else at the loopback URL of a profile that is not bound to a folder, else in the profile's folder.
 * `base_url` is set if no local server runs there. It refuses the server of a folder at another URL.
 */
export function findServer({ host, settings, line }: Context, data: string | undefined): ServerLookup | Failure {
  const { baseUrl, profile, profileName, config } = settings
  const named = data === undefined && isGivenForCall(baseUrl) ? baseUrl.value : undefined
  const url = named ?? (data === undefined ? addressOf(settings) : undefined)
  const found = url === undefined ? undefined : findRunningServers(host, config).find((it) => isAddressOf(it, url))
  if (found !== undefined) return { ok: true, data_dir: found.data_dir, base_url: null, server: found }
  const none = { ok: true, data_dir: null, server: undefined } as const
  if (named !== undefined) return { ...none, base_url: named }
  const folder = serverFolder({ host, settings }, data)
  if (!folder.ok) return folder
  const server = findLocalServer(folder.dir)
  if (url === undefined || (server === undefined && profile.data_dir !== undefined))
    return { ok: true, data_dir: folder.dir, base_url: null, server }
  if (server === undefined) return { ...none, base_url: url }
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No local server runs on ${url}, which profile ${profileName.value} names; the server of ${folder.dir} runs on ${server.base_url}.`,
    `To act on that one: \`${line} ${optionOf('data', folder.dir)}\``,
  )
}

export function notRunning({ host }: Pick<Context, 'host'>, dir: string): Failure {
  const hint = `Start one with ${localStart(host, dir)}, or choose one that runs: \`voucherctl server list\`.`
  return fail('LOCAL_SERVER_NOT_RUNNING', `No server runs in ${dir}.`, hint)
}

/**
 * Returns how to call the server of a data folder as its operator, whatever server the profile follows.
 * @param data data folder; undefined for the server that other commands call
 * @param known server of the folder, if the caller has found it
 */
export async function operatorOf(
  context: Context,
  data: string | undefined,
  known?: LocalServer,
): Promise<({ readonly ok: true } & ContextCallOptions) | Failure> {
  if (data === undefined) return { ok: true }
  const dir = resolve(context.host.cwd, data)
  const server = known ?? findLocalServer(dir)
  if (server === undefined || !(context.dryRun || (await isProven(server)))) return notRunning(context, dir)
  const credential = readOperatorKey(server)
  if (credential !== undefined) return { ok: true, target: { baseUrl: server.base_url, credential }, isProven: true }
  return fail('CREDENTIAL_REQUIRED', `The server of ${dir} has no operator API.`, 'Start it with --operator on.')
}
