import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite.js'
import type { Store } from '../../src/store/store.js'
import { temporaryFolder } from './server.js'

/** An empty database of its own. */
export interface Database {
  open(): Store
  remove(): void
}

/** The engines that the behaviour of the store is proved on, one suite for all. */
export const engines: readonly { readonly name: string; create(): Database }[] = [
  { name: 'SQLite in memory', create: () => ({ open: () => openSqliteStore(':memory:'), remove: () => {} }) },
  {
    name: 'SQLite in a file',
    create: () => {
      const folder = temporaryFolder()
      return {
        open: () => openSqliteStore(join(folder, 'voucherctl.db')),
        remove: () => rmSync(folder, { recursive: true, force: true }),
      }
    },
  },
]

/** Hands each test of a suite an empty store of its own, and takes it away afterwards. */
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
