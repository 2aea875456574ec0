import process from 'node:process'
import { inject, onTestFinished } from 'vitest'
import { createPartitioned } from './partitioned.js'
import { query } from './query.js'

/** Names of the databases that tests of this process are using. */
const taken = new Set<string>()

/** Initial content: no tables, all tables, or all tables with this number of partitions per runtime table. */
type Content = 'nothing' | 'tables' | number

export interface TestDatabase {
  /** Resolves when the database exists and has no rows. */
  readonly url: Promise<string>
  release(): void
}

/**
 * Returns a database with all tables and no rows. Tests reuse a few databases, because creating a database takes longer
 * than deleting its rows.
 * @param partitions number of partitions of each runtime table
 */
export const takeDatabase = (partitions = 0): TestDatabase => take(partitions === 0 ? 'tables' : partitions)

/** Returns the URL of a database without tables, which the test may use until it ends. */
export function emptyDatabase(): Promise<string> {
  const database = take('nothing')
  onTestFinished(database.release)
  return database.url
}

/** The URL of a database on the PostgreSQL server of this test run. */
export const urlOf = (name: string): string => inject('postgresUrl').replace(/\/postgres$/, `/${name}`)

function take(content: Content): TestDatabase {
  let place = 0
  const nameOf = () => `test_${process.env.VITEST_POOL_ID}_${content}_${place}`
  while (taken.has(nameOf())) place++
  const name = nameOf()
  taken.add(name)
  return { url: prepare(name, content), release: () => taken.delete(name) }
}

async function prepare(name: string, content: Content): Promise<string> {
  const url = urlOf(name)
  try {
    await query(url, END_OTHERS)
    await query(url, content === 'nothing' ? DROP_ALL : DELETE_ALL)
  } catch (error) {
    if ((error as { code?: string }).code !== '3D000') throw error
    await query(
      inject('postgresUrl'),
      `create database ${name} ${content === 'tables' ? `template voucherctl_template` : ''}`,
    )
    if (typeof content === 'number') await createPartitioned(url, content)
  }
  return url
}

/** Ends the connections that a failed test may have left open. */
const END_OTHERS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

const DROP_ALL = 'drop schema public cascade; create schema public'

export const DELETE_ALL = `do $$ declare it text; begin
  set local session_replication_role = replica;
  for it in select tablename from pg_tables where schemaname = 'public' and tablename <> 'voucherctl_schema'
  loop execute case when it like 'snapshot\\_%' then 'drop table ' else 'delete from ' end || quote_ident(it); end loop;
end $$`
