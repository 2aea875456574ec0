import { type Keyring, keyOf } from '../domain/keyring.js'
import { all, lock, type Op, one, run } from './operation.js'
import { selecting } from './select.js'

/** True if no credential key is registered: only then may a server start create new keys. */
export function* hasNoKeys(): Op<boolean> {
  return (yield* all('select key_id from credential_keys')).length === 0
}

/**
 * Compares the credential keys of this process with the registered keys, from which existing vouchers are derived.
 * @param checks check value of each key, by id; it does not reveal the key
 * @returns ids of registered keys that the process lacks or has with another value
 */
export function* unknownKeys(checks: ReadonlyMap<string, string>): Op<string[]> {
  const known = yield* all(
    selecting<{ key_id: string; key_check: string }>()('select key_id, key_check from credential_keys'),
  )
  return known.filter((row) => checks.get(row.key_id) !== row.key_check).map((row) => row.key_id)
}

/**
 * Requires the keys of all vouchers, of one application or of all: this process cannot find a voucher of another key.
 * Reads vouchers only while another process has a key that this one lacks.
 * @throws KeyMissing
 */
export function* requireKeysOfVouchers(ring: Keyring, applicationId?: string): Op<void> {
  const [where, application] = applicationId === undefined ? ['', []] : [' and application_id = $2', [applicationId]]
  for (const { key_id: id } of yield* all<{ key_id: string }>('select key_id from credential_keys')) {
    if (ring.all.some((key) => key.id === id)) continue
    const found = yield* one(`select id from vouchers where key_id = $1${where} limit 1`, [id, ...application])
    if (found !== undefined) keyOf(ring, id)
  }
}

/** Serialises server starts, so that each process sees the credential keys that other processes have registered. */
export const lockKeys = (): Op<void> => lock('credential keys')

/** Registers the credential keys that the database does not have yet. */
export function* registerKeys(checks: ReadonlyMap<string, string>, now: number): Op<void> {
  for (const [id, check] of checks) {
    yield* run(
      'insert into credential_keys (key_id, key_check, created_at) values ($1, $2, $3) on conflict (key_id) do nothing',
      [id, check, now],
    )
  }
}
