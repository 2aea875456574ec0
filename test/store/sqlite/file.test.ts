import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { all, one } from '../../../src/store/operation.js'
import { openDatabase } from '../../../src/store/sqlite/engine.js'
import { isSafeWithTwoConnections } from '../../../src/store/sqlite/open.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { type Store, StoreUnavailable, StoreUnusable } from '../../../src/store/store.js'
import { temporaryFolder } from '../../support/server/server.js'
import { everything, Ledger } from '../../support/store/ledger.js'
import { note, notes } from '../../support/store/notes.js'

const PAGE_BYTES = 4096

let folder: string
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder, 'voucherctl.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Size and hash of every file in a folder by name, to prove that a refused database is unchanged. */
function fingerprintOf(where: string): Record<string, string> {
  const names = readdirSync(where).sort()
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(where, name)))
      .digest('hex')
  return Object.fromEntries(names.map((name) => [name, hash(name)]))
}

function refusalOf(open: () => Store): StoreUnusable {
  try {
    void open().close()
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnusable)
    return error as StoreUnusable
  }
  throw new Error('the file was opened')
}

/** Creates a database of several pages. */
async function filled(): Promise<void> {
  const store = openSqliteStore(path)
  await Promise.all(Array.from({ length: 200 }, (_, index) => store.write(() => note(`n${index}`, 'x'.repeat(500)))))
  await store.close()
}

/** Overwrites a page that no query of a start reads. */
function damage(): void {
  const bytes = readFileSync(path)
  const page = Math.floor(bytes.indexOf('x'.repeat(500)) / PAGE_BYTES)
  bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
  writeFileSync(path, bytes)
}

/** Changes the database file with plain SQL, as another program could. */
function altered(sql: string): void {
  const db = openDatabase(path)
  db.exec(sql)
  db.close()
}

describe('opening a database file', () => {
  it('database file and its WAL are readable only by their user', async () => {
    const store = openSqliteStore(path)
    await store.write(() => note('a'))
    for (const name of readdirSync(folder))
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600])
    await store.close()
  })

  it('closing a SQLite store checkpoints the WAL and leaves one file', async () => {
    await filled()
    expect(readdirSync(folder)).toEqual(['voucherctl.db'])
  })

  it('opening a database again changes neither data nor schema', async () => {
    const store = openSqliteStore(path)
    const ledger = await new Ledger(store).open()
    await ledger.issue('order-1', Date.UTC(2027, 2, 1))
    const before = await ledger.everything()
    const schema = () => all('select type, name, sql from sqlite_master order by name')
    const schemaBefore = await store.read(schema)
    await store.close()

    const again = openSqliteStore(path)
    expect(await again.read(everything)).toEqual(before)
    expect(await again.read(schema)).toEqual(schemaBefore)
    await again.close()
  })

  it('SQLite connection has the settings for durable, crash-safe writes', async () => {
    const store = openSqliteStore(path)
    const pragma = (name: string) => store.read(() => one(`pragma ${name}`))
    expect(await pragma('journal_mode')).toEqual({ journal_mode: 'wal' })
    expect(await pragma('synchronous')).toEqual({ synchronous: 2 })
    expect(await pragma('fullfsync')).toEqual({ fullfsync: 1 })
    expect(await pragma('checkpoint_fullfsync')).toEqual({ checkpoint_fullfsync: 1 })
    expect(await pragma('foreign_keys')).toEqual({ foreign_keys: 1 })
    expect(await pragma('locking_mode')).toEqual({ locking_mode: 'exclusive' })
    await store.close()
  })

  it('empty file is opened as a new database', async () => {
    writeFileSync(path, '')
    const store = openSqliteStore(path)
    expect(await store.read(notes)).toEqual([])
    await store.close()
  })
})

describe('database files that are refused and left unchanged', () => {
  const refused = (code: string, ...says: RegExp[]) => {
    const before = fingerprintOf(folder)
    const refusal = refusalOf(() => openSqliteStore(path))
    expect(refusal.code).toBe(code)
    for (const it of says) expect(refusal.message).toMatch(it)
    expect(fingerprintOf(folder)).toEqual(before)
  }

  it('database with the schema of a later version is refused', async () => {
    await filled()
    altered('pragma user_version = 99')
    refused('STORE_UNUSABLE', /schema 99/, /--data/)
  })

  it('database of another program is refused, with or without its application_id', () => {
    altered('create table songs (title text)')
    refused('STORE_UNUSABLE', /another program/, /--data/)
    altered('pragma application_id = 7')
    refused('STORE_UNUSABLE', /another program/)
  })

  it('empty database with the application_id of another program is refused', () => {
    altered('pragma application_id = 7')
    refused('STORE_UNUSABLE', /another program/)
  })

  it('file that is not a database is refused as damaged', () => {
    for (const garbage of [
      'x',
      'hello\n'.repeat(1_000),
      Buffer.alloc(8_192, 7),
      'SQLite format 3\0 and then nothing of the kind',
    ]) {
      writeFileSync(path, garbage)
      refused('STORE_UNUSABLE', /damaged/, /backup/)
    }
  })

  it('truncated database is refused as damaged', { tags: 'check-of-the-database/1' }, async () => {
    await filled()
    const { size } = statSync(path)
    truncateSync(path, size / 2)
    refused('STORE_UNUSABLE', /damaged/, /backup/, /mv "/)
    truncateSync(path, 700)
    refused('STORE_UNUSABLE', /damaged/)
  })

  it('database with a zeroed page that no query reads is refused', { tags: 'check-of-the-database/1' }, async () => {
    await filled()
    damage()
    refused('STORE_UNUSABLE', /damaged/, /backup/)
  })

  it('database of over 16 MiB opens; a read of its damaged page fails', {
    tags: 'check-of-the-database/1',
  }, async () => {
    await filled()
    altered('create table ballast (x); insert into ballast values (zeroblob(17000000))')
    damage()
    const store = openSqliteStore(path)
    await expect(store.read(() => all('select * from credential_keys'))).rejects.toThrow(StoreUnavailable)
    await store.close()
  })

  it('folder in place of the database file is refused', () => {
    path = folder
    expect(refusalOf(() => openSqliteStore(path)).code).toBe('STORE_UNUSABLE')
  })

  it('second open of a database in use is refused; the first continues', { tags: 'data-folder/1' }, async () => {
    const store = openSqliteStore(path)
    await store.write(() => note('a'))
    expect(refusalOf(() => openSqliteStore(path))).toMatchObject({ code: 'DATA_FOLDER_IN_USE' })
    await store.write(() => note('b'))
    await store.close()
    const again = openSqliteStore(path)
    expect(await again.read(notes)).toEqual(['a', 'b'])
    await again.close()
  })
})

describe('two connections to one file', () => {
  it.each([
    ['3.7.0', false],
    ['3.46.1', false],
    ['3.51.2', false],
    ['3.51.3', true],
    ['3.52.0', true],
    ['3.100.0', true],
    ['4.0.0', true],
  ])('isSafeWithTwoConnections() for SQLite version %s returns %s', (version, safe) =>
    expect(isSafeWithTwoConnections(version)).toBe(safe),
  )
})

describe('full disk', () => {
  it('SQLite writes fail while the disk is full, reads succeed, writes succeed with new space', async () => {
    const store = openSqliteStore(path)
    await store.write(() => note('a'))
    const pages = (await store.read(() => one<{ page_count: number }>('pragma page_count')))?.page_count as number
    await store.read(() => one(`pragma max_page_count = ${pages + 1}`))

    const outcomes = await Promise.allSettled(
      ['b', 'c', 'd'].map((id) => store.write(() => note(id, 'x'.repeat(9_000)))),
    )
    for (const outcome of outcomes) {
      expect(outcome.status).toBe('rejected')
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(StoreUnavailable)
    }
    expect(await store.read(notes)).toEqual(['a'])

    await store.read(() => one('pragma max_page_count = 1000000'))
    await store.write(() => note('e', 'x'.repeat(9_000)))
    expect(await store.read(notes)).toEqual(['a', 'e'])
    await store.close()
    const again = openSqliteStore(path)
    expect(await again.read(notes)).toEqual(['a', 'e'])
    await again.close()
  })
})

it('checkpoint moves the WAL into the database file, and the WAL does not grow further', async () => {
  const store = openSqliteStore(path)
  const write = (round: number) =>
    store.write(function* () {
      for (let n = 0; n < 200; n++) yield* note(`${round} ${n}`, 'x'.repeat(500))
    })
  const journal = () => statSync(`${path}-wal`).size
  await store.checkpoint?.()
  const before = statSync(path).size
  await write(1)
  const one = journal()
  expect(statSync(path).size).toBe(before)
  await store.checkpoint?.()
  expect(statSync(path).size).toBeGreaterThan(before + 100_000)
  for (let round = 2; round < 6; round++) {
    await write(round)
    await store.checkpoint?.()
  }
  expect(journal()).toBeLessThan(one * 2)
  await store.close()
})
