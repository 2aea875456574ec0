import { parseBaseUrl } from '../../client/base-url.js'
import { durationMs } from '../../contract/values/duration.js'
import { isLoopbackHost } from '../../contract/values/loopback.js'
import { arePins, type SecureMode } from '../../secure/client/options.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { type Format, formatIn, formats, type Globals, secureModes } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { type Config, type ConfigResult, DEFAULT_PROFILE, findProfile, type Profile, readConfig } from './config.js'
import { dataDirOf, findLocalServer, type LocalServer, originOf } from './local-server.js'
import {
  type ProjectFile,
  type ProjectResult,
  permissionOf,
  readProjectFile,
  type SkippedFile,
  type UnapprovedServer,
} from './project-file.js'

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
  /** Warnings on which the user must act: open permissions, or an ignored project file. */
  readonly warnings: readonly string[]
  /** The nearest voucherctl.json, unless it was ignored. */
  readonly project: ProjectFile | undefined
  readonly passedOver: readonly SkippedFile[]
  /** Set if the project file names a server that the user has not allowed; the settings then have no base URL. */
  readonly notAllowed: UnapprovedServer | undefined
  readonly profileName: Setting<string>
  /** True if the selected profile does not exist; only commands that create a profile continue then. */
  readonly profileMissing: boolean
  /** The selected profile; an empty object if it does not exist. */
  readonly profile: Profile
  readonly production: Setting<boolean>
  readonly baseUrl: Setting<string | undefined>
  /** Local server at the base URL, if no setting or only a project file names that URL. */
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

/** Resolves all settings in the order flag > environment > project file > profile > default. */
export function resolveSettings(host: Host, globals: Globals): Resolved<keyof Settings> {
  const stored = readConfig(host)
  if (!stored.ok) return stored
  const found = readProjectFile(host)
  if (!found.ok) return found
  return combineSettings(host, globals, stored, found)
}

/** Combines the profile file and the project file with flags and environment. */
export function combineSettings(
  host: Host,
  globals: Globals,
  { config, warning }: Pick<Extract<ConfigResult, { ok: true }>, 'config' | 'warning'>,
  { project, passedOver }: Pick<Extract<ProjectResult, { ok: true }>, 'project' | 'passedOver'>,
): Resolved<keyof Settings> {
  const { env } = host
  const profileName = profileNameOf(host, globals.profile, project, config)
  const known = findProfile(config, profileName.value)
  const profile = known ?? {}
  const profileSource = `profile ${profileName.value}`
  const shared = project?.members ?? {}
  const sources = { env, config, project, shared, projectSource: fileOf(project), profile, profileSource }

  const server = chooseServer(host, globals['base-url'], sources)
  if (!server.ok) return server
  const call = chooseCallSettings(globals, sources)
  if (!call.ok) return call
  const { value: baseUrl } = server.settings.baseUrl
  const floor = floorOf(sources, profileName, baseUrl)
  const secure = resolveSecure(globals, sources, floor)
  if (!secure.ok) return secure
  const ofFloor = floor?.profile.production || undefined
  const production = first(false, [ofFloor, floor?.source ?? ''], [profile.production, profileSource])
  const notes = passedOver.map(({ path, why }) => `${path} was ignored: ${why}`)
  const settings = {
    ...server.settings,
    ...call.settings,
    ...secure.settings,
    config,
    warnings: [...(warning === undefined ? [] : [warning]), ...notes],
    project,
    passedOver,
    profileName,
    profileMissing:
      known === undefined && profileName.value !== DEFAULT_PROFILE && profileName.value !== config.current,
    profile,
    production,
    hasReferenceCodes:
      profile.codes === 'reference' || (baseUrl !== undefined && isLoopbackHost(parseBaseUrl(baseUrl).hostname)),
  }
  return { ok: true, settings }
}

/** Chooses the base URL, and checks that the user has allowed the server that a project file names. */
function chooseServer(
  host: Host,
  flag: string | undefined,
  sources: Sources,
): Resolved<'baseUrl' | 'notAllowed' | 'localServer' | 'stoppedFolder'> {
  const { config, project, shared, projectSource, profile } = sources
  const flags = [flag, 'base-url'] as const
  const chosen = choose(sources, flags, 'VOUCHERCTL_BASE_URL', shared.base_url, profile.base_url, undefined)
  const dir = dataDirOf(host, profile)
  // The local server of the profile may have another port since the login.
  const follows = !!profile.store && !isGivenForCall(chosen) && originOf(chosen.value) === originOf(profile.base_url)
  const defaultServer = chosen.value === undefined || follows ? findLocalServer(dir) : undefined
  const place = defaultServer ? `the local server of ${defaultServer.data_dir}` : 'nowhere: no server is chosen'
  const source = chosen.value === undefined ? place : chosen.source
  const baseUrl = { value: defaultServer?.base_url ?? chosen.value, source }
  const stoppedFolder = follows && defaultServer === undefined ? dir : undefined
  const problem = problemOfBaseUrl(baseUrl)
  if (problem !== undefined) return problem
  const settings = { baseUrl, notAllowed: undefined, localServer: defaultServer, stoppedFolder }
  if (project === undefined || baseUrl.source !== projectSource) return { ok: true, settings }
  const { allowed, reason, localServer } = permissionOf(host, project, profile, config)
  if (allowed) return { ok: true, settings: { ...settings, localServer: localServer ?? defaultServer } }
  const notAllowed = { path: project.path, baseUrl: String(shared.base_url), reason }
  return { ok: true, settings: { ...settings, baseUrl: { value: undefined, source: projectSource }, notAllowed } }
}

function chooseCallSettings(globals: Globals, sources: Sources): Resolved<'format' | 'timeoutMs' | 'retries'> {
  const { shared, profile } = sources
  const formatFlag = globals.json ? 'json' : globals.output === undefined ? 'jq' : 'output'
  const formatFlags = [formatIn(globals), formatFlag] as const
  const format = choose<Format>(sources, formatFlags, 'VOUCHERCTL_OUTPUT', shared.output, profile.output, 'table')
  const limit = globals.timeout === undefined ? undefined : `${globals.timeout}ms`
  const timeout = choose(sources, [limit, 'timeout'], undefined, shared.timeout, profile.timeout, DEFAULT_TIMEOUT)
  const flag = [globals.retries, 'retries'] as const
  const retries = choose(sources, flag, undefined, shared.retries, profile.retries, DEFAULT_RETRIES)
  const timeoutMs = durationMs(timeout.value) ?? 0
  const problem =
    (formats.includes(format.value) ? undefined : invalid('output', format, `must be one of ${formats.join(', ')}`)) ??
    (timeoutMs > 0 ? undefined : invalid('timeout', timeout, 'must be a duration such as 30s')) ??
    (isRetries(retries.value) ? undefined : invalid('retries', retries, 'must be a whole number from 0 to 20'))
  return problem ?? { ok: true, settings: { format, timeoutMs: { ...timeout, value: timeoutMs }, retries } }
}

/** Profile with the minimum encryption: the current one, if the project file selects another for the same server. */
function floorOf(
  { config, project, projectSource }: Sources,
  { value, source }: Setting<string>,
  baseUrl: string | undefined,
): { readonly profile: Profile; readonly source: string } | undefined {
  const { current } = config
  const profile = project !== undefined && source === projectSource && value !== current && findProfile(config, current)
  if (!profile) return undefined
  const isForSame = profile.base_url === undefined || originOf(profile.base_url) === originOf(baseUrl)
  return isForSame ? { profile, source: `profile ${current}, which ${projectSource} cannot loosen` } : undefined
}

function profileNameOf(
  { env }: Host,
  named: string | undefined,
  project: ProjectFile | undefined,
  { current }: Config,
): Setting<string> {
  const sources = { env, projectSource: fileOf(project), profileSource: 'the current profile' }
  return choose(sources, [named, 'profile'], 'VOUCHERCTL_PROFILE', project?.members.profile, current, DEFAULT_PROFILE)
}

/** Output format from the project file or the profile; it may be invalid. */
export function storedFormat(host: Host, profile: string | undefined): unknown {
  const stored = readConfig(host)
  const found = readProjectFile(host)
  const project = found.ok ? found.project : undefined
  if (project?.members.output !== undefined) return project.members.output
  if (!stored.ok) return undefined
  const { value } = profileNameOf(host, profile, project, stored.config)
  return findProfile(stored.config, value)?.output
}

const fileOf = (project: ProjectFile | undefined) => `project file ${project?.path ?? ''}`

function problemOfBaseUrl({ value, source }: Setting<string | undefined>): Failure | undefined {
  if (value === undefined) return undefined
  try {
    parseBaseUrl(value)
    return undefined
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return usage(`${error.message}.`, `It came from ${source}.`)
  }
}

const isRetries = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 20

/** True if the value comes from a flag or an environment variable. */
export const isGivenForCall = ({ source }: Setting<unknown>): boolean => /^(flag|environment) /.test(source)

/** True if the value comes from neither profile nor default. */
export const isNamedForCall = (it: Setting<unknown>): boolean =>
  isGivenForCall(it) || it.source.startsWith('project file ')

/** Returns the first candidate whose value is defined, else the default. */
function first<T>(byDefault: T, ...candidates: readonly [value: T | undefined, source: string][]): Setting<T> {
  const [value = byDefault, source = 'default'] = candidates.find(([it]) => it !== undefined) ?? []
  return { value, source }
}

/** Sources of settings besides flags. */
interface Sources {
  readonly env: Host['env']
  readonly config: Config
  readonly project: ProjectFile | undefined
  readonly shared: ProjectFile['members']
  readonly projectSource: string
  readonly profile: Profile
  readonly profileSource: string
}

/** Resolves one setting in the order flag > environment > project file > profile. */
function choose<T>(
  { env, projectSource, profileSource }: Pick<Sources, 'env' | 'projectSource' | 'profileSource'>,
  [flag, name]: readonly [value: T | undefined, name: string],
  variable: string | undefined,
  ofProject: unknown,
  ofProfile: unknown,
  byDefault: T,
): Setting<T> {
  return first<unknown>(
    byDefault,
    [flag, `flag --${name}`],
    [(variable && env[variable]) || undefined, `environment ${variable}`],
    [ofProject, projectSource],
    [ofProfile, profileSource],
  ) as Setting<T>
}

const invalid = (name: string, { source }: Setting<unknown>, rule: string): Failure =>
  fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)

/**
 * Resolves flag > environment > project file > profile > default, with one exception: another user may have written the
 * project file, so it can make encryption stricter but never weaker. Its weaker mode is ignored, and so are its pins
 * if the profile has pins. If it selects another profile, the current profile's mode and pins remain the minimum.
 * @param floor the current profile, if the project file selects another profile for the same server
 */
function resolveSecure(globals: Globals, sources: Sources, floor: ReturnType<typeof floorOf>): Resolved<'secure'> {
  const { projectSource, profileSource } = sources
  const { secure: shared = {} } = sources.shared
  const { secure: own = {} } = sources.profile
  const least = floor?.profile.secure ?? {}
  const floorSource = floor?.source ?? ''
  const isBelowFloor = strictness(own.mode) < strictness(least.mode)
  const mine = isBelowFloor ? least.mode : own.mode
  const lowered = strictness(shared.mode) >= 0 && strictness(shared.mode) < strictness(mine)
  const placesOfMode = isBelowFloor ? { ...sources, profileSource: floorSource } : sources
  const ofProject = lowered ? undefined : shared.mode
  const mode = choose(placesOfMode, [globals.secure, 'secure'], 'VOUCHERCTL_SECURE', ofProject, mine, 'off')
  const flag = [globals.origin, 'origin'] as const
  const origin = choose(sources, flag, 'VOUCHERCTL_ORIGIN', shared.origin, own.origin, undefined)
  const ofFloor = least.pins?.length === 0 ? undefined : least.pins
  const pins = first<readonly string[]>(
    [],
    [ofFloor, floorSource],
    [own.pins, profileSource],
    [shared.pins, projectSource],
  )
  const protectors = [least.latched && floorSource, own.latched && profileSource].filter((it) => it !== undefined)
  const latched = {
    value: [...new Set([...(least.latched ?? []), ...(own.latched ?? [])])],
    source: protectors.join(', ') || 'default',
  }
  const secure = { mode, origin, pins, latched }
  return refuseInvalid(secure) ?? { ok: true, settings: { secure } }
}

function refuseInvalid({ mode, origin, pins }: SecureSettings): Failure | undefined {
  if (strictness(mode.value) < 0) return invalid('secure.mode', mode, `must be one of ${secureModes.join(', ')}`)
  if (origin.value !== undefined && !isCanonicalOrigin(origin.value))
    return invalid('secure.origin', origin, 'must be a full origin such as https://shop.example')
  return arePins(pins.value)
    ? undefined
    : invalid('secure.pins', pins, 'must be two pins at most, sha256: and 43 characters')
}

/** Position of a mode from least to most strict; -1 for an unknown mode. */
const strictness = (mode: string | undefined) => secureModes.findIndex((it) => it === mode)
