import { parseBaseUrl } from '../../client/base-url.js'
import { arePins, type SecureMode } from '../../secure/client/options.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import { durationMs } from '../../values/duration.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { type Format, formatIn, formats, type Globals, secureModes } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { type Config, type ConfigResult, DEFAULT_PROFILE, findProfile, type Profile, readConfig } from './config.js'
import { dataDirOf, findLocalServer, type LocalServer } from './local-server.js'
import { findOldProjectFile, notReadText } from './old-project-file.js'

/** A setting's value and where it comes from; `profile show --explain` prints both. */
interface Setting<T> {
  readonly value: T
  readonly source: string
}

interface SecureSettings {
  readonly mode: Setting<SecureMode>
  /** Value of the Origin header when an encrypted session is opened; undefined sends none. */
  readonly origin: Setting<string | undefined>
  /** Accepted keys of the server; an empty list accepts any key. */
  readonly pins: Setting<readonly string[]>
  /** Origins with downgrade protection: the mode `auto` never sends plain text to them. */
  readonly latched: Setting<readonly string[]>
}

export interface Settings {
  readonly config: Config
  /** Warnings on which the user must act: open permissions, or a voucherctl.json. */
  readonly warnings: readonly string[]
  /** Path of a voucherctl.json, from which earlier versions read settings. */
  readonly oldProjectFile: string | undefined
  readonly profileName: Setting<string>
  /** True if the selected profile does not exist; only commands that create a profile continue then. */
  readonly profileMissing: boolean
  /** The selected profile; an empty object if it does not exist. */
  readonly profile: Profile
  readonly production: Setting<boolean>
  readonly baseUrl: Setting<string | undefined>
  /** Local server at the base URL, if it was found by its data folder. */
  readonly localServer: LocalServer | undefined
  /** Data folder of the profile's local server if none runs there: another process may have the port of the base URL. */
  readonly stoppedFolder: string | undefined
  /** True if redeem codes of the chosen server are known to have the form of the reference server. */
  readonly hasReferenceCodes: boolean
  readonly format: Setting<Format>
  readonly timeoutMs: Setting<number>
  readonly retries: Setting<number>
  readonly secure: SecureSettings
}

type Resolved<Name extends keyof Settings> = { readonly ok: true; readonly settings: Pick<Settings, Name> } | Failure

const DEFAULT_TIMEOUT = '30s'
const DEFAULT_RETRIES = 3

/**
 * Resolves all settings in the order flag > environment > profile > default.
 * @param needsUrl false for a command that ignores an invalid VOUCHERCTL_BASE_URL
 */
export function resolveSettings(host: Host, globals: Globals, needsUrl = true): Resolved<keyof Settings> {
  const stored = readConfig(host)
  const resolved = stored.ok ? combineSettings(host, globals, stored) : stored
  if (resolved.ok || needsUrl) return resolved
  return resolveSettings({ ...host, env: { ...host.env, VOUCHERCTL_BASE_URL: undefined } }, globals)
}

export function combineSettings(
  host: Host,
  globals: Globals,
  { config, warning }: Pick<Extract<ConfigResult, { ok: true }>, 'config' | 'warning'>,
): Resolved<keyof Settings> {
  const profileName = profileNameOf(host, globals.profile, config)
  const known = findProfile(config, profileName.value)
  const profile = known ?? {}
  const profileSource = `profile ${profileName.value}`
  const sources = { env: host.env, profile, profileSource }

  const server = chooseServer(host, globals['base-url'], sources)
  if (!server.ok) return server
  const call = chooseCallSettings(globals, sources)
  if (!call.ok) return call
  const secure = resolveSecure(globals, sources)
  if (!secure.ok) return secure
  const { value: baseUrl } = server.settings.baseUrl
  const oldProjectFile = findOldProjectFile(host)
  const note = oldProjectFile === undefined ? undefined : notReadText(oldProjectFile)
  const settings = {
    ...server.settings,
    ...call.settings,
    ...secure.settings,
    config,
    warnings: [warning, note].filter((it) => it !== undefined),
    oldProjectFile,
    profileName,
    profileMissing:
      known === undefined && profileName.value !== DEFAULT_PROFILE && profileName.value !== config.current,
    profile,
    production: first(false, [profile.production, profileSource]),
    hasReferenceCodes:
      profile.codes === 'reference' || (baseUrl !== undefined && isLoopbackHost(parseBaseUrl(baseUrl).hostname)),
  }
  return { ok: true, settings }
}

/** Chooses the base URL, and finds the local server that has it. */
function chooseServer(
  host: Host,
  flag: string | undefined,
  sources: Sources,
): Resolved<'baseUrl' | 'localServer' | 'stoppedFolder'> {
  const { profile } = sources
  const chosen = choose(sources, [flag, 'base-url'], 'VOUCHERCTL_BASE_URL', profile.base_url, undefined)
  const dir = dataDirOf(host, profile)
  // The local server of the profile may have another port since the login.
  const follows = !!profile.store && !isGivenForCall(chosen)
  const localServer = chosen.value === undefined || follows ? findLocalServer(dir) : undefined
  const place = localServer ? `the local server of ${localServer.data_dir}` : 'nowhere: no server is chosen'
  const source = chosen.value === undefined ? place : chosen.source
  const baseUrl = { value: localServer?.base_url ?? chosen.value, source }
  const stoppedFolder = follows && localServer === undefined ? dir : undefined
  return problemOfBaseUrl(baseUrl) ?? { ok: true, settings: { baseUrl, localServer, stoppedFolder } }
}

function chooseCallSettings(globals: Globals, sources: Sources): Resolved<'format' | 'timeoutMs' | 'retries'> {
  const { profile } = sources
  const formatFlag = globals.json ? 'json' : globals.output === undefined ? 'jq' : 'output'
  const formatFlags = [formatIn(globals), formatFlag] as const
  const format = choose<Format>(sources, formatFlags, 'VOUCHERCTL_OUTPUT', profile.output, 'table')
  const limit = globals.timeout === undefined ? undefined : `${globals.timeout}ms`
  const timeout = choose(sources, [limit, 'timeout'], undefined, profile.timeout, DEFAULT_TIMEOUT)
  const flag = [globals.retries, 'retries'] as const
  const retries = choose(sources, flag, undefined, profile.retries, DEFAULT_RETRIES)
  const timeoutMs = durationMs(timeout.value) ?? 0
  const problem =
    (formats.includes(format.value) ? undefined : invalid('output', format, `must be one of ${formats.join(', ')}`)) ??
    (timeoutMs > 0 ? undefined : invalid('timeout', timeout, 'must be a duration such as 30s')) ??
    (isRetries(retries.value) ? undefined : invalid('retries', retries, 'must be a whole number from 0 to 20'))
  return problem ?? { ok: true, settings: { format, timeoutMs: { ...timeout, value: timeoutMs }, retries } }
}

const profileNameOf = ({ env }: Host, named: string | undefined, { current }: Config) =>
  choose(
    { env, profileSource: 'the current profile' },
    [named, 'profile'],
    'VOUCHERCTL_PROFILE',
    current,
    DEFAULT_PROFILE,
  )

/** Output format of the profile; it may be invalid. */
export function storedFormat(host: Host, named: string | undefined): unknown {
  const stored = readConfig(host)
  if (!stored.ok) return undefined
  return findProfile(stored.config, profileNameOf(host, named, stored.config).value)?.output
}

function problemOfBaseUrl({ value, source }: Setting<string | undefined>): Failure | undefined {
  if (value === undefined) return undefined
  try {
    parseBaseUrl(value)
    return undefined
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const how = source.startsWith('environment') ? 'To remove it: `unset VOUCHERCTL_BASE_URL`.' : null
    return usage(`The base URL from ${source} is ${value === '' ? 'empty' : 'invalid'}. ${error.message}.`, how)
  }
}

const isRetries = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 20

/** True if the value comes from a flag or an environment variable. */
export const isGivenForCall = ({ source }: Setting<unknown>): boolean => /^(flag|environment) /.test(source)

/** Returns the first candidate whose value is defined, else the default. */
function first<T>(byDefault: T, ...candidates: readonly [value: T | undefined, source: string][]): Setting<T> {
  const [value = byDefault, source = 'default'] = candidates.find(([it]) => it !== undefined) ?? []
  return { value, source }
}

/** Sources of settings besides flags. */
interface Sources {
  readonly env: Host['env']
  readonly profile: Profile
  readonly profileSource: string
}

/** Resolves one setting in the order flag > environment > profile. */
function choose<T>(
  { env, profileSource }: Pick<Sources, 'env' | 'profileSource'>,
  [flag, name]: readonly [value: T | undefined, name: string],
  variable: string | undefined,
  ofProfile: unknown,
  byDefault: T,
): Setting<T> {
  const given = variable && env[variable]
  return first<unknown>(
    byDefault,
    [flag, `flag --${name}`],
    // An empty base URL is a mistake, such as the output of a failed command; other empty variables count as unset.
    [given || (variable === 'VOUCHERCTL_BASE_URL' ? given : undefined), `environment ${variable}`],
    [ofProfile, profileSource],
  ) as Setting<T>
}

const invalid = (name: string, { source }: Setting<unknown>, rule: string): Failure =>
  fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)

/** Resolves the encryption. Pins and downgrade protection come from the profile only. */
function resolveSecure(globals: Globals, sources: Sources): Resolved<'secure'> {
  const { profile, profileSource } = sources
  const { mode, origin, pins, latched } = profile.secure ?? {}
  const secure = {
    mode: choose<SecureMode>(sources, [globals.secure, 'secure'], 'VOUCHERCTL_SECURE', mode, 'off'),
    origin: choose(sources, [globals.origin, 'origin'], 'VOUCHERCTL_ORIGIN', origin, undefined),
    pins: first<readonly string[]>([], [pins, profileSource]),
    latched: first<readonly string[]>([], [latched, profileSource]),
  }
  return refuseInvalid(secure) ?? { ok: true, settings: { secure } }
}

function refuseInvalid({ mode, origin, pins }: SecureSettings): Failure | undefined {
  if (!secureModes.includes(mode.value)) return invalid('secure.mode', mode, `must be one of ${secureModes.join(', ')}`)
  if (origin.value !== undefined && !isCanonicalOrigin(origin.value))
    return invalid('secure.origin', origin, 'must be a full origin such as https://shop.example')
  return arePins(pins.value)
    ? undefined
    : invalid('secure.pins', pins, 'must be two pins at most, sha256: and 43 characters')
}
