import { Client } from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { passwords } from '../../../src/store/postgres/errors.js'
import { migratePostgres } from '../../../src/store/postgres/migrate.js'
import { migrations } from '../../../src/store/postgres/migrations.js'
import { connectionOf } from '../../../src/store/postgres/settings.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'

const migrate = async (url: string, known = migrations) => {
  const { config, name } = await connectionOf({ url, env: {} })
  return migratePostgres(config, name, false, known)
}
const tablesOf = (url: string) =>
  query(url, "select tablename from pg_tables where schemaname = 'public' order by tablename")

describe('PostgreSQL migrations', () => {
  it('migrations run in exactly one of eight processes that start concurrently', async () => {
    const url = await emptyDatabase()
    const done = await Promise.all(Array.from({ length: 8 }, () => migrate(url)))
    expect(done.filter((it) => it.steps.length > 0).length).toBe(1)
    expect(await query(url, 'select version from voucherctl_schema')).toEqual([{ version: migrations.length }])
  })

  it('failed migration of an empty database leaves no tables', async () => {
    const url = await emptyDatabase()
    // Occupy a name that the migrations need with another type.
    await query(url, 'create type bots as enum ()')
    await expect(migrate(url)).rejects.toMatchObject({ name: 'StoreUnusable' })
    expect(await tablesOf(url)).toEqual([])
  })

  it('migration that deadlocks with running servers is retried', async () => {
    const url = await emptyDatabase()
    await migrate(url)
    const atWork = new Client({ connectionString: url })
    await atWork.connect()
    // PostgreSQL ends the statement that detects a deadlock first: with this timeout that is the migration.
    await atWork.query("set deadlock_timeout = '1min'")
    await atWork.query('begin; lock table tokens')
    const later = {
      name: 'later',
      sql: 'alter table applications add column a text; alter table tokens add column b text',
    }
    const migrating = migrate(url, [...migrations, later])
    const waits = "select 1 from pg_locks where relation = 'tokens'::regclass and not granted"
    while ((await query(url, waits)).length === 0);
    await atWork.query('lock table applications')
    await atWork.query('commit')
    await atWork.end()
    expect((await migrating).to).toBe(migrations.length + 1)
  })

  it('migration reports why a database is unusable, never the password', async () => {
    // Other files of this process leave short passwords, which an SQLSTATE may contain.
    passwords.clear()
    const server = inject('postgresUrl')
    const messageOf = (url: string) => migrate(url).then(String, (error: Error) => error.message)
    const wrong = await messageOf(server.replace('a%20password', 'some-secret'))
    expect(wrong).toMatch(/28P01.*PGPASSWORD/s)
    const absent = await messageOf(server.replace(/\/postgres$/, '/nowhere'))
    expect(absent).toMatch(/3D000.*createdb/s)
    const port = new URL(server).port
    const closed = await messageOf(server.replace(`:${port}/`, ':1/'))
    expect(closed).toMatch(/ECONNREFUSED.*PostgreSQL runs/s)
    for (const text of [wrong, absent, closed])
      expect(text).not.toMatch(/password@|some-secret|a%20password|a password/)
  })
})
