import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { lentPostgresStore, ownPostgresStore } from '../postgres/store.js'
import { temporaryFolder } from '../server/server.js'
import { onPostgres } from './engine-name.js'

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

const sqlite: readonly Engine[] = [
  {
    name: 'SQLite in memory',
    hasOneWriter: true,
    create: () => ({ open: () => openSqliteStore(':memory:'), remove: () => {} }),
  },
  {
    name: 'SQLite in a file',
    hasOneWriter: true,
    create: () => {
      const folder = temporaryFolder()
      return {
        open: () => openSqliteStore(join(folder, 'voucherctl.db')),
        remove: () => rmSync(folder, { recursive: true, force: true }),
      }
    },
  },
]

const postgresWith = (open: () => Store) => () => ({ open, remove: () => {} })

const postgres: Engine = { name: 'PostgreSQL', hasOneWriter: false, create: postgresWith(() => lentPostgresStore()) }

const partitioned: Engine = {
  name: 'PostgreSQL with its runtime tables in 4 partitions',
  hasOneWriter: false,
  create: postgresWith(() => lentPostgresStore(4)),
}

/** Engines on which the tests of test/store run. */
export const engines: readonly Engine[] = onPostgres ? [postgres] : sqlite

/** Engines whose stores close their connections on close(); `engines` may reuse them. */
export const closingEngines: readonly Engine[] = onPostgres
  ? [{ ...postgres, create: postgresWith(ownPostgresStore) }]
  : sqlite

/** Engines for tests of voucher operations; on PostgreSQL also one with tables partitioned by application. */
export const voucherEngines: readonly Engine[] = onPostgres ? [postgres, partitioned] : sqlite

/** Opens an empty store on the engine of this test run. */
export const openTestStore = (): Store => (onPostgres ? lentPostgresStore() : openSqliteStore(':memory:'))

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
