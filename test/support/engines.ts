import { rmSync } from 'node:fs'
import { join } from 'node:path'
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
