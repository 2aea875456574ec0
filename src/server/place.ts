import { mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { RandomBytes } from '../domain/ids.js'
import { makeToken } from '../domain/tokens.js'
import { processStart } from '../files/process-alive.js'
import { readText } from '../files/read-file.js'
import { refuseForeignFile, replaceFile } from '../files/replace-file.js'
import { makeFolder } from '../files/sync-folder.js'
import type { SessionStorage } from '../inspector/page-sessions.js'
import { isLoopbackHost } from '../values/loopback.js'
import type { Clock } from './clock.js'
import { loadKeys, loadOperatorKey, makeKeys, type ServerKeys } from './keys.js'
import type { ServerOptions } from './options.js'
import { requireSqliteFolder } from './served-store.js'
import { keyFileInMemory, lazyKeys, SecureKeys, secureKeyFile, type TransportKeys } from './transport/keys.js'

/** Place of the server's keys, and of the file that announces it: a folder, or only the process's memory. */
export interface ServerPlace {
  /** Path of the SQLite database. */
  readonly database: string
  /** Absolute path of the data folder; null without a folder. */
  readonly dataDir: string | null
  /** Null without a folder, or when the operator API is off. */
  readonly operatorKeyFile: string | null
  /** @param isNew whether the store is new; vouchers of an existing store can be verified only with its own keys */
  loadKeys(random: RandomBytes, isNew: boolean): ServerKeys
  /** Returns null when the operator API is off. */
  loadOperatorKey(random: RandomBytes): string | null
  openTransportKeys(random: RandomBytes, clock: Clock): TransportKeys
  /** File with the sessions of the page, which outlive a restart; absent without a folder. */
  readonly pageSessions?: SessionStorage['file']
  /** Announces the server to other processes. Returns a function that withdraws the announcement. */
  announce(file: ServerFile): () => void
  /** Removes files that must not outlive the server. */
  remove(): void
}

/** Returns the place in the folder that the options name; with `memory`, in a temporary folder for the keys only. */
export function placeInFolder(options: ServerOptions): ServerPlace & { readonly dataDir: string } {
  const { memory = false, keyFile, host = '127.0.0.1', operator = isLoopbackHost(host) } = options
  const dataDir = memory ? mkdtempSync(join(tmpdir(), 'voucherctl-')) : resolve(options.dataDir as string)
  const operatorKeyFile = operator ? join(dataDir, 'operator.key') : null
  // Create a new folder for this user only; leave an existing one unchanged.
  makeFolder(dataDir)
  if (options.databaseUrl === undefined && !options.newStore) requireSqliteFolder(dataDir)
  return {
    database: memory ? ':memory:' : join(dataDir, 'voucherctl.db'),
    dataDir,
    operatorKeyFile,
    loadKeys: (random, isNew) =>
      loadKeys(keyFile ?? join(dataDir, 'keys.json'), keyFile === undefined && isNew, random, !memory),
    loadOperatorKey: (random) => (operatorKeyFile === null ? null : loadOperatorKey(operatorKeyFile, random, !memory)),
    openTransportKeys: (random, clock) =>
      new SecureKeys(secureKeyFile(join(dataDir, 'secure-keys.json'), !memory), random, clock.now()),
    pageSessions: memory ? undefined : sessionFile(join(dataDir, 'page-sessions.json')),
    announce(file) {
      writeRunning(join(dataDir, 'server.json'), file)
      return () => removeServerFile(dataDir, file.instance_id)
    },
    remove() {
      if (memory) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A place without files, for a server that starts and ends within a test. */
export function placeInMemory(): ServerPlace {
  return {
    database: ':memory:',
    dataDir: null,
    operatorKeyFile: null,
    loadKeys: (random) => makeKeys(random),
    loadOperatorKey: (random) => makeToken('opk_', random),
    openTransportKeys: (random, clock) => lazyKeys(() => new SecureKeys(keyFileInMemory(), random, clock.now())),
    announce: () => () => {},
    remove() {},
  }
}

function sessionFile(path: string): NonNullable<SessionStorage['file']> {
  return {
    read() {
      // Another user could have written the hash of a token that this user did not get.
      refuseForeignFile(path)
      return readText(path)
    },
    write: (text) => replaceFile(path, text, { flush: false }),
  }
}

/** Content of server.json, in which other commands find the running server. */
interface ServerFile {
  /** Id of this server start; /healthz returns it too. */
  instance_id: string
  /** Id of the store, to which clients bind credentials. */
  store_id: string
  /** Secret of this start: /healthz returns a response to a challenge that only its owner can compute. */
  proof_key: string
  pid: number
  base_url: string | null
  data_dir: string | null
  operator_key_file: string | null
  store: string
  started_at: string
}

/**
 * Adds a server to a registry of running servers, a folder of the user.
 * @returns a function that removes the entry, and the folders that were created for it
 * @throws errors of the file system
 */
export function registerServer(registryDir: string, file: ServerFile): () => void {
  const path = join(registryDir, `${file.instance_id}.json`)
  const topmost = makeFolder(registryDir)
  writeRunning(path, file)
  return () => {
    rmSync(path, { force: true })
    if (topmost !== undefined) removeEmpty(registryDir, topmost)
  }
}

/** Removes a folder and its parents up to `topmost`, while they are empty. */
function removeEmpty(dir: string, topmost: string): void {
  try {
    rmdirSync(dir)
  } catch {
    return
  }
  if (dir !== topmost) removeEmpty(dirname(dir), topmost)
}

function writeRunning(path: string, file: ServerFile): void {
  const content = { ...file, process_start: processStart(process.pid) ?? null }
  replaceFile(path, `${JSON.stringify(content, null, 2)}\n`, { flush: false, follow: false })
}

/** Removes server.json unless it belongs to another server: with PostgreSQL, several servers may share the folder. */
function removeServerFile(dataDir: string, instanceId: string): void {
  const path = join(dataDir, 'server.json')
  try {
    const { instance_id: other } = JSON.parse(readText(path)) as Partial<ServerFile>
    if (other !== instanceId) return
  } catch {
    // The file is missing already, or unreadable.
  }
  rmSync(path, { force: true })
}
