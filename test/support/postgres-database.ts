import process from 'node:process'
import { Client } from 'pg'
import { inject } from 'vitest'
import type { Shared, Store } from '../../src/store/store.js'
import type { Op } from '../../src/store/operation.js'
import { openPostgresStore } from '../../src/store/postgres.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { createPartitioned } from './partitioned.js'

/** Databases that tests of this process use right now. */
const taken = new Set<string>()

export interface TestDatabase {
  /** Resolves when the database is there and empty. */
  readonly url: Promise<string>
  release(): void
}

/**
 * An empty database of the run's server. The workers of a run take turns with a few of them, since making one takes
 * longer than emptying it.
 * @param partitions of the runtime tables; without, the database has no tables before a store makes them
 */
export function takeDatabase(partitions = 0): TestDatabase {
  let place = 0
  const nameOf = () => `test_${process.env.VITEST_POOL_ID}_${place}${partitions === 0 ? '' : `_in_${partitions}`}`
  while (taken.has(nameOf())) place++
  const name = nameOf()
  taken.add(name)
  return { url: prepare(name, partitions), release: () => taken.delete(name) }
}

async function prepare(name: string, partitions: number): Promise<string> {
  const server = inject('postgresUrl')
  const url = server.replace(/\/postgres$/, `/${name}`)
  try {
    await empty(url)
  } catch (error) {
    if ((error as { code?: string }).code !== '3D000') throw error
    await query(server, `create database ${name}`)
    if (partitions > 0) await createPartitioned(url, partitions)
  }
  return url
}

/** Rows go, tables stay: the next store finds its schema. */
async function empty(url: string): Promise<void> {
  await query(
    url,
    `do $$ declare it text; begin
       set local session_replication_role = replica;
       for it in select tablename from pg_tables where schemaname = 'public' and tablename <> 'voucherctl_schema'
       loop execute 'delete from ' || quote_ident(it); end loop;
     end $$`,
  )
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** A store on a database of its own that is used before it is open: tests make their servers without waiting. */
export function openPostgresSoon(database: TestDatabase, then: () => void = () => {}): Store {
  const opening = database.url.then((url) => openPostgresStore({ url, env: {} }))
  opening.catch(() => {})
  let closing: Promise<void> | undefined
  const refused = () => Promise.reject(new StoreUnavailable('the database is closed'))
  return {
    name: 'postgres',
    write: async <T>(op: () => Op<T>, shared?: Shared) =>
      closing === undefined ? (await opening).write(op, shared) : refused(),
    read: async <T>(op: () => Op<T>) => (closing === undefined ? (await opening).read(op) : refused()),
    listen(listener, missed) {
      let stop: (() => void) | undefined
      let stopped = false
      opening.then(
        (store) => {
          if (!stopped) stop = store.listen(listener, missed)
        },
        () => {},
      )
      return () => {
        stopped = true
        stop?.()
      }
    },
    close() {
      closing ??= opening.then((store) => store.close()).finally(then)
      return closing
    },
  }
}
