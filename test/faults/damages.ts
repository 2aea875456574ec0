import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite/engine.js'
import type { Random } from './random.js'

const PAGE = 4096
export const database = 'voucherctl.db'
export const journal = 'voucherctl.db-wal'

/**
 * What a server start on damaged files guarantees. `refused`: the start is refused. `refused or harmless`: or every
 * response is correct. `an earlier state`: the data are of an earlier time, and consistent. `a running server`: the
 * server does not crash; its values may be wrong, because SQLite has no checksums of values.
 */
export type Promised = 'refused' | 'refused or harmless' | 'an earlier state' | 'a running server'

export interface Damage {
  readonly name: string
  readonly file: string
  readonly promised: Promised
  /** Whether the data folder has the file that this damage changes. */
  fits(dataDir: string): boolean
  /** Damages the file; returns a description with which the damage can be repeated manually. */
  apply(dataDir: string, random: Random): string
}

type Change = (bytes: Buffer, random: Random) => string

function rewrite(path: string, change: Change, random: Random): string {
  const bytes = readFileSync(path)
  const done = change(bytes, random)
  writeFileSync(path, bytes)
  return done
}

const flipped: Change = (bytes, random) => {
  const places = Array.from({ length: random.between(1, 32) }, () => random.below(bytes.length))
  for (const at of places) bytes[at] = (bytes[at] as number) ^ random.between(1, 255)
  return `bytes flipped at ${places.join(', ')}`
}

const overwritten =
  (value: (random: Random) => number): Change =>
  (bytes, random) => {
    const page = random.below(Math.ceil(bytes.length / PAGE))
    for (let at = page * PAGE; at < Math.min(bytes.length, (page + 1) * PAGE); at++) bytes[at] = value(random)
    return `page ${page} overwritten`
  }

const swapped: Change = (bytes, random) => {
  const pages = Math.floor(bytes.length / PAGE)
  const [a, b] = [random.below(pages), random.below(pages)]
  const held = Buffer.from(bytes.subarray(a * PAGE, (a + 1) * PAGE))
  bytes.copy(bytes, a * PAGE, b * PAGE, (b + 1) * PAGE)
  held.copy(bytes, b * PAGE)
  return `pages ${a} and ${b} swapped`
}

const inFile = (file: string, promised: Promised, name: string, change: Change): Damage => ({
  name: `${file}: ${name}`,
  file,
  promised,
  fits: (dataDir) => existsSync(join(dataDir, file)) && statSync(join(dataDir, file)).size > 0,
  apply: (dataDir, random) => rewrite(join(dataDir, file), change, random),
})

const cut = (file: string, promised: Promised): Damage => ({
  name: `${file} cut off`,
  file,
  promised,
  fits: (dataDir) => existsSync(join(dataDir, file)) && statSync(join(dataDir, file)).size > 0,
  apply(dataDir, random) {
    const path = join(dataDir, file)
    // SQLite opens a file of no bytes as a new database.
    const size = random.between(1, statSync(path).size - 1)
    truncateSync(path, size)
    return `cut to ${size}`
  },
})

const replaced = (name: string, sql: string): Damage => ({
  name,
  file: database,
  promised: 'refused',
  fits: (dataDir) => !existsSync(join(dataDir, journal)),
  apply(dataDir) {
    const db = openDatabase(join(dataDir, database))
    db.exec(sql)
    db.close()
    return sql
  },
})

/** The damages that campaign R12 applies in turn. */
export const damages: readonly Damage[] = [
  inFile(database, 'a running server', 'bytes flipped', flipped),
  cut(database, 'refused or harmless'),
  inFile(
    database,
    'refused or harmless',
    'a page of zeros',
    overwritten(() => 0),
  ),
  inFile(
    database,
    'refused or harmless',
    'a page of noise',
    overwritten((random) => random.below(256)),
  ),
  inFile(database, 'a running server', 'two pages swapped', swapped),
  inFile(journal, 'an earlier state', 'bytes flipped', flipped),
  cut(journal, 'an earlier state'),
  inFile('keys.json', 'refused or harmless', 'bytes flipped', flipped),
  cut('keys.json', 'refused or harmless'),
  cut('secure-keys.json', 'refused or harmless'),
  cut('operator.key', 'refused or harmless'),
  replaced('a newer schema', 'pragma user_version = 9999'),
  replaced("another program's mark", 'pragma application_id = 1'),
]
