import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { closedPort } from '../closed-port.js'
import { fileOfGuide, withReplaced } from '../guide-files.js'
import { findProgram } from '../system-programs.js'

export interface PgBouncer {
  /** URL of a database of the server, through the pooler. */
  urlOf(database: string): string
  readonly port: number
  /** Sends SIGKILL, which ends all connections; resolves when the process has ended. */
  kill(): Promise<void>
  /** Starts the killed pooler on the same port. */
  start(): Promise<void>
  /** Kills the pooler and removes its files. */
  remove(): Promise<void>
}

/** User without rights, as whom root starts the pooler, which refuses to run as root. */
const NOBODY = 65_534

/**
 * Starts pgbouncer with the configuration of the guide in front of a PostgreSQL server.
 * @param url any database of the server
 * @param settings lines of pgbouncer.ini that replace those of the guide, by name
 */
export async function startPgBouncer(
  url: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const program = findProgram('pgbouncer') as string
  const { hostname, port: to, username, password } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-pgbouncer-'))
  chmodSync(folder, 0o755)
  const [file, users, port] = [join(folder, 'pgbouncer.ini'), join(folder, 'userlist.txt'), await closedPort()]
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const lines = Object.entries({ unix_socket_dir: '', ...settings }).map(([name, value]) => `${name} = ${value}\n`)
  const ini = withReplaced(fileOfGuide('running', '/etc/pgbouncer/pgbouncer.ini'), {
    'voucherctl = host=10.0.0.5 port=5432 dbname=voucherctl': `* = host=${hostname} port=${to}`,
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/userlist.txt': users,
  })
  const asUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  // The last of two lines with one name counts.
  writeFileSync(file, `${ini}${lines.join('')}`)
  let child: ReturnType<typeof spawn> | undefined
  const killNow = () => child?.kill('SIGKILL')
  process.once('exit', killNow)
  const bouncer: PgBouncer = {
    port,
    urlOf: (database) => url.replace(`:${to}/`, `:${port}/`).replace(/[^/]*$/, database),
    async start() {
      const started = spawn(program, [file], { stdio: ['ignore', 'ignore', 'pipe'], ...asUser })
      child = started
      let log = ''
      await new Promise<void>((resolve, reject) => {
        started.stderr.on('data', (bytes: Buffer) => {
          log += bytes
          if (log.includes('process up')) resolve()
        })
        started.once('close', () => reject(new Error(`pgbouncer ended: ${log}`)))
        started.once('error', reject)
      })
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'close')
      killNow()
      await gone
    },
    async remove() {
      await bouncer.kill()
      process.off('exit', killNow)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await bouncer.start()
  return bouncer
}
