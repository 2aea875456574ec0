import { all, type Op } from '../operation.js'
import { selecting } from '../select.js'

/** Lock class of credential keys. Includes the schema name: each schema of a database may have its own servers. */
const LOCK_CLASS = `hashtext('voucherctl credential keys of ' || current_schema())`

/** SQL of session locks that tell other processes which credential keys this process has. `$1` is a list of key ids. */
export const HOLD_KEYS = `select pg_advisory_lock_shared(${LOCK_CLASS}, hashtext(id)) from unnest($1::text[]) as id`

export interface ProcessSession {
  readonly pid: number
  /** Null for a Unix socket, or if the database user may not see it. */
  readonly address: string | null
}

/** Finds running processes of this database that lack a credential key: they hold only locks of other keys. */
export function* processesWithout(keyId: string): Op<ProcessSession[]> {
  return yield* all(
    selecting<ProcessSession>()(`select l.pid, host(a.client_addr) as address
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = ${LOCK_CLASS}::oid
       and l.database = (select oid from pg_database where datname = current_database())
     group by l.pid, a.client_addr having bool_and(l.objid <> hashtext($1)::oid) order by l.pid`),
    [keyId],
  )
}
