import type { Client } from 'pg'
import { all, one, run } from '../operation.js'
import { clearState, RESTORE_NOTICES, releaseLeases, type StoredSnapshot, type StoreSnapshots } from '../snapshots.js'
import { type Store, StoreUnavailable } from '../store.js'
import { stateTables, transientTables } from '../tables.js'
import { DatabaseFailure, unavailable } from './errors.js'
import { CHANNEL } from './listen.js'
import { HOLD_MIGRATIONS } from './migrate.js'
import { migrations } from './migrations.js'
import { timeouts } from './pool.js'
import type { PrimaryGuard } from './primary.js'
import { Session, type SessionConfig } from './session.js'

/** Maximum ms of a statement during a save; limits the size of a snapshot, so that a restore is possible. */
const SAVE_MS_MAX = 120_000
/** A restore takes 15 times as long as its save, because it writes the indexes too. */
const RESTORE_MS_MAX = 30 * SAVE_MS_MAX
/** Bytes of a copy (about 10,000 vouchers) above which rebuilding indexes is faster than maintaining them. */
const LARGE_BYTES = 4 * 1024 * 1024
/** Maximum attempts of a restore that deadlocks with calls of other processes. */
const RUNS_MAX = 3

type Entry = StoredSnapshot & { readonly id: number; readonly schema: number }

interface Connected {
  readonly config: SessionConfig
  readonly guard: PrimaryGuard
  readonly write: Store['write']
  /** Returns the payload of the notice to other processes. */
  payloadOf(subject: string): string
  /** Notifies the listeners of this process. */
  notifyListeners(subject: string): void
}

/** Sessions, replay marks and polls end with their state. */
const replacedTables = [...stateTables, ...transientTables]

/**
 * Snapshots as copies of the tables in the same schema, `snapshot_1_vouchers`, listed in `snapshot_list`. The first save
 * creates the list: most databases of several servers never hold a snapshot. A save, restore or removal has its own
 * connection and transaction, without the time limits of calls. PostgreSQL copies the rows, so none passes through
 * this process.
 */
export class PostgresSnapshots implements StoreSnapshots {
  readonly #connected: Connected
  readonly #open = new Set<Client>()
  #closed = false

  constructor(connected: Connected) {
    this.#connected = connected
  }

  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot> {
    // The copies show one instant and lock no rows.
    return this.#alone(SAVE_MS_MAX, 'begin isolation level repeatable read', (client) => save(client, snapshot))
  }

  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'> {
    const { payloadOf, notifyListeners } = this.#connected
    let isReplaced = false
    const replace = async (client: Client) => {
      const found = await find(client, name)
      if (found === undefined) return 'missing'
      if (found.schema !== migrations.length || found.schema !== (await schemaOf(client))) return 'outdated'
      await restore(client, found)
      for (const it of RESTORE_NOTICES) await client.query(`select pg_notify(${CHANNEL}, $1)`, [payloadOf(it)])
      isReplaced = true
      return recordOf(found)
    }
    // Notify even if the result of the commit is unknown: the state may have been replaced.
    return this.#alone(RESTORE_MS_MAX, 'begin', replace).finally(
      () => isReplaced && RESTORE_NOTICES.forEach(notifyListeners),
    )
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#connected.write(function* () {
      if ((yield* one<{ list: string | null }>(LIST))?.list === null) return []
      return (yield* all<Entry>('select * from snapshot_list order by saved_at, name')).map(recordOf)
    })
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#alone(timeouts.statement_timeout, 'begin', async (client) => {
      const found = await find(client, name)
      await drop(client, found)
      return found && recordOf(found)
    })
  }

  clear(plant: Parameters<StoreSnapshots['clear']>[0]): Promise<void> {
    return this.#connected.write(function* () {
      yield* run(lockState)
      yield* clearState(plant, replacedTables)
    })
  }

  /** Aborts running work, which PostgreSQL rolls back. */
  close(): void {
    this.#closed = true
    for (const client of this.#open) client.connection.stream.destroy()
  }

  /** Runs `work` in a transaction, while no process saves, restores, removes, migrates or imports. */
  async #alone<T>(statementMs: number, begin: string, work: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new StoreUnavailable('the database is closed')
      const client = new Session({ ...this.#connected.config, ...timeouts, statement_timeout: statementMs })
      this.#open.add(client)
      try {
        await client.connect()
        await this.#connected.guard.admit(client, (sql) => client.query(sql))
        for (const sql of SETTINGS) await client.query(sql).catch(() => {})
        // Run before the transaction: its snapshot of the tables must begin after the lock.
        await client.query(HOLD_MIGRATIONS)
        await client.query(begin)
        const result = await work(client)
        const { command } = await client.query('commit')
        if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
        return result
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error
        const failure = new DatabaseFailure(error)
        if (failure.problem === 'conflict' && attempt < RUNS_MAX) continue
        throw failure.problem === 'statement' ? failure : unavailable(failure)
      } finally {
        this.#open.delete(client)
        await client.end().catch(() => {})
      }
    }
  }
}

/**
 * Settings; PostgreSQL ignores any that it lacks. They end the transaction of a killed process within a second (before
 * version 14: after its statement), and write copies to disk steadily, so that commits of calls do not wait.
 */
const SETTINGS = ["set client_connection_check_interval = '1s'", "set backend_flush_after = '512kB'"]

const LIST = "select to_regclass('snapshot_list') as list"

const triggers = {
  off: stateTables.map((it) => `alter table ${it} disable trigger user`),
  on: stateTables.map((it) => `alter table ${it} enable trigger user`),
}

const lockState = `lock table ${replacedTables.join(', ')} in exclusive mode`

const copyOf = ({ id }: Pick<Entry, 'id'>, table: string) => `snapshot_${id}_${table}`

async function save(client: Client, { name, saved_at, clock }: Omit<StoredSnapshot, 'vouchers'>) {
  const schema = await schemaOf(client)
  // A newer schema may have tables and columns that this process does not know.
  if (schema !== migrations.length) throw new StoreUnavailable('a newer process has migrated the database')
  // Drop the tables of the earlier format, which stored rows as JSON.
  await client.query(`drop table if exists snapshot_rows, snapshots;
    create table if not exists snapshot_list (
      id integer generated always as identity, name text collate "C" primary key, saved_at bigint not null,
      clock bigint not null, schema integer not null, vouchers bigint not null)`)
  await drop(client, await find(client, name))
  const { rows } = await client.query<Entry>(
    `insert into snapshot_list (name, saved_at, clock, schema, vouchers)
     values ($1, $2, $3, $4, (select count(*) from vouchers)) returning *`,
    [name, saved_at, clock, schema],
  )
  const entry = rows[0] as Entry
  for (const table of stateTables) await client.query(`create table ${copyOf(entry, table)} as select * from ${table}`)
  return recordOf(entry)
}

/** Deletes instead of truncating: transactions that began earlier still see the old rows, not empty tables. */
async function restore(client: Client, entry: Entry): Promise<void> {
  const indexes = await rebuiltIndexes(client, entry)
  await client.query(indexes.length === 0 ? lockState : lockState.replace('exclusive', 'access exclusive'))
  const statements = [
    ...triggers.off,
    ...indexes.map((it) => it.drop),
    ...replacedTables.toReversed().map((it) => `delete from ${it}`),
    ...stateTables.map((it) => `insert into ${it} select * from ${copyOf(entry, it)}`),
    ...indexes.map((it) => it.create),
    ...triggers.on,
    ...releaseLeases,
    // Without new statistics, PostgreSQL could keep plans for much smaller tables.
    `analyze ${stateTables.join(', ')}`,
  ]
  for (const sql of statements) await client.query(sql)
}

/**
 * Returns SQL for the indexes of tables with large copies. PostgreSQL builds such an index several times faster than it
 * adds each row to it. Primary keys stay, because their rows come in order and foreign keys need them; so do indexes of
 * partitioned tables.
 */
async function rebuiltIndexes(client: Client, entry: Entry): Promise<{ drop: string; create: string }[]> {
  const sql = `
    select case when c.oid is null then format('drop index %s', i.indexrelid::regclass)
        else format('alter table %s drop constraint %I', t.oid::regclass, c.conname) end as drop,
      case when c.oid is null then pg_get_indexdef(i.indexrelid)
        else format('alter table %s add constraint %I %s', t.oid::regclass, c.conname, pg_get_constraintdef(c.oid))
      end as create
    from pg_index i join pg_class t on t.oid = i.indrelid and t.relkind = 'r'
    left join pg_constraint c on c.conindid = i.indexrelid and c.contype = 'u'
    where t.oid = any($1::text[]::regclass[]) and not i.indisprimary
      and pg_relation_size(to_regclass($2 || t.relname)) > ${LARGE_BYTES}`
  return (await client.query<{ drop: string; create: string }>(sql, [stateTables, copyOf(entry, '')])).rows
}

async function drop(client: Client, entry: Entry | undefined): Promise<void> {
  if (entry === undefined) return
  const { rows } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema() and starts_with(tablename, $1)',
    [copyOf(entry, '')],
  )
  for (const { name } of rows) await client.query(`drop table ${name}`)
  await client.query('delete from snapshot_list where id = $1', [entry.id])
}

async function find(client: Client, name: string): Promise<Entry | undefined> {
  const { rows: found } = await client.query<{ list: string | null }>(LIST)
  if (found[0]?.list === null) return undefined
  return (await client.query<Entry>('select * from snapshot_list where name = $1', [name])).rows[0]
}

const schemaOf = async (client: Client) =>
  (await client.query<{ version: number }>('select version from voucherctl_schema')).rows[0]?.version

const recordOf = ({ name, saved_at, clock, vouchers }: Entry): StoredSnapshot => ({
  name,
  saved_at: Number(saved_at),
  clock: Number(clock),
  vouchers: Number(vouchers),
})
