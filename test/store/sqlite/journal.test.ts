import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { all, type Op, run } from '../../../src/store/operation.js'
import { isJournalDamaged } from '../../../src/store/sqlite/journal.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { temporaryFolder } from '../../support/server.js'

const HEAD = 32
const FRAME = 24 + 4096

let folder: string
let copy: string
let journal: string

function* note(id: string): Op<void> {
  yield* run('insert into credential_keys (key_id, key_check, created_at) values ($1, $2, 0)', [id, 'x'.repeat(3_000)])
}
function* notes(): Op<string[]> {
  return (yield* all<{ key_id: string }>('select key_id from credential_keys order by key_id')).map((row) => row.key_id)
}

/** Where each commit of the journal ends. */
function endsOfCommits(): number[] {
  const bytes = readFileSync(journal)
  const frames = Array.from({ length: Math.floor((bytes.length - HEAD) / FRAME) }, (_, index) => HEAD + index * FRAME)
  return frames.filter((at) => bytes.readUInt32BE(at + 4) !== 0).map((at) => at + FRAME)
}

/** What a server leaves that is killed after six commits of several pages each. */
beforeEach(async () => {
  folder = temporaryFolder()
  const path = join(folder, 'open.db')
  copy = join(folder, 'voucherctl.db')
  journal = `${copy}-wal`
  const store = openSqliteStore(path)
  for (let n = 0; n < 6; n++) await store.write(() => note(`n${n}`))
  copyFileSync(path, copy)
  copyFileSync(`${path}-wal`, journal)
  await store.close()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function flip(at: number): void {
  const bytes = readFileSync(journal)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(journal, bytes)
}

/** As SQLite reads it. */
async function read(): Promise<string[]> {
  const store = openSqliteStore(copy)
  try {
    return await store.read(notes)
  } finally {
    await store.close()
  }
}

it('a whole one is read to its end', async () => {
  expect(isJournalDamaged(copy)).toBe(false)
  expect(await read()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5'])
})

it('one without frames, an empty one, one of zeros and none at all are no damage', () => {
  for (const bytes of [readFileSync(journal).subarray(0, HEAD), Buffer.alloc(0), Buffer.alloc(3 * FRAME)]) {
    writeFileSync(journal, bytes)
    expect(isJournalDamaged(copy)).toBe(false)
  }
  rmSync(journal)
  expect(isJournalDamaged(copy)).toBe(false)
})

it('a byte changed anywhere before its last two commits refuses the start, and both files stay as they are', () => {
  const ends = endsOfCommits()
  const sound = readFileSync(journal)
  // Each byte of the head and of a frame's head, and bytes of pages.
  const last = ends.at(-3) as number
  const places = [...Array(HEAD + 24).keys(), HEAD + FRAME - 1, last - FRAME, last - FRAME + 4, last - 1]
  for (const at of places) {
    writeFileSync(journal, sound)
    flip(at)
    const before = readFileSync(journal)
    expect([at, isJournalDamaged(copy)]).toEqual([at, true])
    expect(() => openSqliteStore(copy)).toThrowError(
      expect.objectContaining({ code: 'STORE_UNUSABLE', message: expect.stringMatching(/-wal.*damaged.*backup/) }),
    )
    expect(readFileSync(journal).equals(before)).toBe(true)
  }
})

it('damage in its last commit, or one that was cut off, is what a power failure leaves: the state before', async () => {
  const ends = endsOfCommits()
  const sound = readFileSync(journal)
  flip((ends.at(-1) as number) - 10)
  expect(isJournalDamaged(copy)).toBe(false)
  for (const cut of [ends.at(-2) as number, (ends.at(-1) as number) - 1]) {
    writeFileSync(journal, sound)
    truncateSync(journal, cut)
    expect(isJournalDamaged(copy)).toBe(false)
  }
  expect(await read()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4'])
})

it('frames of an earlier round behind its end are no commits of it', async () => {
  const ends = endsOfCommits()
  const bytes = readFileSync(journal)
  // Salts of another round from the fourth commit on, as after a restart of the journal.
  for (let at = ends[2] as number; at < bytes.length; at += FRAME) bytes.writeUInt32BE(1, at + 8)
  writeFileSync(journal, bytes)
  expect(isJournalDamaged(copy)).toBe(false)
  expect(await read()).toEqual(['n0', 'n1'])
})
