import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { all, inserting, type Op, run } from '../../../src/store/operation.js'
import { closeDatabase, openDatabase } from '../../../src/store/sqlite/engine.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { inFolder } from '../../support/server/server.js'
import { templateRow } from '../../support/store/rows.js'

const insertTemplate = inserting<object>('templates')
const at = (name: string) => ({ name, saved_at: 1, clock: 1 })

it('snapshots survive a restart in a file with mode 0600, which ends with the last of them', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'voucherctl.db')
    let store = openSqliteStore(path)
    await store.write(() => insertTemplate(templateRow()))
    await store.snapshots.save(at('one'))
    await store.snapshots.clear(function* () {})
    await store.close()
    expect(readdirSync(folder).sort()).toEqual(['voucherctl.db', 'voucherctl.db.snapshots'])
    expect(statSync(`${path}.snapshots`).mode & 0o777).toBe(0o600)
    store = openSqliteStore(path)
    expect(await store.snapshots.restore('one')).toMatchObject({ name: 'one' })
    expect(await store.read(() => all('select id from templates'))).toHaveLength(1)
    await store.snapshots.remove('one')
    expect(existsSync(`${path}.snapshots`)).toBe(false)
    await store.close()
  })
})

it('removing a snapshot of several returns its space', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'voucherctl.db')
    const store = openSqliteStore(path)
    const rows = Array.from({ length: 500 }, (_, n) => templateRow({ id: `tpl_${n}`, external_template_id: `t${n}` }))
    await store.snapshots.save(at('empty'))
    const { size } = statSync(`${path}.snapshots`)
    await store.write(function* (): Op<void> {
      for (const row of rows) yield* insertTemplate(row)
    })
    await store.snapshots.save(at('full'))
    expect(statSync(`${path}.snapshots`).size).toBeGreaterThan(2 * size)
    await store.snapshots.remove('full')
    expect(statSync(`${path}.snapshots`).size).toBe(size)
    await store.close()
  })
})

it('foreign keys hold after a restore', async () => {
  await inFolder(async (folder) => {
    const store = openSqliteStore(join(folder, 'voucherctl.db'))
    await store.snapshots.save(at('one'))
    await store.snapshots.restore('one')
    const orphan = store.write(() =>
      run("insert into bot_tokens (token_hash, bot_id, created_at) values ('hash', 'bot_none', 1)"),
    )
    await expect(orphan).rejects.toMatchObject({ message: expect.stringMatching(/foreign key/i) })
    await store.close()
  })
})

it('restore of a snapshot of another schema version changes nothing, and resolves to outdated', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'voucherctl.db')
    const store = openSqliteStore(path)
    await store.snapshots.save(at('one'))
    await store.write(() => insertTemplate(templateRow()))
    const file = openDatabase(`${path}.snapshots`)
    file.exec('update entries set schema = 0')
    closeDatabase(file)
    expect(await store.snapshots.restore('one')).toBe('outdated')
    expect(await store.read(() => all('select id from templates'))).toHaveLength(1)
    await store.close()
  })
})

it.each<[string, (file: string) => void]>([
  ['truncated', (file) => truncateSync(file, 8_192)],
  ['random', (file) => writeFileSync(file, randomBytes(16_384))],
])('each call for a %s file of snapshots names the file, and the store stays usable', async (_state, spoil) => {
  await inSpoiled(spoil, async (store, file) => {
    const { snapshots } = store
    const calls = [
      () => snapshots.list(),
      () => snapshots.save(at('one')),
      () => snapshots.restore('one'),
      () => snapshots.remove('one'),
    ]
    const damaged = { name: 'SnapshotsDamaged', message: 'the file of the snapshots is damaged', file }
    for (const call of calls) await expect(call()).rejects.toMatchObject(damaged)
  })
})

it('restore from a file with a damaged page names the file and changes nothing', async () => {
  const spoil = (file: string) => {
    const bytes = readFileSync(file)
    // Keep the pages that a list reads: the schema of SQLite, and the names of the snapshots.
    writeFileSync(file, bytes.fill(0xff, bytes.length - 4_096))
  }
  await inSpoiled(spoil, async ({ snapshots }, file) => {
    expect(await snapshots.list()).toHaveLength(1)
    await expect(snapshots.restore('one')).rejects.toMatchObject({ name: 'SnapshotsDamaged', file })
  })
})

it('a folder in the place of the file of snapshots leaves the store usable', async () => {
  const spoil = (file: string) => {
    rmSync(file)
    mkdirSync(file)
  }
  await inSpoiled(spoil, async ({ snapshots }) => {
    await expect(snapshots.list()).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

it('an empty file of snapshots holds none', async () => {
  await inSpoiled(truncateSync, async ({ snapshots }) => {
    expect(await snapshots.list()).toEqual([])
    expect(await snapshots.restore('one')).toBe('missing')
    expect(await snapshots.remove('one')).toBeUndefined()
  })
})

/** Damages the file with a snapshot, runs `check`, and expects that the state is whole and that deleting the file helps. */
async function inSpoiled(spoil: (file: string) => void, check: (store: Store, file: string) => Promise<void>) {
  await inFolder(async (folder) => {
    const file = join(folder, 'voucherctl.db.snapshots')
    const store = openSqliteStore(join(folder, 'voucherctl.db'))
    await store.write(() => insertTemplate(templateRow()))
    await store.snapshots.save(at('one'))
    spoil(file)
    await check(store, file)
    expect(await store.read(() => all('select id from templates'))).toHaveLength(1)
    await store.write(() => run('delete from templates'))
    rmSync(file, { recursive: true })
    await store.snapshots.save(at('two'))
    expect(await store.snapshots.list()).toMatchObject([{ name: 'two' }])
    await store.close()
  })
}
