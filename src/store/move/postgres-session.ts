import type { Client, QueryResult, types } from 'pg'
import type { Row, Value } from '../operation.js'
import { parserOf } from '../postgres/batch.js'
import { DatabaseFailure } from '../postgres/errors.js'
import { LOCK_MIGRATIONS, unusable, versionOf, versionStep } from '../postgres/migrate.js'
import { migrations } from '../postgres/migrations.js'
import { Session } from '../postgres/session.js'
import { connectionOf, type PostgresSettings } from '../postgres/settings.js'
import { allTables, type ExportedTable } from '../tables.js'
import { type MoveSource, type MoveTarget, PAGE_ROWS, quoted, selectOf, type Table } from './session.js'

const CONNECT_MS_MAX = 5_000
/** Maximum wait for locks of servers that run or start on the same database. */
const LOCK_MS_MAX = 10_000
/** The database aborts an export or import when the other end of its pipe pauses for longer than this. */
const IDLE_MS_MAX = 600_000

const SNAPSHOT = 'begin transaction isolation level repeatable read, read only'

/** Opens a snapshot of the database for an export, while servers run. @throws StoreUnusable */
export async function openPostgresSource(settings: PostgresSettings): Promise<MoveSource> {
  return (await connect(settings, SNAPSHOT)).source
}

/**
 * Begins the transaction of an import. It holds the migration lock, so that no server can start, and locks all tables,
 * so that running servers cannot write.
 * @throws StoreUnusable
 */
export async function openPostgresTarget(settings: PostgresSettings): Promise<MoveTarget> {
  const { client, send, source } = await connect(settings, 'begin')
  const guarded = guardedBy(source)
  try {
    await guarded(client.query(LOCK_MIGRATIONS))
    if ((await source.schema()) === migrations.length) await guarded(client.query(`lock table ${allTables.join(', ')}`))
  } catch (error) {
    await source.close()
    throw error
  }
  const migrate = async (from: number, to: number) => {
    for (const { sql } of migrations.slice(from, to)) await guarded(client.query(sql))
    await guarded(client.query(versionStep(to).sql))
  }
  return {
    ...source,
    async createSchema(schema) {
      if (schema === (await source.schema())) return
      await guarded(client.query(`drop table if exists ${allTables.join(', ')}`))
      await migrate(0, schema)
    },
    // Send all rows as one JSON parameter; PostgreSQL converts the values to the column types of the table.
    async insert({ name, columns }, rows) {
      const names = quoted(columns)
      const sql = `insert into ${name} (${names}) select ${names} from json_populate_recordset(null::${name}, $1::json)`
      await send(sql, [JSON.stringify(rows)])
    },
    async insertTransportKeys(sealed) {
      await send('insert into secure_keys (place, version, sealed) values (1, 1, $1)', [sealed])
    },
    async commit() {
      const before = await source.schema()
      if (before < migrations.length) await migrate(before, migrations.length)
      // Without statistics PostgreSQL would plan the first calls for empty tables.
      await guarded(client.query('analyze'))
      const { command } = await send('commit')
      // PostgreSQL responds `ROLLBACK` to the commit of a transaction that it has aborted.
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
    },
  }
}

type Send = (sql: string, params?: readonly Value[]) => Promise<QueryResult<Row>>

const guardedBy =
  ({ name }: Pick<MoveSource, 'name'>) =>
  <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw unusable(error, name)
    })

async function connect(
  settings: PostgresSettings,
  begin: string,
): Promise<{ client: Client; send: Send; source: MoveSource }> {
  const { config, name } = await connectionOf(settings)
  const client = new Session({
    ...config,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    lock_timeout: LOCK_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_MS_MAX,
    keepAlive: true,
    types: { getTypeParser: parserOf as typeof types.getTypeParser },
  })
  try {
    await client.connect()
    await client.query(begin)
    // Override the statement timeout of the role or database, which is meant for short statements.
    await client.query('set local statement_timeout = 0')
  } catch (error) {
    await client.end().catch(() => {})
    throw unusable(error, name)
  }
  const send: Send = (sql, params = []) =>
    client.query(sql, params as Value[]).catch((error: unknown) => {
      throw new DatabaseFailure(error)
    })
  const rowsOf = async (sql: string, params?: readonly Value[]) => (await send(sql, params)).rows
  const source: MoveSource = {
    dialect: 'postgres',
    name,
    schema: () => guardedBy({ name })(versionOf(client, name)),
    all: (sql) => rowsOf(sql),
    async table(table: ExportedTable): Promise<Table | undefined> {
      const columns = await rowsOf(COLUMNS, [table])
      if (columns.length === 0) return undefined
      const named = (rows: readonly Row[]) => rows.map((it) => String(it.name))
      return { name: table, columns: named(columns).sort(), key: named(await rowsOf(KEY, [table])) }
    },
    // Use a cursor, because a later page then costs no more than the first. Fetch a page while the caller uses another.
    async *pages(table) {
      const cursor = 'pages'
      await send(`declare ${cursor} no scroll cursor for ${selectOf(table)} order by ${quoted(table.key)}`)
      const fetch = () => {
        const rows = rowsOf(`fetch ${PAGE_ROWS} from ${cursor}`)
        rows.catch(() => {})
        return rows
      }
      for (let rows = await fetch(); rows.length > 0; ) {
        const next = fetch()
        yield rows
        rows = await next
      }
      await send(`close ${cursor}`)
    },
    close: () => client.end().catch(() => {}),
  }
  return { client, send, source }
}

const COLUMNS = `select attname as name from pg_attribute
  where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`
const KEY = `select a.attname as name from pg_index i
  cross join lateral unnest(i.indkey) with ordinality as k (attnum, place)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = to_regclass($1) and i.indisprimary order by k.place`
