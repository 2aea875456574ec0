import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import { isLoopbackHost } from '../../../contract/loopback.js'
import type { Context } from '../../command/context.js'
import { profileNotFound } from '../../config/config.js'
import { dataDirOf } from '../../config/local-server.js'
import { isGivenForCall } from '../../config/setting.js'
import type { Settings } from '../../config/settings.js'
import { type Failure, fail, usage } from '../../failure.js'
import { text } from '../../flags/flags.js'

export const dataFlag = {
  data: text('DIR', 'Data folder, default that of the profile, else $XDG_DATA_HOME/voucherctl'),
}

/**
 * Returns the absolute path of the data folder for a server command: --data, else the folder in the profile, else the
 * default (DECISIONS.md#local-server).
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

export const notRunning = (dir: string) =>
  fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No server runs in ${dir}.`,
    'Start one with `voucherctl server start --detach`, or name its folder with --data.',
  )
