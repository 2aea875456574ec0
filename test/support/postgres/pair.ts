import { setTimeout as wait } from 'node:timers/promises'
import { type Gate, tcpGate } from '../server/tcp-gate.js'
import { query } from './query.js'
import { type PostgresServer, primaryAt, startPostgres } from './server.js'

const REPLICATION = ['wal_level=replica', 'max_wal_senders=4', 'wal_keep_size=256MB', 'max_wal_size=256MB']
const SYNCHRONOUS = [...REPLICATION, 'synchronous_standby_names=*']
const WAIT_MS_MAX = 30_000

/** A primary and its standby. */
export interface PostgresPair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Proxy between the two servers. */
  readonly replication: Gate
  /** Sends SIGKILL to the primary; resolves when it has ended. */
  killPrimary(): Promise<void>
  /** Stops the replication and promotes the standby; resolves when it accepts writes. */
  promote(): Promise<void>
}

/** Starts a server that may get a standby. */
export const startPrimary = (): Promise<PostgresServer> => startPostgres({ durable: true, flags: REPLICATION })

/** Restarts a server and starts a standby with a copy of its data. @param isSynchronous whether commits wait for it */
export async function addStandby(primary: PostgresServer, isSynchronous = true): Promise<PostgresPair> {
  await primary.stop()
  const replication = await tcpGate(primary.port)
  const flags = [...REPLICATION, primaryAt(replication.port)]
  const standby = await startPostgres({ durable: true, flags, standbyOf: primary.dataFolder })
  await primary.start(isSynchronous ? SYNCHRONOUS : REPLICATION)
  const state = isSynchronous ? 'sync' : 'async'
  await untilRow(primary.url, `select 1 from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`)
  return {
    primary,
    standby,
    replication,
    killPrimary() {
      primary.kill()
      return primary.stop()
    },
    async promote() {
      await replication.remove()
      await query(standby.url, 'select pg_promote(true, 30)')
      await untilRow(standby.url, 'select 1 where not pg_is_in_recovery()')
    },
  }
}

async function untilRow(url: string, sql: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  while ((await query(url, sql)).length === 0) {
    if (performance.now() > deadline) throw new Error(`no row within ${WAIT_MS_MAX / 1000} s: ${sql}`)
    await wait(50)
  }
}
