import { rmSync } from 'node:fs'
import { afterAll, beforeAll } from 'vitest'
import { type TestDatabase, takeDatabase } from '../postgres/database.js'
import { type ServerChild, startServerChild } from './child.js'
import type { ApiResponse } from './client.js'
import { temporaryFolder } from './server.js'
import { type Tenant, tenantAt } from './tenant.js'

export { tenantAt as at } from './tenant.js'

/** Counts responses by error code; a success counts under the key `null`. */
export const tally = (responses: readonly ApiResponse[]) => {
  const counts: Record<string, number> = {}
  for (const { code } of responses) counts[String(code)] = (counts[String(code)] ?? 0) + 1
  return counts
}

export interface ServerPair {
  first: ServerChild
  second: ServerChild
  readonly url: Promise<string>
  /** Starts another server process with the same database and keys. */
  start(): Promise<ServerChild>
  /** Runs `call` `count` times concurrently, alternately with the first and the second server. */
  spread<T>(count: number, tenant: Tenant, call: (to: Tenant, index: number) => Promise<T>): Promise<T[]>
}

/** Starts two server processes with one PostgreSQL database and shared keys, for all tests of a file. */
export function serverPair(): ServerPair {
  let folder: string
  let database: TestDatabase
  const pair = {
    get url() {
      return database.url
    },
    start: async () => startServerChild(folder, 'silent', true, 0, await database.url),
    spread(count, tenant, call) {
      const both = [tenantAt(pair.first, tenant), tenantAt(pair.second, tenant)]
      return Promise.all(Array.from({ length: count }, (_, index) => call(both[index % 2] as Tenant, index)))
    },
  } as ServerPair
  beforeAll(async () => {
    folder = temporaryFolder()
    database = takeDatabase()
    // The first server creates the keys, so the second one must start after it.
    pair.first = await pair.start()
    pair.second = await pair.start()
  }, 60_000)
  afterAll(async () => {
    await Promise.all([pair.first.kill(), pair.second.kill()])
    database.release()
    rmSync(folder, { recursive: true, force: true })
  })
  return pair
}
