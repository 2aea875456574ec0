import { parseBaseUrl } from '../../client/base-url.js'
import { durationMs } from '../../contract/values/duration.js'
import { isLoopbackHost } from '../../contract/values/loopback.js'
import { type Failure, usage } from '../failures/failure.js'
import { type Format, formatIn, formats, type Globals } from '../flags/globals.js'
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
import {
  byDefault,
  choose,
  first,
  invalid,
  resolveSecure,
  type SecureSettings,
  type Setting,
  type SettingSources,
} from './setting.js'

export interface Settings {
  readonly config: Config
  /** Warnings on which the user must act: open permissions, or an ignored project file. */
  readonly warnings: readonly string[]
  /** The nearest voucherctl.json, unless it was ignored. */
  readonly project: ProjectFile | undefined
  readonly passedOver: readonly SkippedFile[]
  /** Set if the project file names a server that the user has not allowed; then there is no base URL. */
  readonly notAllowed: UnapprovedServer | undefined
  readonly profileName: Setting<string>
  /** True if the selected profile does not exist; only commands that create a profile continue then. */
  readonly profileMissing: boolean
  /** The selected profile; an empty object if it does not exist. */
  readonly profile: Profile
  readonly production: Setting<boolean>
  readonly baseUrl: Setting<string | undefined>
  /** The local server at the base URL, if that was not set or only a project file names it. */
  readonly localServer: LocalServer | undefined
  /** True if redeem codes of the chosen server are known to have the form of the reference server. */
  readonly hasReferenceCodes: boolean
  readonly format: Setting<Format>
  readonly timeoutMs: Setting<number>
  readonly retries: Setting<number>
  readonly secure: SecureSettings
}

type SettingsResult = { readonly ok: true; readonly settings: Settings } | Failure

const DEFAULT_TIMEOUT = '30s'
const DEFAULT_RETRIES = 3

/** Resolves all settings in the order flag > environment > project file > profile > default. */
export function resolveSettings(host: Host, globals: Globals): SettingsResult {
  const stored = readConfig(host)
  if (!stored.ok) return stored
  const found = readProjectFile(host)
  if (!found.ok) return found
  return combineSettings(host, globals, stored, found)
}

type StoredConfig = Extract<ConfigResult, { ok: true }>
type ProjectLookup = Pick<Extract<ProjectResult, { ok: true }>, 'project' | 'passedOver'>

const nothingStored: StoredConfig = { ok: true, config: { current: DEFAULT_PROFILE, profiles: {} } }
const nothingFound: ProjectLookup = { project: undefined, passedOver: [] }

/** The settings that could be resolved, and a failure for each source that is invalid. */
export interface SettingsDiagnosis {
  readonly settings: Settings
  readonly config: Failure | undefined
  readonly project: Failure | undefined
  /** The failure of an invalid value; all settings then have their defaults. */
  readonly values: Failure | undefined
}

/** Resolves settings for commands that diagnose invalid ones; it never fails as a whole. */
export function diagnoseSettings(host: Host, globals: Globals): SettingsDiagnosis {
  const stored = readConfig(host)
  const found = readProjectFile(host)
  const problems = { config: stored.ok ? undefined : stored, project: found.ok ? undefined : found }
  const combined = combineSettings(host, globals, stored.ok ? stored : nothingStored, found.ok ? found : nothingFound)
  if (combined.ok) return { settings: combined.settings, ...problems, values: undefined }
  const { XDG_DATA_HOME } = host.env
  const bare = combineSettings(
    { ...host, env: { XDG_DATA_HOME } },
    { ...globals, 'base-url': undefined },
    nothingStored,
    nothingFound,
  )
  if (!bare.ok) throw new Error('the defaults must be right')
  return { settings: bare.settings, ...problems, values: combined }
}

function combineSettings(
  host: Host,
  globals: Globals,
  stored: StoredConfig,
  { project, passedOver }: ProjectLookup,
): SettingsResult {
  const { config } = stored
  const profileName = profileNameOf(host, globals.profile, project, config)
  const known = findProfile(config, profileName.value)
  const profile = known ?? {}
  const sources = { env: host.env, projectSource: fileOf(project), profileSource: `profile ${profileName.value}` }

  const server = chooseServer(host, globals['base-url'], { config, project, profile, sources })
  if (!server.ok) return server
  const { baseUrl, notAllowed, localServer } = server
  const call = chooseCallSettings(globals, sources, project?.members ?? {}, profile)
  if (!call.ok) return call
  const { format, timeoutMs, retries } = call
  const floor = floorOf(config, profileName, project, baseUrl.value)
  const secure = resolveSecure(globals, sources, project?.members.secure ?? {}, profile.secure ?? {}, floor)
  if (!secure.ok) return secure
  const production =
    first([floor?.profile.production || undefined, floor?.source ?? ''], [profile.production, sources.profileSource]) ??
    byDefault(false)
  const notes = passedOver.map(({ path, why }) => `${path} was passed over: ${why}`)
  const settings = {
    config,
    warnings: [...(stored.warning === undefined ? [] : [stored.warning]), ...notes],
    project,
    passedOver,
    notAllowed,
    profileName,
    profileMissing:
      known === undefined && profileName.value !== DEFAULT_PROFILE && profileName.value !== config.current,
    profile,
    production,
    baseUrl,
    localServer,
    hasReferenceCodes:
      profile.codes === 'reference' ||
      (baseUrl.value !== undefined && isLoopbackHost(parseBaseUrl(baseUrl.value).hostname)),
    format,
    timeoutMs,
    retries,
    secure: secure.settings,
  }
  return { ok: true, settings }
}

interface ServerSources {
  readonly config: Config
  readonly project: ProjectFile | undefined
  readonly profile: Profile
  readonly sources: SettingSources
}

/** Chooses the base URL, and checks that the user has allowed the server that a project file names. */
function chooseServer(
  host: Host,
  flag: string | undefined,
  { config, project, profile, sources }: ServerSources,
): ({ readonly ok: true } & Pick<Settings, 'baseUrl' | 'notAllowed' | 'localServer'>) | Failure {
  const ofProject = project?.members.base_url
  const chosen = choose(sources, [flag, 'base-url'], 'VOUCHERCTL_BASE_URL', ofProject, profile.base_url)
  const defaultServer = chosen === undefined ? findLocalServer(dataDirOf(host, profile)) : undefined
  const baseUrl = chosen ?? localBaseUrl(defaultServer)
  const problem = problemOfBaseUrl(baseUrl)
  if (problem !== undefined) return problem
  const found = { ok: true as const, baseUrl, notAllowed: undefined, localServer: defaultServer }
  if (project === undefined || baseUrl.source !== sources.projectSource) return found
  const permission = permissionOf(host, project, profile, config)
  if (permission.allowed) return { ...found, localServer: permission.localServer ?? defaultServer }
  return {
    ...found,
    baseUrl: { value: undefined, source: sources.projectSource },
    notAllowed: { path: project.path, baseUrl: String(ofProject), reason: permission.reason },
  }
}

/** Chooses the output format and the limits of calls. */
function chooseCallSettings(
  globals: Globals,
  sources: SettingSources,
  shared: ProjectFile['members'],
  profile: Profile,
): ({ readonly ok: true } & Pick<Settings, 'format' | 'timeoutMs' | 'retries'>) | Failure {
  const formatFlag = globals.json ? 'json' : globals.output === undefined ? 'jq' : 'output'
  const formatFlags = [formatIn(globals), formatFlag] as const
  const format =
    choose(sources, formatFlags, 'VOUCHERCTL_OUTPUT', shared.output, profile.output) ?? byDefault<Format>('table')
  const limit = globals.timeout === undefined ? undefined : `${globals.timeout}ms`
  const timeout =
    choose(sources, [limit, 'timeout'], undefined, shared.timeout, profile.timeout) ?? byDefault(DEFAULT_TIMEOUT)
  const retries =
    choose(sources, [globals.retries, 'retries'], undefined, shared.retries, profile.retries) ??
    byDefault(DEFAULT_RETRIES)
  const timeoutMs = durationMs(timeout.value) ?? 0
  const problem =
    (formats.includes(format.value) ? undefined : invalid('output', format, `must be one of ${formats.join(', ')}`)) ??
    (timeoutMs > 0 ? undefined : invalid('timeout', timeout, 'must be a duration such as 30s')) ??
    (isRetries(retries.value) ? undefined : invalid('retries', retries, 'must be a whole number from 0 to 20'))
  return problem ?? { ok: true, format, timeoutMs: { ...timeout, value: timeoutMs }, retries }
}

/** Returns the current profile if the project file selects another profile for the same server. */
function floorOf(
  config: Config,
  profileName: Setting<string>,
  project: ProjectFile | undefined,
  baseUrl: string | undefined,
): { readonly profile: Profile; readonly source: string } | undefined {
  const { current } = config
  if (project === undefined || profileName.source !== fileOf(project) || profileName.value === current) return undefined
  const profile = findProfile(config, current)
  if (profile === undefined) return undefined
  const isForSame = profile.base_url === undefined || originOf(profile.base_url) === originOf(baseUrl)
  return isForSame ? { profile, source: `profile ${current}, which ${fileOf(project)} cannot loosen` } : undefined
}

function profileNameOf(
  { env }: Host,
  named: string | undefined,
  project: ProjectFile | undefined,
  config: Config,
): Setting<string> {
  const places = { env, projectSource: fileOf(project), profileSource: 'the current profile' }
  const chosen = choose(places, [named, 'profile'], 'VOUCHERCTL_PROFILE', project?.members.profile, config.current)
  return chosen as Setting<string>
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

function localBaseUrl(server: LocalServer | undefined): Setting<string | undefined> {
  return server === undefined
    ? { value: undefined, source: 'nowhere: no server is chosen' }
    : { value: server.base_url, source: `the local server of ${server.data_dir}` }
}

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
