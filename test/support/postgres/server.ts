import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { closedPort } from '../closed-port.js'
import { embeddedPostgres } from './embedded-postgres.js'
import { removeWithParent } from './watch.js'

export interface PostgresServer {
  /** URL of the database `postgres` with the name and password of the superuser. */
  readonly url: string
  readonly port: number
  start(): Promise<void>
  /** Stops the server, which cancels running queries; resolves when the server has ended. */
  stop(): Promise<void>
  /** Sends SIGKILL to the server, which loses all data that is not on disk. */
  kill(): void
  /** Stops the server and removes its data folder. */
  remove(): Promise<void>
}

/** Starts a PostgreSQL server from an npm package on a free port. @param durable whether to fsync, as in production */
export async function startPostgres({ durable = false, flags = [] as string[] } = {}): Promise<PostgresServer> {
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
  const make = () =>
    new EmbeddedPostgres({
      databaseDir: join(folder, 'data'),
      port,
      user: 'postgres',
      password: 'a password',
      createPostgresUser: process.getuid?.() === 0,
      // A test run opens thousands of connections; the default of 4,096 hash iterations would slow each one.
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '-c', 'scram_iterations=1'],
      postgresFlags: [...settings, ...flags].flatMap((it) => ['-c', it]),
      onLog: (message) => log.push(String(message)),
      onError: (message) => log.push(String(message)),
    })
  let server = make()
  await server.initialise()
  await server.start()
  const processOf = () => (server as unknown as { process?: { kill(signal: string): void } }).process
  return {
    url: `postgres://postgres:a%20password@127.0.0.1:${port}/postgres`,
    port,
    start: async () => {
      server = make()
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
