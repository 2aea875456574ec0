import { all, lock, type Op, run } from './operation.js'

/** True before the first start with keys: a database that knows some cannot do with new ones. */
export function* knowsNoKeys(): Op<boolean> {
  return (yield* all('select key_id from credential_keys')).length === 0
}

/**
 * Compares the keys in hand with those that the vouchers were made with.
 * @param checks a check value for each key, by id: derived from the key, useless without it
 * @returns ids of keys that the database knows and the process lacks or has with another value
 */
export function* unknownKeys(checks: ReadonlyMap<string, string>): Op<string[]> {
  const known = yield* all<{ key_id: string; key_check: string }>('select key_id, key_check from credential_keys')
  return known.filter((row) => checks.get(row.key_id) !== row.key_check).map((row) => row.key_id)
}

/** Of processes that start with different keys, each sees what those before it registered. */
export const lockKeys = (): Op<void> => lock('credential keys')

/** Records keys that the database does not know yet. */
export function* registerKeys(checks: ReadonlyMap<string, string>, now: number): Op<void> {
  for (const [id, check] of checks) {
    yield* run(
      'insert into credential_keys (key_id, key_check, created_at) values ($1, $2, $3) on conflict (key_id) do nothing',
      [id, check, now],
    )
  }
}
