import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { RandomBytes } from '../domain/ids.js'
import type { CredentialKey, Keyring } from '../domain/keyring.js'
import { isWellFormedToken, makeToken, tokenKind } from '../domain/tokens.js'
import { reasonOf } from '../files/error-code.js'
import { readRegular } from '../files/read-file.js'
import { createFile } from '../files/replace-file.js'
import { lockKeys, registerKeys, unknownKeys } from '../store/keys.js'
import type { Op } from '../store/operation.js'
import { type ProcessSession, processesWithout } from '../store/postgres/key-locks.js'
import type { Store } from '../store/store.js'

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
 * Reads a file with keys.
 * @throws KeysUnusable with this cure
 */
export function readKeyFile(path: string, cure: string): string {
  try {
    return readRegular(path)
  } catch (cause) {
    throw new KeysUnusable(`${path} cannot be read${reasonOf(cause)}. ${cure}`, { cause })
  }
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
  const text = readKeyFile(path, 'Restore it from a backup.')
  let file: Partial<KeyFile> | null
  try {
    file = JSON.parse(text) as Partial<KeyFile> | null
  } catch (cause) {
    throw new KeysUnusable(`${path} cannot be read as a key file. Restore it from a backup.`, { cause })
  }
  const keys = keysOf(file)
  if (keys !== null) return keys
  throw new KeysUnusable(`${path} is not a key file of this version, or it is incomplete. Restore it from a backup.`)
}

/** Makes keys that are stored nowhere. */
export function makeKeys(random: RandomBytes): ServerKeys {
  return keysOf(newKeyFile(random)) as ServerKeys
}

/** Null for a file that does not have the format of this version. */
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

/** Returns a check value of each key, by key id. The store recognises the keys of its vouchers by these values. */
export function keyChecks(ring: Keyring): ReadonlyMap<string, string> {
  return new Map(
    ring.all.map(({ id, derive, index }) => [
      id,
      createHmac('sha256', derive).update(index).update('voucherctl key check').digest('base64url'),
    ]),
  )
}

const OPERATOR_KEY_CURE = 'Remove it, and the next start makes a new one.'

/**
 * Loads the operator key of a data folder and creates it on first use.
 * @throws KeysUnusable
 */
export function loadOperatorKey(path: string, random: RandomBytes, flush = true): string {
  if (!existsSync(path)) createFile(path, `${makeToken('opk_', random)}\n`, flush)
  const key = readKeyFile(path, OPERATOR_KEY_CURE).trim()
  if (tokenKind(key) === 'opk_' && isWellFormedToken(key)) return key
  throw new KeysUnusable(`${path} holds no operator key. ${OPERATOR_KEY_CURE}`)
}

/**
 * Refuses to start without the keys of the database's vouchers, or if another running process lacks the current key
 * (rules/server.md#credential-keys-of-a-fleet).
 * @throws KeysUnusable
 */
export async function requireKeysOfFleet(store: Store, ring: Keyring, now: number): Promise<void> {
  const checks = keyChecks(ring)
  // Check before taking key locks: they would make a process with wrong keys look like a server that lacks a key.
  await store.read(() => requireSameKeys(checks))
  await store.holdKeys?.(ring.all.map(({ id }) => id))
  await store.write(function* () {
    yield* lockKeys()
    yield* requireSameKeys(checks)
    if (store.holdKeys !== undefined) yield* requireCurrentEverywhere(ring.current.id)
    yield* registerKeys(checks, now)
  })
}

/** Refuses to start without the registered credential keys, with which the server verifies existing vouchers. */
function* requireSameKeys(checks: ReadonlyMap<string, string>): Op<void> {
  const unknown = yield* unknownKeys(checks)
  if (unknown.length === 0) return
  throw new KeysUnusable(
    `The vouchers in this database were made with credential key ${unknown.join(', ')}, which the key file lacks or has with another value. Restore keys.json of this data folder, or name the right file with --key-file.`,
  )
}

/** Refuses to start if another process lacks the current key and could not find the vouchers of this process. */
function* requireCurrentEverywhere(current: string): Op<void> {
  const without = yield* processesWithout(current)
  if (without.length === 0) return
  const named = ({ pid, address }: ProcessSession) => `${pid}${address === null ? '' : ` from ${address}`}`
  throw new KeysUnusable(
    `Credential key ${current} is current in the key file, but other running servers of this database do not have it and would find none of its vouchers (PostgreSQL sessions: ${without.map(named).join(', ')}). Make the previous key current again, add ${current} to the key file of every server and restart them all; only then make it current.`,
  )
}
