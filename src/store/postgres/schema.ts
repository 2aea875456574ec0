import { randomBytes } from 'node:crypto'
import { Client, type ClientConfig } from 'pg'
import { unusable } from './migrate.js'
import { timeouts } from './pool.js'
import { connectionOf, type PostgresSettings } from './settings.js'

export interface OwnSchema {
  readonly name: string
  /** Removes the schema with everything in it. @throws StoreUnusable */
  drop(): Promise<void>
}

/**
 * Creates a schema that no other server uses, in a database that others may share.
 * @throws StoreUnusable
 */
export async function createSchema(settings: PostgresSettings): Promise<OwnSchema> {
  const { config, name: database } = await connectionOf(settings)
  const name = `voucherctl_test_${randomBytes(8).toString('hex')}`
  const run = (sql: string) =>
    execute(config, sql).catch((error: unknown) => {
      throw unusable(error, database)
    })
  await run(`create schema ${name}`)
  return { name, drop: () => run(`drop schema ${name} cascade`) }
}

async function execute(config: ClientConfig, sql: string): Promise<void> {
  const { connectionTimeoutMillis } = timeouts
  const client = new Client({ ...config, connectionTimeoutMillis })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => {})
  }
}
