import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../src/server/listen.js'
import type { RunningServer, ServerOptions } from '../../src/server/options.js'
import { onPostgres } from './engine-name.js'
import { type TestDatabase, takeDatabase } from './postgres-database.js'
import { type Send, sendTo } from './server-client.js'

/** Creates a temporary folder, which the caller must remove. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
}

export interface LiveServer {
  readonly running: RunningServer
  readonly baseUrl: string
  readonly port: number
  readonly send: Send
  readonly agent: http.Agent
  readonly operatorKey: string
  /** Lines that the server has logged so far. */
  readonly logs: string[]
  close(): Promise<void>
}

/** Starts a server on a free port, in memory unless the options name a data folder. */
export async function liveServer(options: ServerOptions = {}): Promise<LiveServer> {
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
  const agent = new http.Agent({ keepAlive: true, maxSockets: 128 })
  const { operatorKeyFile, baseUrl } = running
  return {
    running,
    baseUrl,
    port: Number(new URL(baseUrl).port),
    send: sendTo(baseUrl, agent),
    agent,
    operatorKey: operatorKeyFile === null ? '' : readFileSync(operatorKeyFile, 'utf8').trim(),
    logs,
    close: async () => {
      agent.destroy()
      await running.close()
      place?.release()
    },
  }
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
