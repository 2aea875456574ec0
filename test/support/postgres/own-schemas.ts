import { query } from './query.js'

export const schemasOf = async (url: string): Promise<string[]> => {
  const found = await query<{ name: string }>(
    url,
    "select nspname as name from pg_namespace where nspname like 'voucherctl%'",
  )
  return found.map(({ name }) => name)
}

/** The processes that hold a schema. */
export const holdersOf = (url: string) =>
  query<{ pid: number }>(
    url,
    `select distinct pid from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`,
  )
