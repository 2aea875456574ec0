import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { closeSqliteFile, openSqliteFile } from '../../../src/store/sqlite/open.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { lentPostgresStore, ownPostgresStore } from '../postgres/store.js'
import { temporaryFolder } from '../server/server.js'
import { onPostgres } from './engine-name.js'
import { lentMemoryStore } from './lent-memory.js'

/** An empty database for one test. */
export interface Database {
  open(): Store
  remove(): void
}

export interface Engine {
  readonly name: string
  /** True if the store runs operations sequentially, in the order in which they were started. */
  readonly hasOneWriter: boolean
  create(): Database
}

const withoutFiles = (open: () => Store) => () => ({ open, remove: () => {} })

const inMemory: Engine = { name: 'SQLite in memory', hasOneWriter: true, create: withoutFiles(lentMemoryStore) }

let image: Buffer | undefined

/** Returns the bytes of an empty database with its tables, which takes half as long to open as a new file. */
function emptyDatabase(path: string): Buffer {
  if (image === undefined) {
    closeSqliteFile(openSqliteFile(path), path)
    image = readFileSync(path)
  }
  return image
}

const inFile: Engine = {
  name: 'SQLite in a file',
  hasOneWriter: true,
  create: () => {
    const folder = temporaryFolder()
    const path = join(folder, 'voucherctl.db')
    writeFileSync(path, emptyDatabase(path))
    return {
      open: () => openSqliteStore(path),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}

const postgres: Engine = { name: 'PostgreSQL', hasOneWriter: false, create: withoutFiles(() => lentPostgresStore()) }

const partitioned: Engine = {
  name: 'PostgreSQL with its runtime tables in 4 partitions',
  hasOneWriter: false,
  create: withoutFiles(() => lentPostgresStore(4)),
}

/** Engines on which the tests of test/store run. */
export const engines: readonly Engine[] = onPostgres ? [postgres] : [inMemory, inFile]

/** Engines whose stores close their connections on close(); `engines` may reuse them. */
export const closingEngines: readonly Engine[] = onPostgres
  ? [{ ...postgres, create: withoutFiles(ownPostgresStore) }]
  : [{ ...inMemory, create: withoutFiles(() => openSqliteStore(':memory:')) }, inFile]

/** Engines for tests of voucher operations; on PostgreSQL also one with tables partitioned by application. */
export const voucherEngines: readonly Engine[] = onPostgres ? [postgres, partitioned] : engines

/** Opens an empty store on the engine of this test run. */
export const openTestStore = (): Store => (onPostgres ? lentPostgresStore() : lentMemoryStore())

/** Passes an empty store to `use` before each test of a suite and removes the store after the test. */
export function beforeEachStore(create: () => Database, use: (store: Store) => void): void {
  let database: Database
  let store: Store
  beforeEach(() => {
    database = create()
    store = database.open()
    use(store)
  })
  afterEach(async () => {
    await store.close()
    database.remove()
  })
}
