import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseBaseUrl } from '../../client/base-url.js'
import { createHttpTransport } from '../../client/http.js'
import { defaultDataDir, serverRegistryDir } from '../../files/data-dir.js'
import { isAlive, processStart } from '../../files/process-alive.js'
import { findText } from '../../files/read-file.js'
import { asMembers, parseObject } from '../../values/json.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { shellWord } from '../../values/shell-word.js'
import { type Failure, fail, optionOf } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import { isForeign } from '../host/permissions.js'
import type { Config, Profile } from './config.js'

/** Content of server.json, which a server writes into its data folder and the user's registry while it runs. */
export interface LocalServer {
  /** Random id from the start of the server; /healthz returns it too. */
  readonly instance_id?: string
  /** Id of the store, the same after each start; absent for a server of an earlier version. */
  readonly store_id?: string
  /** Secret of this start; only its server can respond to a challenge with it. */
  readonly proof_key?: string
  readonly pid: number
  readonly base_url: string
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
  /** The PostgreSQL database, without user and password; absent for SQLite. */
  readonly database?: string
  readonly started_at: string
  /** Boot id and start ticks of the server process, on Linux only. */
  readonly process_start?: string | null
}

/** Data folder of a profile's local server, as the login stored it, else the default folder. */
export const dataDirOf = (host: Pick<Host, 'env' | 'homeDir'>, profile: Pick<Profile, 'data_dir'>): string =>
  profile.data_dir ?? defaultDataDir(host)

/** Data folder whose server the commands of a profile call; null if the profile is bound to none. */
export const followedFolder = (host: Pick<Host, 'env' | 'homeDir'>, profile: Profile): string | null =>
  profile.store || profile.data_dir ? dataDirOf(host, profile) : null

/** Returns the folder of recorded deliveries that --inbox names, or the default one. */
export const inboxDirOf = (host: Pick<Host, 'env' | 'homeDir' | 'cwd'>, named: string | undefined): string =>
  resolve(host.cwd, named ?? join(defaultDataDir(host), 'inbox'))

/**
 * Finds the server that runs on a data folder; undefined if none runs. Call `refuseImpostor` before you trust the
 * result: on some systems another process with the same PID looks like the server.
 */
export function findLocalServer(dataDir: string): LocalServer | undefined {
  return readRunning(join(dataDir, 'server.json'))
}

function readRunning(path: string): LocalServer | undefined {
  const server = parseObject(findText(path) ?? '') as LocalServer | undefined
  if (server === undefined || typeof server.pid !== 'number' || !URL.canParse(server.base_url)) return undefined
  return isAlive(server.pid) && isSameProcess(server) !== false ? server : undefined
}

/**
 * Finds the user's running servers: in the registry, in known data folders, and in the default folder. Removes from the
 * registry the files of servers that were killed (rules/cli.md#local-server).
 */
export function findRunningServers(
  host: Pick<Host, 'env' | 'homeDir'>,
  { profiles }: Pick<Config, 'profiles'>,
): readonly LocalServer[] {
  const dirs = [defaultDataDir(host), ...Object.values(profiles).flatMap((it) => it.data_dir ?? [])]
  const found = [...registered(serverRegistryDir(host)), ...dirs.flatMap((it) => findLocalServer(it) ?? [])]
  const byId = new Map(found.map((it) => [it.instance_id ?? it.base_url, it]))
  return [...byId.values()].sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
}

/** Binds a profile and its credentials for the address of a local server to the store of the server. */
export function bindTo(
  host: Pick<Host, 'env' | 'homeDir'>,
  profile: Profile,
  { store_id: store, data_dir: dir, base_url: url }: LocalServer,
): Profile {
  if (store === undefined) return profile
  const isThere = (it: string | undefined) => originOf(it) === originOf(url)
  const bound = Object.entries(profile.credentials ?? {}).map(([kind, it]) => {
    return [kind, isThere(it.origin) ? { store, ...it } : it]
  })
  const folder = profile.data_dir === undefined && dir === defaultDataDir(host) ? {} : { data_dir: dir }
  const binding = isThere(profile.base_url) ? { store, ...folder } : {}
  return { ...profile, ...binding, credentials: Object.fromEntries(bound) }
}

type Known = { readonly host: Host; readonly settings: { readonly config: Config; readonly profile: Profile } }
type Place = Pick<LocalServer, 'base_url' | 'data_dir' | 'store'>

/** The option by which a command finds a local server; empty for the server that it finds without one. */
export function placeOf({ host, settings }: Known, { base_url: url, data_dir: dir, store }: Place): string {
  const isOfProfile = dir === resolve(host.cwd, dataDirOf(host, settings.profile))
  // VOUCHERCTL_BASE_URL wins over the profile.
  if (isOfProfile && originOf(host.env.VOUCHERCTL_BASE_URL ?? url) === originOf(url)) return ''
  return ` ${store === 'memory' ? optionOf('base-url', url) : optionOf('data', dir)}`
}

/** The command that logs in to a local server, in backticks. */
export const localLogin = (known: Known, server: Place): string =>
  `\`voucherctl login --local --account ${shellWord(known.settings.profile.account ?? 'me')}${placeOf(known, server)}\``

/** True for the folder of a server in memory that has ended; a start there would keep data in the temporary folder. */
export const isGone = (dir: string): boolean => dirname(dir) === tmpdir() && !existsSync(dir)

/** The command that starts the server of a data folder, in backticks. */
export function localStart(host: Pick<Host, 'env' | 'homeDir'>, dir: string, options = ''): string {
  const place = dir === defaultDataDir(host) || isGone(dir) ? '' : ` ${optionOf('data', dir)}`
  return `\`voucherctl server start --detach${place}${options}\``
}

/** Names local servers with their folders, such as `http://127.0.0.1:8420 (in memory)`. */
export const namesOf = (servers: readonly Place[]): string =>
  servers.map((it) => `${it.base_url} (${it.store === 'memory' ? 'in memory' : it.data_dir})`).join(', ')

export function noServerChosen(known: Known): Failure {
  const servers = findRunningServers(known.host, known.settings.config)
  const [first, second] = servers
  if (first === undefined) return fail('BASE_URL_REQUIRED', 'No server is chosen and no local server runs.', START_HINT)
  return fail(
    'BASE_URL_REQUIRED',
    `No server is chosen. ${second === undefined ? 'A local server runs' : 'Local servers run'} on ${namesOf(servers)}.`,
    `Log in to ${second === undefined ? 'it' : 'one'}: ${localLogin(known, first)}. Or name it with --base-url URL or VOUCHERCTL_BASE_URL.`,
  )
}

function registered(dir: string): readonly LocalServer[] {
  return namesIn(dir).flatMap((name) => {
    const path = join(dir, name)
    const server = readRunning(path)
    if (server === undefined) removeQuietly(path)
    return server ?? []
  })
}

/** Removes a file, unless the system refuses it: a command must not fail over a leftover of another server. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Ignore folders and read-only file systems.
  }
}

function namesIn(dir: string): readonly string[] {
  try {
    // A user who can write here could link a file whose content would be sent as the operator key.
    if (isForeign(statSync(dir))) return []
    return readdirSync(dir).filter((it) => it.endsWith('.json'))
  } catch {
    return []
  }
}

export function findServerAt(
  host: Pick<Host, 'env' | 'homeDir'>,
  { localServer, config }: { readonly localServer: LocalServer | undefined; readonly config: Pick<Config, 'profiles'> },
  origin: string,
): LocalServer | undefined {
  // The chosen server needs no search in the registry.
  if (originOf(localServer?.base_url) === origin) return localServer
  return findRunningServers(host, config).find((it) => originOf(it.base_url) === origin)
}

/** Finds the running local server that a base URL names, also by another name of this machine. */
export const findServerNamed = (
  host: Pick<Host, 'env' | 'homeDir'>,
  config: Pick<Config, 'profiles'>,
  url: string,
): LocalServer | undefined => findRunningServers(host, config).find((it) => it.base_url === url || isAddressOf(it, url))

/** True if a base URL names the port of the local server on this machine; its host may be `localhost`. */
export function isAddressOf(server: LocalServer, baseUrl: string): boolean {
  if (!URL.canParse(server.base_url) || !URL.canParse(baseUrl)) return false
  const [given, own] = [parseBaseUrl(baseUrl), parseBaseUrl(server.base_url)]
  return isLoopbackHost(given.hostname) && given.port === own.port && given.secure === own.secure
}

export function originOf(baseUrl: string | undefined): string | undefined {
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : undefined
}

/**
 * Checks without a call whether the process that wrote server.json still runs: another process may have the same PID,
 * but not the same start. A running server keeps its port until its last seconds. Undefined if the system does not
 * report when a process started.
 */
export function isSameProcess({ pid, process_start }: LocalServer): boolean | undefined {
  if (typeof process_start !== 'string') return undefined
  const start = processStart(pid)
  return start === undefined ? undefined : start === process_start
}

export function readOperatorKey(server: Pick<LocalServer, 'operator_key_file'>): string | undefined {
  if (server.operator_key_file === null) return undefined
  return findText(server.operator_key_file)?.trim()
}

/** Which process responds at an address: `same` is the server that wrote server.json; `silent` means no response. */
type Identity = 'same' | 'other' | 'silent'

const PROBE_MS = 2_000

/**
 * Identifies the server at the address from server.json. PID and port are not enough, because systems reuse both, nor is
 * the instance id, which /healthz shows to everybody: the process must be the one that wrote the file, or prove its key.
 */
export async function identify(server: LocalServer): Promise<Identity> {
  const { base_url, instance_id, proof_key: key } = server
  const { CHALLENGE_HEADER, proofOf } = await import('../../files/server-proof.js')
  // Loaded on demand, as `newId` of main.ts does.
  const challenge = process.getBuiltinModule('node:crypto').randomUUID()
  const body = await get(base_url, '/healthz', { [CHALLENGE_HEADER]: challenge })
  if (body === undefined) return 'silent'
  const data = asMembers(parseObject(body.text)?.data)
  const isProven = typeof key === 'string' && data?.proof === proofOf(key, challenge)
  return isProven || (isSameProcess(server) === true && data?.instanceId === instance_id) ? 'same' : 'other'
}

/** True if the server is certain to listen on the address from server.json; a call only without a known process. */
export const isProven = async (server: LocalServer): Promise<boolean> =>
  isSameProcess(server) === true || (await identify(server)) === 'same'

/**
 * Refuses to send a credential to the address of a local server at which another process may listen: its server.json
 * may remain after the server ended, and a profile keeps the address of a stopped server (rules/cli.md#local-server).
 */
export async function refuseImpostor(
  chosen: {
    readonly localServer: LocalServer | undefined
    readonly stoppedFolder: string | undefined
    readonly baseUrl: { readonly value: string | undefined }
  },
  baseUrl: string,
): Promise<Failure | undefined> {
  const { localServer: server, stoppedFolder } = chosen
  const origin = originOf(baseUrl)
  if (stoppedFolder !== undefined && originOf(chosen.baseUrl.value) === origin) return notProven(baseUrl, stoppedFolder)
  if (server === undefined || originOf(server.base_url) !== origin || (await isProven(server))) return undefined
  return notProven(baseUrl, server.data_dir)
}

export const START_HINT =
  'Start one with `voucherctl server start --detach`, or name one with --base-url URL or VOUCHERCTL_BASE_URL.'

export const notProven = (baseUrl: string, dir: string): Failure =>
  fail('LOCAL_SERVER_NOT_RUNNING', `No server responds on ${baseUrl}, or it is not the server of ${dir}.`, START_HINT)

export async function isSilent(baseUrl: string): Promise<boolean> {
  return (await get(baseUrl, '/healthz')) === undefined
}

export async function isReady({ base_url }: LocalServer): Promise<boolean> {
  return (await get(base_url, '/readyz'))?.status === 200
}

async function get(baseUrl: string, path: string, headers = {}): Promise<{ status: number; text: string } | undefined> {
  try {
    // This server runs on this machine, so no proxy of the environment applies.
    const { status, body } = await createHttpTransport(
      baseUrl,
      {},
    )({
      method: 'GET',
      path,
      headers,
      timeoutMs: PROBE_MS,
    })
    return { status, text: body }
  } catch {
    return undefined
  }
}
