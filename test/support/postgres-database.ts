import process from 'node:process'
import { inject, onTestFinished } from 'vitest'
import { createPartitioned } from './partitioned.js'
import { query } from './postgres-query.js'

/** Databases that tests of this process currently use. */
const taken = new Set<string>()

/** Initial content: nothing, all tables, or all tables with the runtime tables in this number of partitions. */
type Content = 'nothing' | 'tables' | number

export interface TestDatabase {
  /** Resolves when the database exists and has no rows. */
  readonly url: Promise<string>
  release(): void
}

/**
 * A database with all tables and no rows. Workers reuse a few databases, since creating one takes longer than
 * emptying it.
 * @param partitions number of partitions of each runtime table
 */
export const takeDatabase = (partitions = 0): TestDatabase => take(partitions === 0 ? 'tables' : partitions)

/** A database without tables, until the test ends. */
export function emptyDatabase(): Promise<string> {
  const database = take('nothing')
  onTestFinished(database.release)
  return database.url
}

/** The URL of another database of the run's server. */
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

/** A failed test may have left servers connected. */
const END_OTHERS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

const DROP_ALL = 'drop schema public cascade; create schema public'

export const DELETE_ALL = `do $$ declare it text; begin
  set local session_replication_role = replica;
  for it in select tablename from pg_tables where schemaname = 'public' and tablename <> 'voucherctl_schema'
  loop execute 'delete from ' || quote_ident(it); end loop;
end $$`
