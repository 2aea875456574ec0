import type { Keyring } from '../domain/keyring.js'
import { type Op, all, lock, run } from './operation.js'

/** True before the first start with keys: a database that knows some cannot do with new ones. */
export function* knowsNoKeys(): Op<boolean> {
  return (yield* all('select key_id from credential_keys')).length === 0
}

/**
 * Compares the keys in hand with those that the vouchers were made with, and records new ones.
 * @param checks a check value for each key, by id: derived from the key, useless without it
 * @returns ids of keys that the database knows and the ring lacks or has with another value
 */
export function* unknownKeys(ring: Keyring, checks: ReadonlyMap<string, string>, now: number): Op<string[]> {
  // Of two processes that start with different keys, the second shall see those of the first.
  yield* lock('credential keys')
  const known = yield* all<{ key_id: string; key_check: string }>('select key_id, key_check from credential_keys')
  const wrong = known.filter((row) => checks.get(row.key_id) !== row.key_check).map((row) => row.key_id)
  if (wrong.length > 0) return wrong
  for (const { id } of ring.all) {
    yield* run(
      'insert into credential_keys (key_id, key_check, created_at) values ($1, $2, $3) on conflict (key_id) do nothing',
      [id, checks.get(id) as string, now],
    )
  }
  return []
}
