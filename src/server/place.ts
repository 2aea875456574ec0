import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isLoopbackHost } from '../contract/values/loopback.js'
import type { RandomBytes } from '../domain/ids.js'
import { makeToken } from '../domain/tokens.js'
import { defaultDataDir } from '../files/data-dir.js'
import type { Clock } from './clock.js'
import { loadKeys, loadOperatorKey, makeKeys, type ServerKeys } from './keys.js'
import type { ServerOptions } from './options.js'
import { removeServerFile, type ServerFile, writeServerFile } from './server-file.js'
import { keyFileInMemory, LazyKeys, SecureKeys, secureKeyFile, type TransportKeys } from './transport/keys.js'

/** Where a server keeps its keys and shows that it runs: a folder, or only the memory of the process. */
export interface ServerPlace {
  /** Path of the SQLite database. */
  readonly database: string
  /** Null without a folder. */
  readonly dataDir: string | null
  /** Null without a folder, or when the operator API is off. */
  readonly operatorKeyFile: string | null
  /** @param hasNoKeys tells if the store is new; otherwise only the keys of its vouchers can verify them */
  loadKeys(random: RandomBytes, hasNoKeys: () => Promise<boolean>): Promise<ServerKeys>
  /** Returns null when the operator API is off. */
  loadOperatorKey(random: RandomBytes): string | null
  openTransportKeys(random: RandomBytes, clock: Clock): TransportKeys
  /** Shows other processes that the server runs. Returns a function that ends this. */
  announce(file: ServerFile): () => void
  /** Removes what must not outlive the server. */
  remove(): void
}

/** The folder that the options name; with `memory`, a temporary folder with the keys only. */
export function placeInFolder(options: ServerOptions): ServerPlace & { readonly dataDir: string } {
  const { memory = false, keyFile, host = '127.0.0.1', operator = isLoopbackHost(host) } = options
  const dataDir = memory
    ? makeTemporaryDir()
    : resolve(options.dataDir ?? defaultDataDir({ env: process.env, homeDir: homedir() }))
  const operatorKeyFile = operator ? join(dataDir, 'operator.key') : null
  makeDataDir(dataDir)
  return {
    database: memory ? ':memory:' : join(dataDir, 'voucherctl.db'),
    dataDir,
    operatorKeyFile,
    loadKeys: async (random, hasNoKeys) => {
      const mayCreate = keyFile === undefined && (await hasNoKeys())
      return loadKeys(keyFile ?? join(dataDir, 'keys.json'), mayCreate, random, !memory)
    },
    loadOperatorKey: (random) => (operatorKeyFile === null ? null : loadOperatorKey(operatorKeyFile, random, !memory)),
    openTransportKeys: (random, clock) =>
      new SecureKeys(secureKeyFile(join(dataDir, 'secure-keys.json'), !memory), random, clock.now()),
    announce(file) {
      writeServerFile(dataDir, file)
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
    loadKeys: async (random) => makeKeys(random),
    loadOperatorKey: (random) => makeToken('opk_', random),
    openTransportKeys: (random, clock) => new LazyKeys(() => new SecureKeys(keyFileInMemory(), random, clock.now())),
    announce: () => () => {},
    remove() {},
  }
}

/** Creates a folder that only this user may access; does not change an existing folder. */
function makeDataDir(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { recursive: true, mode: 0o700 })
}

/** Creates a private folder; the server removes it when it ends. */
function makeTemporaryDir(): string {
  return mkdtempSync(join(tmpdir(), 'voucherctl-'))
}
