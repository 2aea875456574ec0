import type { CredentialKind } from '../../../contract/endpoint.js'
import { redact } from '../../../contract/secrets.js'
import { ignoredFolders } from '../../../files/data-dir.js'
import type { Context } from '../../command/context.js'
import { configFile } from '../../config/config.js'
import { findCredential } from '../../config/credentials.js'
import { followedFolder } from '../../config/local-server.js'
import type { Settings } from '../../config/settings.js'
import type { Globals } from '../../flags/globals.js'
import type { Host } from '../../host/host.js'
import { credentialNames, webhookSecretVariable } from '../../host/secrets.js'
import { isOtherKind } from './whoami.js'

export async function explain({ settings, host, globals }: Context) {
  const { profileName, baseUrl, format, timeoutMs, retries, secure, profile, production } = settings
  const fromProfile = `profile ${profileName.value}`
  const own = (setting: string, value: unknown) => ({
    setting,
    value: value ?? null,
    source: value === undefined ? 'default' : fromProfile,
  })
  const folderVariable = ['VOUCHERCTL_CONFIG_DIR', 'XDG_CONFIG_HOME'].find(
    (it) => host.env[it] && !ignoredFolders(host).includes(it),
  )
  const items = [
    { setting: 'profile', ...profileName },
    { setting: 'base_url', value: baseUrl.value ?? null, source: baseUrl.source },
    { setting: 'output', ...format },
    { setting: 'timeout', value: `${timeoutMs.value / 1000}s`, source: timeoutMs.source },
    { setting: 'retries', ...retries },
    { setting: 'secure.mode', ...secure.mode },
    { setting: 'secure.origin', value: secure.origin.value ?? null, source: secure.origin.source },
    { setting: 'secure.pins', ...secure.pins },
    { setting: 'secure.latched', ...secure.latched },
    { setting: 'production', ...production },
    own('codes', profile.codes),
    own('account', profile.account),
    own('data folder', followedFolder(host, profile) ?? undefined),
    ...(await explainCredentials(host, globals, settings)),
    explainColour(host, globals),
    {
      setting: 'config file',
      value: configFile(host),
      source: folderVariable === undefined ? 'default' : `environment ${folderVariable}`,
    },
  ]
  return { items }
}

/** Lists the credential that a call would send, by kind and as prefix only. It makes no call. */
async function explainCredentials(host: Host, globals: Globals, settings: Settings) {
  const { value: baseUrl } = settings.baseUrl
  const quiet = { ...globals, 'dry-run': true }
  const rows = []
  for (const kind of ['jwt', 'token', 'bot', 'operator'] as const) {
    const setting = credentialNames[kind]
    const found = baseUrl === undefined ? undefined : await findCredential(host, quiet, settings, kind, baseUrl)
    const fits = found?.ok && !isOtherKind(globals, kind, found.value)
    rows.push(
      fits
        ? { setting, value: redact(found.value), source: found.source }
        : { setting, value: null, source: whyNone(settings, kind) },
    )
  }
  const secret = host.env[webhookSecretVariable]
  const source = secret ? `environment ${webhookSecretVariable}` : 'nowhere'
  return [...rows, { setting: 'webhook secret', value: secret ? redact(secret) : null, source }]
}

function whyNone({ profile, baseUrl, profileName }: Settings, kind: CredentialKind): string {
  const origin = profile.credentials?.[kind]?.origin
  if (origin === undefined) return 'nowhere'
  return `profile ${profileName.value} has one for ${origin}${baseUrl.value === undefined ? '' : ', not for this server'}`
}

function explainColour({ env }: Host, globals: Globals) {
  const [value, source] = globals['no-color']
    ? ['off', 'flag --no-color']
    : env.NO_COLOR
      ? ['off', 'environment NO_COLOR']
      : env.FORCE_COLOR !== undefined
        ? [['0', 'false'].includes(env.FORCE_COLOR) ? 'off' : 'on', 'environment FORCE_COLOR']
        : env.TERM === 'dumb'
          ? ['off', 'environment TERM']
          : ['auto', 'default']
  return { setting: 'color', value, source }
}
