import { accessSync, constants, existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import { proxyOf } from '../../command/transport.js'
import type { Host } from '../../host/host.js'
import { numberText } from '../../output/text.js'
import { bad, type Finding, ok, skip, warn } from './check.js'

const NODE = { major: 20, minor: 19 }

/** Checks the version of Node. @param version such as 20.19.0 */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < NODE.major || (major === NODE.major && minor < NODE.minor)
  return isOld
    ? bad(`Node ${version} is too old.`, `Install Node ${NODE.major}.${NODE.minor} or later.`)
    : ok(`Node ${version}`)
}

/** Loads the SQLite library and returns its name and version. @throws if it cannot be loaded */
export function loadSqlite(): string {
  if (isBuiltin('node:sqlite')) return `SQLite ${process.versions.sqlite ?? ''} of Node`.replace('  ', ' ')
  const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite') as {
    DatabaseSync: new (path: string) => { prepare(sql: string): { get(): { version: string } }; close(): void }
  }
  const db = new DatabaseSync(':memory:')
  const { version } = db.prepare('select sqlite_version() as version').get()
  db.close()
  return `SQLite ${version} of @photostructure/sqlite`
}

/** Checks that SQLite can be loaded; only the bundled server needs it. */
export function checkSqlite(load: () => string): Finding {
  try {
    return ok(load())
  } catch (error) {
    return warn(
      `There is no SQLite (${codeOf(error)}): server start and quickstart cannot run, everything else can.`,
      'Use Node 22.13 or later, or reinstall voucherctl without --omit=optional.',
    )
  }
}

/** Checks NODE_EXTRA_CA_CERTS. Node 20 reads the file at every start, later versions at the first TLS connection. */
export function checkExtraCa(path: string | undefined, nodeVersion: string): Finding {
  if (!path) return ok('NODE_EXTRA_CA_CERTS is not set.')
  try {
    accessSync(path, constants.R_OK)
  } catch (error) {
    const message = `NODE_EXTRA_CA_CERTS names ${path}, which cannot be read (${codeOf(error)}): Node goes on without it.`
    return bad(message, 'Correct the path, or unset NODE_EXTRA_CA_CERTS.')
  }
  if (Number.parseInt(nodeVersion, 10) >= 22) return ok(`NODE_EXTRA_CA_CERTS names ${path}.`)
  return warn(
    `NODE_EXTRA_CA_CERTS names ${path}, and Node ${nodeVersion} reads it at every start, which takes some 40 ms.`,
    'Unset it where no private certificates are needed, or use Node 22 or later.',
  )
}

/** Reports the proxy of the server, without credentials, and entries of NO_PROXY that match no host. */
export async function checkProxy(host: Pick<Host, 'env'>, baseUrl: string | undefined): Promise<Finding> {
  const found = baseUrl === undefined ? undefined : await proxyOf(host, baseUrl)
  if (found?.ok === false) return bad(found.message, found.hint ?? '')
  const { ineffectiveExceptions } = await import('../../../client/proxy.js')
  const entries = ineffectiveExceptions(host.env).join(', ')
  const fix = 'Write hosts, addresses or blocks of addresses, such as example.org,10.0.0.0/8.'
  if (entries !== '') return warn(`NO_PROXY has entries that match no host: ${entries}.`, fix)
  if (found === undefined) return skip('No server is chosen.')
  if (found.proxy !== undefined) return ok(`The server is called through ${found.proxy.label}.`)
  return ok('The server is called directly: no proxy variable applies to it.')
}

export interface Port {
  readonly name: string
  readonly port: number
  /** Returns a description of the voucherctl process that listens on the port, if any. */
  holder?(): string | undefined
  readonly fix: string
}

const CONNECT_MS = 500

export async function checkPort({ name, port, holder, fix }: Port): Promise<Finding> {
  const held = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: CONNECT_MS })
    const end = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket
      .on('connect', () => end(true))
      .on('error', () => end(false))
      .on('timeout', () => end(true))
  })
  if (!held) return ok(`Free, for ${name}.`)
  const ours = holder?.()
  if (ours !== undefined) return ok(`Held by ${ours}.`)
  return warn(`Held by another program, so that ${name} cannot have it.`, fix)
}

const MIB = 1024 * 1024
const LEAST = { fail: 50 * MIB, warn: 500 * MIB }

/** Returns how many bytes this user may still write at a path; the folder may not exist yet. */
export async function freeBytes(dir: string): Promise<number> {
  let there = dir
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there)
  const { bavail, bsize } = await statfs(there)
  return bavail * bsize
}

export async function checkDisk(dir: string, free: (dir: string) => Promise<number>): Promise<Finding> {
  try {
    const bytes = await free(dir)
    const message = `${numberText(Math.floor(bytes / MIB))} MiB are free for ${dir}.`
    const fix = 'Make room, or keep the data elsewhere: server start --data DIR, webhook listen --inbox DIR.'
    if (bytes < LEAST.fail) return bad(message, fix)
    return bytes < LEAST.warn ? warn(message, fix) : ok(message)
  } catch (error) {
    return skip(`Not known for ${dir} (${codeOf(error)}).`)
  }
}
