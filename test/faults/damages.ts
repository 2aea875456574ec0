import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite/engine.js'
import type { Random } from './random.js'

const PAGE = 4096
export const database = 'voucherctl.db'
export const journal = 'voucherctl.db-wal'

export interface Damage {
  readonly name: string
  readonly file: string
  /** Whether the folder has what it damages. */
  fits(dataDir: string): boolean
  /** Answers what was done, to repeat it by hand. */
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

const inFile = (file: string, name: string, change: Change): Damage => ({
  name,
  file,
  fits: (dataDir) => existsSync(join(dataDir, file)) && statSync(join(dataDir, file)).size > 0,
  apply: (dataDir, random) => rewrite(join(dataDir, file), change, random),
})

const cut = (file: string): Damage => ({
  name: `${file} cut off`,
  file,
  fits: (dataDir) => existsSync(join(dataDir, file)) && statSync(join(dataDir, file)).size > 0,
  apply(dataDir, random) {
    const path = join(dataDir, file)
    const size = random.below(statSync(path).size)
    truncateSync(path, size)
    return `cut to ${size}`
  },
})

const replaced = (name: string, sql: string): Damage => ({
  name,
  file: database,
  fits: (dataDir) => !existsSync(join(dataDir, journal)),
  apply(dataDir) {
    const db = openDatabase(join(dataDir, database))
    db.exec(sql)
    db.close()
    return sql
  },
})

/** In turn: a run of their number has met all of them. */
export const damages: readonly Damage[] = [
  inFile(database, 'database: bytes flipped', flipped),
  cut(database),
  inFile(
    database,
    'database: a page of zeros',
    overwritten(() => 0),
  ),
  inFile(
    database,
    'database: a page of noise',
    overwritten((random) => random.below(256)),
  ),
  inFile(database, 'database: two pages swapped', swapped),
  inFile(journal, 'journal: bytes flipped', flipped),
  cut(journal),
  inFile('keys.json', 'keys.json: bytes flipped', flipped),
  cut('keys.json'),
  cut('secure-keys.json'),
  cut('operator.key'),
  replaced('a newer schema', 'pragma user_version = 9999'),
  replaced("another program's mark", 'pragma application_id = 1'),
]
