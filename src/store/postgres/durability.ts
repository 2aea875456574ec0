import { unusable } from './migrate.js'
import { Session } from './session.js'
import { connectionOf, type PostgresSettings } from './settings.js'

const CONNECT_MS_MAX = 3_000

/** What decides which failures of a PostgreSQL server lose acknowledged calls. */
export interface Durability {
  /** Name of the database, without a password. */
  readonly database: string
  readonly isStandby: boolean
  readonly fsync: string
  readonly synchronousCommit: string
  /** Empty if commits wait for no standby. */
  readonly standbys: string
}

/** Every user may read these settings; pg_stat_replication shows its rows only to some. */
const SETTINGS = `select pg_is_in_recovery() as "isStandby", current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as "synchronousCommit",
  current_setting('synchronous_standby_names') as standbys`

/** @throws StoreUnusable */
export async function readDurability(settings: PostgresSettings): Promise<Durability> {
  const { config, name } = await connectionOf(settings)
  const client = new Session({ ...config, connectionTimeoutMillis: CONNECT_MS_MAX, query_timeout: CONNECT_MS_MAX })
  try {
    await client.connect()
    const { rows } = await client.query<Omit<Durability, 'database'>>(SETTINGS)
    return { database: name, ...(rows[0] as Omit<Durability, 'database'>) }
  } catch (error) {
    throw unusable(error, name)
  } finally {
    await client.end().catch(() => {})
  }
}
