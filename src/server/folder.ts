import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { RandomBytes } from '../domain/ids.js'
import type { CredentialKey, Keyring } from '../domain/keyring.js'
import { isWellFormedToken, makeToken, tokenKind } from '../domain/tokens.js'
import { processStart } from '../files/process-alive.js'
import { createFile, replaceFile } from '../files/replace-file.js'

/** Creates a folder that only this user may access; does not change an existing folder. */
export function makeDataDir(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { recursive: true, mode: 0o700 })
}

/** Creates a private folder; the server removes it when it ends. */
export function makeTemporaryDir(): string {
  return mkdtempSync(join(tmpdir(), 'voucherctl-'))
}

export interface ServerKeys {
  readonly credentials: Keyring
  /** HS256 key of account JWTs. */
  readonly account: Uint8Array
}

interface KeyFile {
  version: 1
  current: string
  credential_keys: { id: string; derive: string; index: string }[]
  account_key: string
}

export class KeysUnusable extends Error {
  override readonly name = 'KeysUnusable'
  readonly code = 'KEYS_UNUSABLE'
}

/**
 * Loads the keys of a data folder and creates them on first use.
 * @param mayCreate false for a file that the user named, so that a typo does not create new keys
 * @throws KeysUnusable
 */
export function loadKeys(path: string, mayCreate: boolean, random: RandomBytes, flush = true): ServerKeys {
  if (!existsSync(path)) {
    if (!mayCreate)
      throw new KeysUnusable(
        `${path} does not exist. Restore keys.json of the data folder whose vouchers this server shall serve, or name them with --key-file: they can be verified with those keys only.`,
      )
    createFile(path, `${JSON.stringify(newKeyFile(random), null, 2)}\n`, flush)
  }
  const keys = readKeyFile(path)
  if (keys === null) {
    throw new KeysUnusable(`${path} is not a key file of this version, or it is incomplete. Restore it from a backup.`)
  }
  return keys
}

/** Null when the file does not have the format of this version. */
function readKeyFile(path: string): ServerKeys | null {
  let file: Partial<KeyFile> | null
  try {
    file = JSON.parse(readFileSync(path, 'utf8')) as Partial<KeyFile> | null
  } catch (cause) {
    throw new KeysUnusable(`${path} cannot be read as a key file. Restore it from a backup.`, { cause })
  }
  return keysOf(file)
}

/** Makes keys that no file holds. */
export function makeKeys(random: RandomBytes): ServerKeys {
  return keysOf(newKeyFile(random)) as ServerKeys
}

function keysOf(file: Partial<KeyFile> | null): ServerKeys | null {
  if (file?.version !== 1 || !Array.isArray(file.credential_keys)) return null
  const account = Buffer.from(String(file.account_key), 'base64url')
  const all = file.credential_keys.filter((key) => key !== null).map(readKey)
  const current = all.find((key) => key.id === file.current)
  const complete = account.length === 32 && all.every((key) => key.derive.length === 32 && key.index.length === 32)
  if (current === undefined || !complete) return null
  return { credentials: { current, all: [current, ...all.filter((key) => key !== current)] }, account }
}

function readKey({ id, derive, index }: KeyFile['credential_keys'][number]): CredentialKey {
  return {
    id: String(id),
    derive: Buffer.from(String(derive), 'base64url'),
    index: Buffer.from(String(index), 'base64url'),
  }
}

function newKeyFile(random: RandomBytes): KeyFile {
  const secret = () => Buffer.from(random(32)).toString('base64url')
  const id = `key_${Buffer.from(random(6)).toString('hex')}`
  return {
    version: 1,
    current: id,
    credential_keys: [{ id, derive: secret(), index: secret() }],
    account_key: secret(),
  }
}

/** Returns a check value of each key, by key id. A store recognises the keys of its vouchers by their check values. */
export function keyChecks(ring: Keyring): ReadonlyMap<string, string> {
  return new Map(
    ring.all.map(({ id, derive, index }) => [
      id,
      createHmac('sha256', derive).update(index).update('voucherctl key check').digest('base64url'),
    ]),
  )
}

/**
 * Loads the operator key of a data folder and creates it on first use.
 * @throws KeysUnusable
 */
export function loadOperatorKey(path: string, random: RandomBytes, flush = true): string {
  if (!existsSync(path)) createFile(path, `${makeToken('opk_', random)}\n`, flush)
  const key = readFileSync(path, 'utf8').trim()
  if (tokenKind(key) === 'opk_' && isWellFormedToken(key)) return key
  throw new KeysUnusable(`${path} holds no operator key. Remove it, and the next start makes a new one.`)
}

/** Content of server.json, in which other commands find the running server. */
export interface ServerFile {
  /** Id of this start of the server, which /healthz returns too. */
  instance_id: string
  pid: number
  base_url: string | null
  data_dir: string | null
  operator_key_file: string | null
  store: string
  /** Decisions that differ from the rules (DECISIONS.md#differences); absent if none does. */
  differences?: readonly string[]
  started_at: string
}

export function writeServerFile(dataDir: string, file: ServerFile): void {
  writeRunning(join(dataDir, 'server.json'), file)
}

/**
 * Adds a server to a registry of running servers, which is a folder of the user.
 * @returns a function that removes it, with the folders that were created for it
 * @throws errors of the file system
 */
export function registerServer(registryDir: string, file: ServerFile): () => void {
  const path = join(registryDir, `${file.instance_id}.json`)
  const topmost = mkdirSync(registryDir, { recursive: true, mode: 0o700 })
  writeRunning(path, file)
  return () => {
    rmSync(path, { force: true })
    if (topmost !== undefined) removeEmpty(registryDir, topmost)
  }
}

/** Removes a folder and those above it up to `topmost`, as far as they are empty. */
function removeEmpty(dir: string, topmost: string): void {
  try {
    rmdirSync(dir)
  } catch {
    return
  }
  if (dir !== topmost) removeEmpty(dirname(dir), topmost)
}

function writeRunning(path: string, file: ServerFile): void {
  const content = { ...file, process_start: processStart(process.pid) ?? null }
  replaceFile(path, `${JSON.stringify(content, null, 2)}\n`, { flush: false, follow: false })
}

/** Removes server.json unless it belongs to another server: with PostgreSQL several may share the folder. */
export function removeServerFile(dataDir: string, instanceId: string): void {
  const path = join(dataDir, 'server.json')
  try {
    const { instance_id: other } = JSON.parse(readFileSync(path, 'utf8')) as Partial<ServerFile>
    if (other !== instanceId) return
  } catch {
    // The file is missing already, or unreadable.
  }
  rmSync(path, { force: true })
}
