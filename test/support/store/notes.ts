import { all, type Op, run } from '../../../src/store/operation.js'

/** Writes a row to a small table of the schema, which tests use for arbitrary data. */
export function* note(id: string, text = 'x'): Op<string> {
  yield* run('insert into credential_keys (key_id, key_check, created_at) values ($1, $2, $3)', [id, text, 0])
  return id
}

/** Ids of the rows, in order. */
export function* notes(): Op<string[]> {
  return (yield* all<{ key_id: string }>('select key_id from credential_keys order by key_id')).map((row) => row.key_id)
}
