import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { closedPort } from '../closed-port.js'
import { embeddedPostgres } from './embedded-postgres.js'
import { query } from './query.js'
import { removeWithParent } from './watch.js'

export interface PostgresServer {
  /** URL of the database `postgres` with the name and password of the superuser. */
  readonly url: string
  readonly port: number
  readonly dataFolder: string
  /** Starts the stopped server. @param flags replace the flags of the first start */
  start(flags?: readonly string[]): Promise<void>
  /** Stops the server, which cancels running queries; resolves when the server has ended. */
  stop(): Promise<void>
  /** Sends SIGKILL to the server, which loses all data that is not on disk. */
  kill(): void
  /** Stops the server and removes its data folder. */
  remove(): Promise<void>
}

interface PostgresOptions {
  /** Whether to fsync, as in production. */
  readonly durable?: boolean
  readonly flags?: readonly string[]
  /** Data folder of a stopped server; the new server is a standby with a copy of it. */
  readonly standbyOf?: string
}

const PASSWORD = 'a password'

/** Parameter of a standby that names the port of its primary. */
export const primaryAt = (port: number): string =>
  `primary_conninfo=host=127.0.0.1 port=${port} user=postgres password='${PASSWORD}' application_name=standby`

/** Starts a PostgreSQL server from an npm package on a free port. */
export async function startPostgres({
  durable = false,
  flags = [],
  standbyOf,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-postgres-'))
  // As root, tests run PostgreSQL as another user, who needs access to the folder.
  chmodSync(folder, 0o755)
  removeWithParent(folder)
  const port = await closedPort()
  const fast = durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
  const settings = [
    ...fast,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}/data`,
    'max_connections=200',
    'wal_level=minimal',
    'max_wal_senders=0',
  ]
  const log: string[] = []
  const EmbeddedPostgres = await embeddedPostgres(folder)
  const dataFolder = join(folder, 'data')
  const url = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`
  const make = (flags: readonly string[]) =>
    new EmbeddedPostgres({
      databaseDir: dataFolder,
      port,
      user: 'postgres',
      password: PASSWORD,
      createPostgresUser: process.getuid?.() === 0,
      // A test run opens thousands of connections; the default of 4,096 hash iterations would slow each one.
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '-c', 'scram_iterations=1'],
      postgresFlags: [...settings, ...flags].flatMap((it) => ['-c', it]),
      onLog: (message) => log.push(String(message)),
      onError: (message) => log.push(String(message)),
    })
  let server = make(flags)
  if (standbyOf === undefined) {
    await server.initialise()
    await server.start()
  } else {
    execFileSync('cp', ['-a', standbyOf, dataFolder])
    writeFileSync(join(dataFolder, 'standby.signal'), '')
    // This promise resolves only after a promotion.
    server.start().catch(() => {})
    for (let tries = 1; !(await isReachable(url)); tries++) {
      if (tries === 200) throw new Error(`the standby does not start: ${log.slice(-20).join('')}`)
      await wait(100)
    }
  }
  const processOf = () => (server as unknown as { process?: { kill(signal: string): void } }).process
  return {
    url,
    port,
    dataFolder,
    start: async (changed = flags) => {
      server = make(changed)
      await server.start()
    },
    stop: () => server.stop(),
    kill: () => processOf()?.kill('SIGKILL'),
    remove: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const isReachable = (url: string): Promise<boolean> =>
  query(url, 'select 1').then(
    () => true,
    () => false,
  )
