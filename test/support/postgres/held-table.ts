import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { until } from '../server/deliveries.js'
import { query } from './query.js'

/** Locks a table until `release` or the end of the test, so that what reads it waits. */
export async function holdTable(url: string, table: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  const waiting = `select 1 from pg_locks where not granted and relation = '${table}'::regclass`
  return {
    client,
    waits: () => until(async () => (await query(url, waiting)).length > 0),
    release: () => client.query('commit'),
  }
}
