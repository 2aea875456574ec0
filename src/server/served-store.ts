import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findText } from '../files/read-file.js'
import { replaceFile } from '../files/replace-file.js'
import { StoreUnusable } from '../store/store.js'
import { parseObject } from '../values/json.js'
import { shellWord } from '../values/shell-word.js'

// A data folder remembers the PostgreSQL database of its servers (rules/server.md#data-folder).

const fileOf = (dataDir: string) => join(dataDir, 'store.json')

/** Name of the database that the folder belongs to, without user and password; undefined for a SQLite folder. */
function servedDatabase(dataDir: string): string | undefined {
  const has = (name: string) => existsSync(join(dataDir, name))
  // Versions before store.json left only these two files in a folder of PostgreSQL.
  const isOlder = has('keys.json') && has('operator.key') && !has('voucherctl.db') && !has('secure-keys.json')
  if (!has('store.json') && !isOlder) return undefined
  // Without a readable name the folder still belongs to PostgreSQL.
  return String(parseObject(findText(fileOf(dataDir)) ?? '')?.database ?? 'postgres://…')
}

/** Remembers the store of a folder. @param database name of a PostgreSQL database; undefined for the SQLite file of the folder */
export function recordStore(dataDir: string | null, database: string | undefined): void {
  if (dataDir === null || !existsSync(dataDir) || servedDatabase(dataDir) === database) return
  if (database === undefined) rmSync(fileOf(dataDir), { force: true })
  else replaceFile(fileOf(dataDir), `${JSON.stringify({ engine: 'postgres', database })}\n`)
}

/** Refuses to use SQLite in a folder that belongs to PostgreSQL. @throws StoreUnusable */
export function requireSqliteFolder(dataDir: string): void {
  const served = servedDatabase(dataDir)
  if (served === undefined) return
  const how = `Without its URL the command would use another store with the same keys. To go on with it: \`export VOUCHERCTL_DATABASE_URL=${shellWord(served)}\``
  throw new StoreUnusable('STORE_ELSEWHERE', `${dataDir} belongs to the database ${served}. ${how}`)
}

/** Refuses a database without keys for a folder that belongs to another store. @throws StoreUnusable */
export function requireNoOtherStore(dataDir: string | null, database: string | undefined): void {
  if (dataDir === null || database === undefined) return
  const served = servedDatabase(dataDir) ?? (existsSync(join(dataDir, 'voucherctl.db')) ? 'SQLite' : database)
  if (served === database) return
  const how = 'To move that store, export it and import it into this database.'
  throw new StoreUnusable('STORE_ELSEWHERE', `${database} is empty, but ${dataDir} belongs to ${served}. ${how}`)
}
