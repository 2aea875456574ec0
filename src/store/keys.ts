import { all, lock, type Op, run } from './operation.js'

/** True if no credential key is registered: only then may a server start create new keys. */
export function* hasNoKeys(): Op<boolean> {
  return (yield* all('select key_id from credential_keys')).length === 0
}

/**
 * Compares the credential keys of this process with the registered keys, which derived the existing vouchers.
 * @param checks check value of each key, by id; it does not reveal the key
 * @returns ids of registered keys that the process lacks or has with another value
 */
export function* unknownKeys(checks: ReadonlyMap<string, string>): Op<string[]> {
  const known = yield* all<{ key_id: string; key_check: string }>('select key_id, key_check from credential_keys')
  return known.filter((row) => checks.get(row.key_id) !== row.key_check).map((row) => row.key_id)
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
