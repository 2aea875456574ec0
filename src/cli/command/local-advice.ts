import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseBaseUrl } from '../../client/base-url.js'
import { isLoopbackHost } from '../../values/loopback.js'
import {
  dataDirOf,
  findLocalServer,
  findRunningServers,
  isAddressOf,
  isSilent,
  START_HINT,
} from '../config/local-server.js'
import { type Failure, fail, optionOf, suggested } from '../failures/failure.js'
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
  const { value: url = '' } = settings.baseUrl
  const server = findRunningServers(host, settings.config).find((it) => it.base_url === url || isAddressOf(it, url))
  if (server === undefined) return undefined
  const { port } = parseBaseUrl(server.base_url)
  const isInFolder = server.data_dir === resolve(host.cwd, dataDirOf(host, settings.profile))
  const data = isInFolder ? '' : ` ${optionOf('data', server.data_dir)}`
  const place = `${server.store === 'memory' ? ' --memory' : data}${port === DEFAULT_PORT ? '' : ` --port ${port}`}`
  return `Stop the server: \`voucherctl server stop${data}\`. Then start it ${flag === '' ? 'without --host' : `with${flag}`}, and keep its other flags: \`voucherctl server start --detach${place}${flag}\`.`
}

/** Failure of a command that needs the operator key of a local server that is not running. */
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
  if ((running !== undefined && isAddressOf(running, baseUrl)) || !(await isSilent(baseUrl))) return undefined
  const login = localLogin(profile.account)
  if (running !== undefined)
    return `The local server of ${dir} runs on ${running.base_url} now. Log in there: ${login}.`
  const start =
    hostname === '::1'
      ? suggested`server start --detach --host ${hostname} --port ${String(port)}`
      : port === DEFAULT_PORT
        ? suggested`server start --detach`
        : suggested`server start --detach --port ${String(port)}`
  return existsSync(dir)
    ? `The local server of ${dir} does not run. Start it: ${start}.`
    : `Its data folder ${dir} is gone, as after a server in memory. Start another server: ${start}, then log in: ${login}.`
}

const localLogin = (account: string | undefined) =>
  account === undefined ? '`voucherctl login --local`' : suggested`login --local --account ${account}`

/** Says how to replace an expired account JWT. @param source where the command found the JWT */
function loginHint({ host, settings }: Known, source: string): string {
  const { profile, profileName, config, baseUrl } = settings
  const { value: url = '' } = baseUrl
  const server = findRunningServers(host, config).find((it) => isAddressOf(it, url))
  const isInFolder = server?.data_dir === resolve(host.cwd, dataDirOf(host, profile))
  const login =
    server === undefined
      ? 'Store a new one, which the platform gives you: `voucherctl login`.'
      : isInFolder
        ? `Log in again: ${localLogin(profile.account)}.`
        : `Log in again: ${suggested`login --local --account ${profile.account ?? 'me'} --data ${server.data_dir}`}.`
  if (source === `profile ${profileName.value}`) return login
  const variable = credentialVariables.jwt
  const isVariable = source === `environment ${variable}`
  return isVariable ? `${variable} holds the expired one and comes before a profile: unset it. ${login}` : login
}
