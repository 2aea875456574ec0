import { columnOverrides, stateTables, transientTables } from '../move/tables.js'
import { all, count, lock, notify, type Op, one, run } from '../operation.js'
import { clearState, STATE_REPLACED, type StoredSnapshot, type StoreSnapshots } from '../snapshots.js'
import type { Store } from '../store.js'
import { migrations } from './migrations.js'

type Entry = StoredSnapshot & { readonly schema: number }

/** Sessions, replay marks and polls end with the state that they belong to. */
const replacedTables = [...stateTables, ...transientTables]

/**
 * Snapshots in two tables of the same schema, rows as JSON. The first save creates the tables: most databases of several
 * servers never hold a snapshot. Each operation locks the state, so that no other process writes between two tables.
 */
export function postgresSnapshots(write: Store['write']): StoreSnapshots {
  return {
    save: (snapshot) => write(() => save(snapshot)),
    restore: (name) => write(() => restore(name)),
    list: () => write(list),
    remove: (name) => write(() => remove(name)),
    clear: (plant) =>
      write(function* () {
        yield* lockState('exclusive')
        yield* clearState(plant, replacedTables)
      }),
  }
}

const lockState = (mode: 'share' | 'exclusive') => run(`lock table ${replacedTables.join(', ')} in ${mode} mode`)

function* createTables(): Op<void> {
  yield* lock('snapshots')
  yield* run(`create table if not exists snapshots (
    name text collate "C" primary key, saved_at bigint not null, clock bigint not null, schema integer not null,
    vouchers bigint not null)`)
  yield* run(`create table if not exists snapshot_rows (
    snapshot text collate "C" not null references snapshots (name) on delete cascade,
    of_table text not null, data jsonb not null)`)
  yield* run('create index if not exists snapshot_rows_by_table on snapshot_rows (snapshot, of_table)')
}

function* save({ name, saved_at, clock }: Omit<StoredSnapshot, 'vouchers'>): Op<StoredSnapshot> {
  yield* createTables()
  yield* lockState('share')
  yield* run('delete from snapshots where name = $1', [name])
  const vouchers = yield* count('vouchers', [])
  yield* run('insert into snapshots (name, saved_at, clock, schema, vouchers) values ($1, $2, $3, $4, $5)', [
    name,
    saved_at,
    clock,
    migrations.length,
    vouchers,
  ])
  for (const table of stateTables) {
    const overrides = Object.entries(columnOverrides[table] ?? {}).map(([column, value]) => `'${column}', ${value}`)
    const data = overrides.length === 0 ? 'to_jsonb(t)' : `to_jsonb(t) || jsonb_build_object(${overrides.join(', ')})`
    yield* run(
      `insert into snapshot_rows (snapshot, of_table, data) select $1::text, '${table}', ${data} from ${table} t`,
      [name],
    )
  }
  return { name, saved_at, clock, vouchers }
}

function* restore(name: string): Op<StoredSnapshot | 'missing' | 'outdated'> {
  yield* createTables()
  const found = yield* find(name)
  if (found === undefined) return 'missing'
  if (found.schema !== migrations.length) return 'outdated'
  yield* lockState('exclusive')
  for (const table of replacedTables.toReversed()) yield* run(`delete from ${table}`)
  for (const table of stateTables) {
    yield* run(
      `insert into ${table} select r.* from snapshot_rows s, jsonb_populate_record(null::${table}, s.data) r
       where s.snapshot = $1 and s.of_table = '${table}'`,
      [name],
    )
  }
  yield* notify(STATE_REPLACED)
  return recordOf(found)
}

function* list(): Op<StoredSnapshot[]> {
  yield* createTables()
  return (yield* all<Entry>('select * from snapshots order by saved_at, name')).map(recordOf)
}

function* remove(name: string): Op<StoredSnapshot | undefined> {
  yield* createTables()
  const found = yield* find(name)
  yield* run('delete from snapshots where name = $1', [name])
  return found && recordOf(found)
}

const find = (name: string) => one<Entry>('select * from snapshots where name = $1', [name])

const recordOf = ({ name, saved_at, clock, vouchers }: Entry): StoredSnapshot => ({
  name,
  saved_at: Number(saved_at),
  clock: Number(clock),
  vouchers: Number(vouchers),
})
