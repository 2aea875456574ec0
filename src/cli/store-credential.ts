import { parseBaseUrl } from '../client/base-url.js'
import type { CredentialKind } from '../contract/endpoint.js'
import type { Profile } from './config.js'
import { configFile, writeConfig } from './config.js'
import type { Context } from './context.js'
import type { Failure } from './failure.js'
import { credentialNames } from './secrets.js'

/** Keeps a credential in the profile, for the origin of the chosen server. That it is plain text is said before. */
export async function storeCredential(
  context: Context,
  kind: CredentialKind,
  value: string,
  also: Partial<Profile> = {},
): Promise<Failure | undefined> {
  const base = also.base_url === undefined ? context.baseUrl() : ({ ok: true, value: also.base_url } as const)
  if (!base.ok) return base
  const { host, output, settings } = context
  const name = settings.profileName.value
  output.notice(
    `note: the ${credentialNames[kind]} is stored in plain text, readable by you alone, in ${configFile(host)}`,
  )
  const { profile } = settings
  return saveProfile(context, name, {
    ...profile,
    base_url: profile.base_url ?? base.value,
    ...also,
    credentials: { ...profile.credentials, [kind]: { value, origin: parseBaseUrl(base.value).origin } },
  })
}

/** Writes one profile; undefined removes it. */
export async function saveProfile(
  { host, settings: { config } }: Context,
  name: string,
  profile: Profile | undefined,
  current = config.current,
): Promise<Failure | undefined> {
  const { [name]: _replaced, ...others } = config.profiles
  return writeConfig(host, { current, profiles: profile === undefined ? others : { ...others, [name]: profile } })
}
