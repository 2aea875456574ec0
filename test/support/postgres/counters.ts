import { Client } from 'pg'
import { type Op, one, run } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'

/** Creates a counter, which is a row of the table credential_keys. */
export const counter = (id: string): Op<number> =>
  run('insert into credential_keys (key_id, key_check, created_at) values ($1, $2, 0)', [id, 'x'])

/** Locks the row of a counter and increments it; returns the previous value. */
export function* count(id: string): Op<number> {
  const row = yield* one<{ created_at: number }>(
    'select created_at from credential_keys where key_id = $1',
    [id],
    'row',
  )
  yield* run('update credential_keys set created_at = $2 where key_id = $1', [id, (row?.created_at ?? 0) + 1])
  return row?.created_at ?? -1
}

export const counterValue = async (store: Store, id: string): Promise<number | undefined> => {
  const read = () => one<{ created_at: number }>('select created_at from credential_keys where key_id = $1', [id])
  return (await store.read(read))?.created_at
}

/** Runs `use` while another transaction holds the locks of this SQL statement. */
export async function holdLock(url: string, sql: string, use: () => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(sql)
  try {
    await use()
  } finally {
    await client.query('commit')
    await client.end()
  }
}
