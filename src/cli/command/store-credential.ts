import { parseBaseUrl } from '../../client/base-url.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { redact } from '../../contract/secrets.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { changeProfile, checkConfigWritable, configFile, type Profile } from '../config/config.js'
import { bindTo, findServerAt, originOf } from '../config/local-server.js'
import { isGivenForCall } from '../config/settings.js'
import type { Failure } from '../failures/failure.js'
import { credentialNames, credentialVariables } from '../host/secrets.js'
import type { Context } from './context.js'

/** With --save, checks that the profile file is writable before the server issues a token, which it shows only once. */
export async function checkCanStore({ host, dryRun }: Context, save: boolean): Promise<Failure | undefined> {
  return save && !dryRun ? checkConfigWritable(host) : undefined
}

/**
 * Asks before it replaces a stored credential that no server shows again. An account JWT needs no question: it expires,
 * and a login issues another.
 * @param value the new credential, if already known
 */
export async function confirmReplacing(
  { confirm, settings }: Context,
  kind: CredentialKind,
  value?: string,
): Promise<Failure | undefined> {
  const stored = settings.profile.credentials?.[kind]
  if (stored === undefined || stored.value === value) return undefined
  const action = `Replacing the ${credentialNames[kind]} of profile ${settings.profileName.value}`
  return confirm({ action, loses: shownOnce({ credentials: { [kind]: stored } }) })
}

/** Names the credentials of a profile that nobody can show again; undefined without one. A JWT comes with each login. */
export function shownOnce({ credentials = {} }: Pick<Profile, 'credentials'>): string | undefined {
  const { jwt: _jwt, ...tokens } = credentials
  const names = Object.entries(tokens).map(
    ([kind, it]) => `the ${credentialNames[kind as CredentialKind]} ${redact(it.value)} for ${it.origin}`,
  )
  return names.length === 0 ? undefined : `Nobody can show again what is lost: ${names.join(', ')}.`
}

/** Stores a credential in the profile for the chosen server's origin, and notes that the file is not encrypted. */
export async function storeCredential(
  context: Context,
  kind: CredentialKind,
  value: string,
  also: Partial<Profile> = {},
): Promise<Failure | undefined> {
  const base = also.base_url === undefined ? context.baseUrl(true) : ({ ok: true, value: also.base_url } as const)
  if (!base.ok) return base
  const { host, output, settings } = context
  const name = settings.profileName.value
  // Check first: on failure, stderr must hold only the error object and not also the note.
  const problem = await checkConfigWritable(host)
  if (problem !== undefined) return problem
  output.notice(
    `note: the ${credentialNames[kind]} is stored in plain text, readable by you alone, in ${configFile(host)}`,
  )
  const variable = credentialVariables[kind]
  if (host.env[variable]) output.notice(`note: ${variable} is set and wins over the profile: unset it`)
  const { origin, hostname } = parseBaseUrl(base.value)
  const server = findServerAt(host, settings, origin)
  const isGiven = isGivenForCall(settings.baseUrl)
  return changeProfile(host, name, (profile) => {
    const url = also.base_url ?? (isGiven ? profile.base_url : undefined) ?? base.value
    const credentials = { ...profile.credentials, [kind]: { value, origin } }
    const changed = { ...atServer(profile, url), ...also, credentials }
    if (server !== undefined) return bindTo(host, changed, server)
    return isLoopbackHost(hostname) && originOf(url) === origin ? { ...changed, store: null } : changed
  })
}

/** Copies a profile with another base URL. It drops what binds it to the server at the old URL. */
export function atServer(profile: Profile, baseUrl: string): Profile {
  if (originOf(profile.base_url) === originOf(baseUrl)) return { ...profile, base_url: baseUrl }
  const { data_dir: dir, store: _store, ...rest } = profile
  const isLocal = dir !== undefined && isLoopbackHost(parseBaseUrl(baseUrl).hostname)
  return { ...rest, base_url: baseUrl, ...(isLocal ? { data_dir: dir } : {}) }
}
