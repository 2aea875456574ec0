import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseBaseUrl } from '../../client/base-url.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import { oneSecret, readSecret, type TextResult } from '../host/files.js'
import type { Host } from '../host/host.js'
import { credentialNames, credentialVariables, remember, withoutLineEnd } from '../host/secrets.js'
import { changeProfile, type StoredCredential } from './config.js'
import { bindTo, dataDirOf, findServerAt, identify, isProven, notProven, readOperatorKey } from './local-server.js'
import { isGivenForCall, type Settings } from './settings.js'

interface FoundCredential {
  readonly ok: true
  readonly value: string
  readonly source: string
}

const from = (source: string, secret: TextResult): FoundCredential | Failure =>
  secret.ok ? { ok: true, value: secret.text, source } : secret

/** Content of --token-file by command line: a pipe is readable only once, and a command may make several calls. */
const read = new WeakMap<Globals, Promise<TextResult>>()

/**
 * Finds the credential of a kind for a server: flag > environment > profile > key file of the local server.
 * A stored credential is used only for the server for which it was stored.
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
    return from(`flag --token-file`, await reading)
  }
  const variable = credentialVariables[kind]
  const given = host.env[variable] ?? ''
  if (withoutLineEnd(given) !== '') return from(`environment ${variable}`, oneSecret(host, given, variable))

  const { origin } = parseBaseUrl(baseUrl)
  const stored = await findStored(host, globals, settings, kind, baseUrl)
  if (stored !== undefined) return stored
  if (kind === 'operator') {
    const key = await operatorKeyOf(host, globals, settings, origin)
    if (key !== undefined) return key
  }
  return missing(kind, origin, settings)
}

/**
 * Finds the credential of the profile for a server. One of a local store follows it to another port, and needs a proof
 * that the server of the store has the address (rules/cli.md#local-server).
 */
export async function findStored(
  host: Host,
  globals: Globals,
  settings: Settings,
  kind: CredentialKind,
  baseUrl: string,
): Promise<FoundCredential | Failure | undefined> {
  const { profile, profileName } = settings
  const stored = profile.credentials?.[kind]
  if (stored === undefined) return undefined
  const use = await useOf(host, globals, settings, stored, baseUrl)
  if (use !== 'sent') return use === 'unproven' ? notProven(baseUrl, dataDirOf(host, profile)) : undefined
  const source = `profile ${profileName.value}`
  return from(source, oneSecret(host, stored.value, `The ${credentialNames[kind]} of ${source}`))
}

async function useOf(
  host: Host,
  { 'dry-run': isDry }: Globals,
  settings: Settings,
  { origin: itsOrigin, store }: StoredCredential,
  baseUrl: string,
): Promise<'sent' | 'unproven' | 'other server'> {
  const { origin, hostname } = parseBaseUrl(baseUrl)
  const isItsAddress = itsOrigin === origin
  if (store === undefined && !isItsAddress) return 'other server'
  // A dry run sends nothing; its look-ups find their credential without --dry-run.
  if ((isDry && isItsAddress) || (store === undefined && !isLoopbackHost(hostname))) return 'sent'
  const server = findServerAt(host, settings, origin)
  if (server === undefined) {
    if (store === undefined) return needsServer(host, settings) ? 'unproven' : 'sent'
    return isItsAddress || settings.stoppedFolder !== undefined ? 'unproven' : 'other server'
  }
  if (store !== undefined && store !== server.store_id) return 'other server'
  if (!isDry && !(await isProven(server))) return 'unproven'
  // On failure the next command tries again.
  if (store === undefined) await changeProfile(host, settings.profileName.value, (it) => bindTo(host, it, server))
  return 'sent'
}

/** True if a stopped local server may have had the loopback address; earlier versions stored only addresses. */
const needsServer = (host: Host, { profile, baseUrl }: Settings) =>
  !isGivenForCall(baseUrl) &&
  profile.store !== null &&
  (profile.data_dir !== undefined || existsSync(join(dataDirOf(host, profile), 'keys.json')))

/** Reads the local server's operator key from its key file, only for the base URL of this server. */
async function operatorKeyOf(
  host: Host,
  globals: Globals,
  settings: Settings,
  origin: string,
): Promise<FoundCredential | undefined> {
  const server = findServerAt(host, settings, origin)
  const value = server && readOperatorKey(server)
  if (!value || (!globals['dry-run'] && (await identify(server)) !== 'same')) return undefined
  remember(host, value)
  return { ok: true, value, source: `the local server of ${server.data_dir}` }
}

function missing(kind: CredentialKind, origin: string, { profile, profileName }: Settings): Failure {
  const wayIn: Readonly<Record<CredentialKind, string>> = {
    token: '`voucherctl tokens create --save` makes one and keeps it, `voucherctl login --with-token -` keeps one',
    bot: '`voucherctl bots get` shows the token of an approved bot once, `voucherctl login --with-token -` keeps one',
    jwt: '`voucherctl login --with-token -` keeps one',
    operator: "it is in operator.key of the server's data folder",
  }
  const other = profile.credentials?.[kind]?.origin
  const otherServer =
    other === undefined
      ? ''
      : `The one in profile ${profileName.value} is for ${other}${other === origin ? ' with an earlier data folder' : ''} and is not sent to another server. `
  const name = credentialNames[kind]
  return fail(
    'CREDENTIAL_REQUIRED',
    `There is no ${name} for ${origin}.`,
    `${otherServer}Give it with --token-file PATH or ${credentialVariables[kind]}; ${wayIn[kind]}.`,
    { kind },
  )
}
