import { parseBaseUrl } from '../../client/base-url.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import { readSecret, type TextResult } from '../host/files.js'
import type { Host } from '../host/host.js'
import { credentialNames, credentialVariables, remember } from '../host/secrets.js'
import { findRunningServers, identify, readOperatorKey } from './local-server.js'
import type { Settings } from './settings.js'

interface FoundCredential {
  readonly ok: true
  readonly value: string
  readonly source: string
}

/** Content of --token-file by command line: a pipe is readable only once, and a command may make several calls. */
const read = new WeakMap<Globals, Promise<TextResult>>()

/**
 * Finds the credential of a kind for a server: flag > environment > profile > key file of the local server.
 * A stored credential is used only for the origin for which it was stored.
 */
export async function findCredential(
  host: Host,
  globals: Globals,
  settings: Settings,
  kind: CredentialKind,
  baseUrl: string,
): Promise<FoundCredential | Failure> {
  const file = globals['token-file']
  if (file !== undefined) {
    const reading = read.get(globals) ?? readSecret(host, file)
    read.set(globals, reading)
    const secret = await reading
    return secret.ok ? { ok: true, value: secret.text, source: `flag --token-file` } : secret
  }
  const variable = credentialVariables[kind]
  const fromEnvironment = host.env[variable]
  if (fromEnvironment) return { ok: true, value: fromEnvironment, source: `environment ${variable}` }

  const { origin } = parseBaseUrl(baseUrl)
  const stored = settings.profile.credentials?.[kind]
  if (stored?.origin === origin) {
    remember(host, stored.value)
    return { ok: true, value: stored.value, source: `profile ${settings.profileName.value}` }
  }
  if (kind === 'operator') {
    const key = await operatorKeyOf(host, globals, settings, origin)
    if (key !== undefined) return key
  }
  return missing(kind, origin, settings)
}

/** Reads the local server's operator key from its key file, only for the base URL of this server. */
async function operatorKeyOf(
  host: Host,
  globals: Globals,
  { config }: Settings,
  origin: string,
): Promise<FoundCredential | undefined> {
  for (const server of findRunningServers(host, config)) {
    if (!URL.canParse(server.base_url) || new URL(server.base_url).origin !== origin) continue
    const value = readOperatorKey(server)
    if (!value || (!globals['dry-run'] && (await identify(server)) !== 'same')) continue
    remember(host, value)
    return { ok: true, value, source: `the local server of ${server.data_dir}` }
  }
  return undefined
}

function missing(kind: CredentialKind, origin: string, { profile, profileName }: Settings): Failure {
  const wayIn: Readonly<Record<CredentialKind, string>> = {
    token: '`voucherctl tokens create --save` makes one and keeps it, `voucherctl login --with-token -` keeps one',
    bot: '`voucherctl bots get` shows the one of an approved bot once, `voucherctl login --with-token -` keeps one',
    jwt: '`voucherctl login --local --account me` gets one from a local server, `voucherctl login --with-token -` keeps one',
    operator: "it is in operator.key of the server's data folder",
  }
  const other = profile.credentials?.[kind]?.origin
  const otherServer =
    other === undefined
      ? ''
      : `The one in profile ${profileName.value} is for ${other} and is not sent to another server. `
  const name = credentialNames[kind]
  return fail(
    'CREDENTIAL_REQUIRED',
    `There is no ${name} for ${origin}.`,
    `${otherServer}Give it with --token-file PATH or ${credentialVariables[kind]}; ${wayIn[kind]}.`,
    { kind },
  )
}
