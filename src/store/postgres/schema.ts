import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { unusable } from './migrate.js'
import { timeouts } from './pool.js'
import { Session } from './session.js'
import { connectionOf, type PostgresSettings } from './settings.js'

const keyOf = (name: string) => `hashtextextended('voucherctl process of ${name}', 0)`

/** SQL of the session lock that marks a schema as used. PostgreSQL releases the lock when the process ends. */
export const holdSchema = (name: string) => `select pg_advisory_lock_shared(${keyOf(name)})`

/**
 * Creates a schema for one server in a database that others may share, and drops the schemas of killed processes.
 * `handOver` ends the connection that locks the schema: call it after a store is open, whose listener has the same lock.
 * @throws StoreUnusable, as `drop` does
 */
export async function createSchema(settings: PostgresSettings) {
  const { config, name: database } = await connectionOf(settings)
  const name = `voucherctl_test_${randomBytes(8).toString('hex')}`
  const { connectionTimeoutMillis, lock_timeout } = timeouts
  const connection = async (use: (client: Client) => Promise<unknown>) => {
    const client = new Session({ ...config, connectionTimeoutMillis, lock_timeout })
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
    // Lock before the schema exists, because another process drops an unlocked schema.
    await client.query(holdSchema(name))
    await client.query(`create schema ${name}`)
  })
  const drop = async () => {
    await handOver()
    // Another process may drop the schema as soon as the store is closed: wait until it has finished.
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
    // Ignore a schema in use, or of another database user: its owner or a later start drops it.
    await client.query(sql).catch(() => {})
  }
}
