// Starts a PostgreSQL server with default settings (fsync and synchronous_commit on), except that a quarter of the
// memory is shared buffers, as PostgreSQL's manual recommends.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { embeddedPostgres } from '../support/postgres/embedded-postgres.js'

/** @returns {Promise<{ url: string, port: number, password: string, stop(): Promise<void> }>} */
export async function startPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-bench-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const password = 'bench'
  const EmbeddedPostgres = await embeddedPostgres(folder)
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      ...['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}/data`],
      ...['-c', `shared_buffers=${Math.floor(totalmem() / 4 / 2 ** 20)}MB`],
    ],
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    port,
    password,
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}
