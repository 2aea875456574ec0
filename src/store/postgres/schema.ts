import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { unusable } from './migrate.js'
import { timeouts } from './pool.js'
import { connectionOf, type PostgresSettings } from './settings.js'

interface OwnSchema {
  readonly name: string
  /** Ends the connection that holds the schema. Call it once a store is open, whose listener holds the schema too. */
  handOver(): Promise<void>
  /** Removes the schema with everything in it. @throws StoreUnusable */
  drop(): Promise<void>
}

const keyOf = (name: string) => `hashtextextended('voucherctl process of ${name}', 0)`

/** Takes the session lock that shows other processes that this one uses a schema. PostgreSQL ends it with the process. */
export const holdSchema = (name: string) => `select pg_advisory_lock_shared(${keyOf(name)})`

/**
 * Creates a schema that no other server uses, in a database that others may share, and drops those of processes that
 * were killed.
 * @throws StoreUnusable
 */
export async function createSchema(settings: PostgresSettings): Promise<OwnSchema> {
  const { config, name: database } = await connectionOf(settings)
  const name = `voucherctl_test_${randomBytes(8).toString('hex')}`
  const { connectionTimeoutMillis, lock_timeout } = timeouts
  const connection = async (use: (client: Client) => Promise<unknown>) => {
    const client = new Client({ ...config, connectionTimeoutMillis, lock_timeout })
    client.on('error', () => {})
    const end = () => client.end().catch(() => {})
    try {
      await client.connect()
      await use(client)
      return end
    } catch (error) {
      await end()
      throw unusable(error, database)
    }
  }
  const handOver = await connection(async (client) => {
    await dropAbandoned(client)
    // Lock before the schema exists: another process drops a schema that is not locked.
    await client.query(holdSchema(name))
    await client.query(`create schema ${name}`)
  })
  const drop = async () => {
    await handOver()
    // Another process may drop the schema as soon as the store has closed: wait for its end.
    const sql = `select pg_advisory_lock(${keyOf(name)}); drop schema if exists ${name} cascade`
    const end = await connection((client) => client.query(sql))
    await end()
  }
  return { name, handOver, drop }
}

const OWN_SCHEMAS = "select nspname as name from pg_namespace where nspname ~ '^voucherctl_test_[0-9a-f]{16}$'"

async function dropAbandoned(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(OWN_SCHEMAS)
  for (const { name } of rows) {
    const sql = `do $$ begin
      if pg_try_advisory_xact_lock(${keyOf(name)}) then drop schema if exists ${name} cascade; end if;
    end $$`
    // A schema of another database user, or one that is in use: its owner or a later start drops it.
    await client.query(sql).catch(() => {})
  }
}
