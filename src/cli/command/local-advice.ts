import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseBaseUrl } from '../../client/base-url.js'
import { defaultDataDir } from '../../files/data-dir.js'
import { isLoopbackHost } from '../../values/loopback.js'
import {
  dataDirOf,
  findLocalServer,
  findRunningServers,
  findServerAt,
  findServerNamed,
  followedFolder,
  isAddressOf,
  isGone,
  isSilent,
  localLogin,
  localStart,
  originOf,
  placeOf,
  START_HINT,
} from '../config/local-server.js'
import { type Failure, fail, optionOf } from '../failures/failure.js'
import { localFailures } from '../failures/local-failures.js'
import { credentialVariables } from '../host/secrets.js'
import type { Context } from './context.js'

type Known = Pick<Context, 'host' | 'settings'>

/** Replaces the hint of a failed call with the command that starts the local server, or that logs in again. */
export async function withLocalAdvice(context: Context, failure: Failure): Promise<Failure> {
  if (failure.code === 'TOKEN_EXPIRED') {
    const { kind, source = '' } = context.lastCredential ?? {}
    return kind === 'jwt' ? { ...failure, hint: loginHint(context, source) } : failure
  }
  if (failure.code === 'TEST_CLOCK_OFF')
    return { ...failure, hint: restartHint(context, ' --test-clock') ?? failure.hint }
  if (failure.code === 'CREDENTIAL_REQUIRED')
    return { ...failure, hint: loginFirst(context, failure.details.kind) + failure.hint }
  const isGeneral = [null, START_HINT, localFailures.NETWORK_ERROR.fix].includes(failure.hint)
  // The other failures of a stopped server name the command that fits them.
  if (!isGeneral && failure.code !== 'NETWORK_ERROR') return failure
  const hint = await startHint(context)
  if (hint === undefined) return failure
  // Keep a specific hint (unknown outcome, idempotency key); put the start command before it.
  return { ...failure, hint: isGeneral ? hint : `${hint} ${failure.hint}` }
}

/**
 * Commands that stop a server and start it on its folder and port; undefined if it is not local.
 * @param flag with a space before it; empty to start without --host
 */
export function restartHint({ host, settings }: Known, flag: string): string | undefined {
  const server = findServerNamed(host, settings.config, settings.baseUrl.value ?? '')
  if (server === undefined) return undefined
  const { port } = parseBaseUrl(server.base_url)
  const place = placeOf({ host, settings }, server)
  const [loss, kept] =
    server.store === 'memory' ? [', which loses its data', ' --memory'] : ['', ` ${optionOf('data', server.data_dir)}`]
  const at = port === DEFAULT_PORT ? '' : ` --port ${port}`
  return `Stop the server${loss}: \`voucherctl server stop${place}\`. Then start it ${flag === '' ? 'without --host' : `with${flag}`}, and keep its other flags: \`voucherctl server start --detach${kept}${at}${flag}\`.`
}

/** Failure of a command that lacks a credential for a local server that is not running. */
export async function localServerDown(context: Known, baseUrl: string): Promise<Failure | undefined> {
  const hint = context.settings.baseUrl.value === baseUrl ? await startHint(context) : undefined
  return hint === undefined ? undefined : fail('LOCAL_SERVER_NOT_RUNNING', `No server responds on ${baseUrl}.`, hint)
}

const DEFAULT_PORT = 8420

/** Says how to start a profile's local server; undefined without one, or if a server responds. */
export async function startHint({ host, settings }: Known): Promise<string | undefined> {
  const { profile, profileName } = settings
  const { value: baseUrl, source } = settings.baseUrl
  if (baseUrl === undefined || source !== `profile ${profileName.value}`) return undefined
  const { hostname, port, secure, prefix } = parseBaseUrl(baseUrl)
  if (!isLoopbackHost(hostname) || secure || prefix !== '') return undefined
  const dir = resolve(host.cwd, dataDirOf(host, profile))
  if (profile.data_dir === undefined && !existsSync(join(dir, 'keys.json'))) return undefined
  const running = findLocalServer(dir)
  if (running !== undefined && isAddressOf(running, baseUrl)) return undefined
  const isFree = await isSilent(baseUrl)
  // Another program may have the port of a stopped server; for another local server, the login is the better advice.
  const isKnown = settings.stoppedFolder !== undefined && !findServerAt(host, settings, originOf(baseUrl) ?? '')
  if (!isFree && !isKnown) return undefined
  const folder = existsSync(dir) ? dir : defaultDataDir(host)
  const login = localLogin({ host, settings }, running ?? { base_url: baseUrl, data_dir: folder, store: 'sqlite' })
  if (running !== undefined)
    return `The local server of ${dir} runs on ${running.base_url} now. Log in there: ${login}.`
  const isDefault = !isFree || (hostname !== '::1' && port === DEFAULT_PORT)
  const address = `${hostname === '::1' ? ` --host ${hostname}` : ''}${isDefault ? '' : ` --port ${port}`}`
  const start = localStart(host, folder, address)
  return folder === dir
    ? `The local server of ${dir} does not run. Start it: ${start}.`
    : `Its data folder ${dir} is gone, as after a server in memory. Start another server: ${start}, then log in: ${login}.`
}

/** Warns if the commands of the current profile call the server of another folder than the one that starts. */
export function warnOfOther(context: Known, dir: string): readonly string[] {
  const followed = followedFolder(context.host, context.settings.profile) ?? dir
  const isStopped = !isGone(followed) && findLocalServer(followed) === undefined
  const login = localLogin(context, { base_url: '', data_dir: dir, store: 'sqlite' })
  const how = isStopped ? `start it: ${localStart(context.host, followed)}` : `call this one: ${login}`
  return followed === dir ? [] : [`Your commands call the server of ${followed}. To ${how}`]
}

/** Says how to log in to a local server for which the profile has no account JWT; empty if that does not apply. */
export function loginFirst({ host, settings }: Known, kind: unknown, baseUrl = settings.baseUrl.value): string {
  const server = kind === 'operator' ? undefined : findServerAt(host, settings, originOf(baseUrl) ?? '')
  if (!server?.operator_key_file) return ''
  const { store } = settings.profile.credentials?.jwt ?? {}
  const isLoggedIn = host.env[credentialVariables.jwt] || (store !== undefined && store === server.store_id)
  return isLoggedIn ? '' : `Log in first: ${localLogin({ host, settings }, server)}. `
}

/** Says how to replace an expired account JWT. @param source where the command found the JWT */
function loginHint({ host, settings }: Known, source: string): string {
  const { profileName, config, baseUrl } = settings
  const { value: url = '' } = baseUrl
  const server = findRunningServers(host, config).find((it) => isAddressOf(it, url))
  const login =
    server === undefined
      ? 'Store a new one, which the platform gives you: `voucherctl login`.'
      : `Log in again: ${localLogin({ host, settings }, server)}.`
  if (source === `profile ${profileName.value}`) return login
  const variable = credentialVariables.jwt
  const isVariable = source === `environment ${variable}`
  return isVariable ? `${variable} holds the expired one and comes before a profile: unset it. ${login}` : login
}
