import { notify, type Op, one, run } from './operation.js'
import { selecting } from './select.js'

/** Subject of the notice that is sent after a key rotation. */
export const SUBJECT = 'secure keys'

interface StoredKeys {
  readonly version: number
  readonly sealed: string
}

/** Loads the static keys of the encrypted transport, which all processes of a store share. */
export function* load(): Op<StoredKeys | undefined> {
  return yield* one(selecting<StoredKeys>()('select version, sealed from secure_keys where place = 1'))
}

/** Replaces the keys; false if the stored version is no longer `version`. @param version 0 before the first keys */
export function* replace(version: number, sealed: string): Op<boolean> {
  const changed =
    version === 0
      ? yield* run('insert into secure_keys (place, version, sealed) values (1, 1, $1) on conflict do nothing', [
          sealed,
        ])
      : yield* run('update secure_keys set version = version + 1, sealed = $2 where place = 1 and version = $1', [
          version,
          sealed,
        ])
  if (changed > 0) yield* notify(SUBJECT)
  return changed > 0
}
