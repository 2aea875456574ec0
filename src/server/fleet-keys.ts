import type { Keyring } from '../domain/keyring.js'
import { lockKeys, registerKeys, unknownKeys } from '../store/keys.js'
import type { Op } from '../store/operation.js'
import { type ProcessSession, processesWithout } from '../store/postgres/key-locks.js'
import type { Store } from '../store/store.js'
import { KeysUnusable, keyChecks } from './keys.js'

/**
 * Refuses to start without the keys of the database's vouchers, or if another running process lacks the current key
 * (DECISIONS.md#credential-keys-of-a-fleet).
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

/** Refuses to start if another process lacks the current key and would not find the vouchers of this process. */
function* requireCurrentEverywhere(current: string): Op<void> {
  const without = yield* processesWithout(current)
  if (without.length === 0) return
  const named = ({ pid, address }: ProcessSession) => `${pid}${address === null ? '' : ` from ${address}`}`
  throw new KeysUnusable(
    `Credential key ${current} is current in the key file, but other running servers of this database do not have it and would find none of its vouchers (PostgreSQL sessions: ${without.map(named).join(', ')}). Make the previous key current again, add ${current} to the key file of every server and restart them all; only then make it current.`,
  )
}
