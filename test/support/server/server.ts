import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TestClock } from '../../../src/server/clock.js'
import { startServer } from '../../../src/server/listen.js'
import type { RunningServer, ServerOptions } from '../../../src/server/options.js'
import { startTestServer } from '../../../src/testing/test-server.js'
import type { StartOptions, TestServer } from '../../../src/testing/types.js'
import { type TestDatabase, takeDatabase } from '../postgres/database.js'
import { onPostgres } from '../store/engine-name.js'
import { type Send, sendTo } from './client.js'

/** Creates a temporary folder, which the caller must remove. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
}

export interface LiveServer {
  readonly baseUrl: string
  readonly port: number
  readonly send: Send
  readonly operatorKey: string
  /** Lines that the server has logged so far. */
  readonly logs: string[]
  close(): Promise<void>
}

export interface LibraryServer extends LiveServer {
  readonly server: TestServer
}

/** Starts a server of the library, without records; a test may use its log lines, and its test clock on both engines. */
export async function liveServer(options: StartOptions = {}): Promise<LibraryServer> {
  const logs: string[] = []
  const database = onPostgres ? takeDatabase() : undefined
  const place = database === undefined ? {} : { databaseUrl: await database.url }
  const internal = { clock: new TestClock(), logTo: { write: (line: string) => logs.push(line) } }
  const server = await startTestServer({ seed: { account: 'acme' }, ...place, ...options }, internal)
  const { baseUrl, operatorKey } = server
  const { agent, ...sockets } = socketsTo(baseUrl)
  const close = async () => {
    await server.close()
    agent.destroy()
    database?.release()
  }
  return { server, baseUrl, operatorKey, ...sockets, logs, close }
}

export interface StandaloneServer extends LiveServer {
  readonly running: RunningServer
}

/** Starts a server as `server start` does, in memory unless the options name a data folder. */
export async function standaloneServer(options: ServerOptions = {}): Promise<StandaloneServer> {
  const logs: string[] = []
  const place = onPostgres && options.databaseUrl === undefined ? await placeOnPostgres(options.dataDir) : undefined
  const running = await startServer({
    port: 0,
    ...(place?.options ?? (options.dataDir === undefined ? { memory: true } : {})),
    testClock: true,
    rateLimits: 'off',
    logTo: { write: (line) => logs.push(line) },
    ...options,
  })
  const { operatorKeyFile, baseUrl } = running
  const operatorKey = operatorKeyFile === null ? '' : readFileSync(operatorKeyFile, 'utf8').trim()
  const { agent, ...sockets } = socketsTo(baseUrl)
  const close = async () => {
    agent.destroy()
    await running.close()
    place?.release()
  }
  return { running, baseUrl, operatorKey, ...sockets, logs, close }
}

function socketsTo(baseUrl: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 128 })
  return { port: Number(new URL(baseUrl).port), send: sendTo(baseUrl, agent), agent }
}

/** PostgreSQL databases by data folder, so that a server restarted with a folder finds its data. */
const byFolder = new Map<string, TestDatabase>()

async function placeOnPostgres(named: string | undefined) {
  const dataDir = named ?? temporaryFolder()
  const database = byFolder.get(dataDir) ?? takeDatabase()
  if (named !== undefined) byFolder.set(named, database)
  return {
    options: { dataDir, databaseUrl: await database.url },
    release() {
      if (named !== undefined) return
      database.release()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Runs `use` with a new temporary folder and removes the folder afterwards. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = temporaryFolder()
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
