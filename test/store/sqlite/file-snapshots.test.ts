import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, it } from 'vitest'
import { parseLine, withSum } from '../../../src/files/summed-lines.js'
import { all, inserting, type Op, run } from '../../../src/store/operation.js'
import { closeDatabase, openDatabase } from '../../../src/store/sqlite/engine.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { inFolder } from '../../support/server/server.js'
import { fill, mountSmall } from '../../support/small-disk.js'
import { templateRow } from '../../support/store/rows.js'

const insertTemplate = inserting<object>('templates')
const at = (name: string) => ({ name, saved_at: 1, clock: 1 })
const idsOf = async (store: Store) =>
  (await store.read(() => all<{ id: string }>('select id from templates order by id'))).map(({ id }) => id)
const insertMany = (count: number) =>
  function* (): Op<void> {
    for (let n = 0; n < count; n++) {
      yield* insertTemplate(templateRow({ id: `tpl_${n}`, external_template_id: `t${n}`, metadata: 'x'.repeat(2_000) }))
    }
  }

interface Saved {
  readonly store: Store
  readonly path: string
  /** Folder of the snapshots. */
  readonly folder: string
  /** File of the snapshot `one`. */
  readonly file: string
}

/** Saves the snapshots `one` with the templates `count`, and `two` with none. */
async function withSaved(check: (saved: Saved) => Promise<void>, count = 3): Promise<void> {
  await inFolder(async (data) => {
    const path = join(data, 'voucherctl.db')
    const store = openSqliteStore(path)
    await store.snapshots.save(at('two'))
    await store.write(insertMany(count))
    await store.snapshots.save(at('one'))
    await store.write(() => run("insert into bot_calls values ('bot_1', 1, 'live', 200, '', 1)"))
    const folder = `${path}.snapshots`
    try {
      await check({ store, path, folder, file: join(folder, '6f6e65.db') })
    } finally {
      await store.close()
    }
  })
}

const damaged = (file: string) => ({ name: 'SnapshotsDamaged', message: 'the file of a snapshot is damaged', file })

it('snapshots survive a restart as files with mode 0600 in their own folder', { tags: 'snapshots/4' }, async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'voucherctl.db')
    let store = openSqliteStore(path)
    await store.write(() => insertTemplate(templateRow()))
    await store.snapshots.save(at('one'))
    await store.snapshots.clear(function* () {})
    await store.close()
    expect(readdirSync(folder).sort()).toEqual(['voucherctl.db', 'voucherctl.db.snapshots'])
    expect(statSync(`${path}.snapshots`).mode & 0o777).toBe(0o700)
    expect(statSync(join(`${path}.snapshots`, '6f6e65.db')).mode & 0o777).toBe(0o600)
    store = openSqliteStore(path)
    expect(await store.snapshots.restore('one')).toMatchObject({ name: 'one' })
    expect(await idsOf(store)).toEqual(['tpl_1'])
    await store.snapshots.remove('one')
    expect(existsSync(`${path}.snapshots`)).toBe(false)
    await store.close()
  })
})

it('foreign keys hold after a restore', async () => {
  await withSaved(async ({ store }) => {
    await store.snapshots.restore('one')
    const orphan = store.write(() =>
      run("insert into bot_tokens (token_hash, bot_id, created_at) values ('hash', 'bot_none', 1)"),
    )
    await expect(orphan).rejects.toMatchObject({ message: expect.stringMatching(/foreign key/i) })
  })
})

it('restore of a snapshot of another schema version changes nothing', { tags: 'snapshots/3' }, async () => {
  await withSaved(async ({ store, file }) => {
    const bytes = readFileSync(file)
    const start = bytes.length - (bytes.length % 4_096)
    const seal = parseLine(bytes.subarray(start, -1))
    writeFileSync(
      file,
      Buffer.concat([bytes.subarray(0, start), Buffer.from(withSum({ ...seal, sum: undefined, schema: 0 }))]),
    )
    await store.snapshots.clear(function* () {})
    expect(await store.snapshots.restore('one')).toBe('outdated')
    expect(await idsOf(store)).toEqual([])
  })
})

it.each<[string, (saved: Saved) => void]>([
  ['empty', ({ file }) => truncateSync(file)],
  ['truncated', ({ file }) => truncateSync(file, 8_192)],
  ['truncated by a byte', ({ file }) => truncateSync(file, statSync(file).size - 1)],
  ['longer', ({ file }) => writeFileSync(file, Buffer.concat([readFileSync(file), randomBytes(4_096)]))],
  ['foreign', ({ file }) => writeFileSync(file, randomBytes(16_500))],
  ['renamed', ({ folder, file }) => renameSync(join(folder, '74776f.db'), file)],
])('calls for a snapshot whose file is %s name it until a save', { tags: 'snapshots/4' }, async (state, spoil) => {
  await withSaved(async (saved) => {
    const { store, file } = saved
    const { snapshots } = store
    spoil(saved)
    for (const call of [() => snapshots.list(), () => snapshots.restore('one'), () => snapshots.remove('one')]) {
      await expect(call()).rejects.toMatchObject(damaged(file))
    }
    expect(await idsOf(store)).toEqual(['tpl_0', 'tpl_1', 'tpl_2'])
    if (state !== 'renamed') expect(await snapshots.restore('two')).toMatchObject({ name: 'two' })
    await snapshots.save(at('one'))
    expect(await snapshots.restore('one')).toMatchObject({ name: 'one' })
  })
})

it('restore refuses a file with one flipped bit, and changes nothing', { tags: 'snapshots/4' }, async () => {
  await withSaved(async ({ store, path, file }) => {
    const bytes = readFileSync(file)
    const seal = bytes.length - (bytes.length % 4_096)
    // The first bytes of each page are its header; a prime step visits the contents at all distances.
    const places = [...bytes.keys()].filter((it) => it % 4_096 < 12 || it % 401 === 0 || it >= seal)
    const before = await store.read(() => all('select * from templates'))
    const opened = openSync(file, 'r+')
    let flips = 0
    for (const place of places) {
      const byte = bytes[place] as number
      writeSync(opened, Buffer.of(byte ^ (1 << (flips++ % 8))), 0, 1, place)
      await expect(store.snapshots.restore('one'), `a flipped bit of byte ${place}`).rejects.toMatchObject(
        damaged(file),
      )
      writeSync(opened, Buffer.of(byte), 0, 1, place)
    }
    closeSync(opened)
    expect(flips).toBeGreaterThan(400)
    expect(await store.read(() => all('select * from templates'))).toEqual(before)
    expect(await store.read(() => all('select method from bot_calls'))).toHaveLength(1)
    await store.close()
    const db = openDatabase(path)
    expect(db.prepare('pragma integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
    closeDatabase(db)
  })
})

it('a file of the earlier form in the place of the folder counts as damaged', async () => {
  await inFolder(async (data) => {
    const folder = join(data, 'voucherctl.db.snapshots')
    const { snapshots, close } = openSqliteStore(join(data, 'voucherctl.db'))
    writeFileSync(folder, 'SQLite format 3')
    const calls = [
      () => snapshots.list(),
      () => snapshots.save(at('one')),
      () => snapshots.restore('one'),
      () => snapshots.remove('one'),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(damaged(folder))
    rmSync(folder)
    await snapshots.save(at('one'))
    expect(await snapshots.list()).toEqual([{ ...at('one'), vouchers: 0 }])
    await close()
  })
})

it('a folder in the place of a file leaves the store usable', async () => {
  await withSaved(async ({ store, file }) => {
    rmSync(file)
    mkdirSync(file)
    await expect(store.snapshots.save(at('one'))).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await store.snapshots.restore('two')).toMatchObject({ name: 'two' })
  })
})

it('a named pipe in the place of a file counts as damaged, and is not waited for', async ({ skip }) => {
  if (process.platform === 'win32') skip('Windows has no named pipes in folders')
  await withSaved(async ({ store, file }) => {
    rmSync(file)
    execFileSync('mkfifo', [file])
    await expect(store.snapshots.restore('one')).rejects.toMatchObject(damaged(file))
    expect(await store.snapshots.restore('two')).toMatchObject({ name: 'two' })
  })
})

it('the draft of a killed save is no snapshot, and the next save replaces it', { tags: 'snapshots/3' }, async () => {
  await withSaved(async ({ store, folder }) => {
    writeFileSync(join(folder, 'draft'), randomBytes(9_000))
    expect((await store.snapshots.list()).map(({ name }) => name)).toEqual(['one', 'two'])
    await store.snapshots.save(at('three'))
    expect(readdirSync(folder).sort()).toEqual(['6f6e65.db', '74776f.db', '7468726565.db'].sort())
    expect(await store.snapshots.restore('three')).toMatchObject({ name: 'three' })
  })
})

it('a save that fails leaves the earlier snapshot of its name, and no draft', { tags: 'snapshots/3' }, async () => {
  await withSaved(async ({ store, folder }) => {
    await store.write(() => run('delete from templates'))
    // The save then looks for a table that does not exist.
    await store.write(() => run('alter table templates rename to renamed'))
    await expect(store.snapshots.save(at('one'))).rejects.toThrow()
    await store.write(() => run('alter table renamed rename to templates'))
    expect(readdirSync(folder).sort()).toEqual(['6f6e65.db', '74776f.db'])
    await store.snapshots.restore('one')
    expect(await idsOf(store)).toHaveLength(3)
  })
})

it('concurrent saves, restores and removals run one after the other', async () => {
  await withSaved(async ({ store: { snapshots }, folder }) => {
    const done = await Promise.all([
      snapshots.save(at('one')),
      snapshots.save({ ...at('one'), clock: 2 }),
      snapshots.restore('one'),
      snapshots.remove('one'),
      snapshots.restore('one'),
      snapshots.list(),
    ])
    expect(done.slice(2)).toMatchObject([{ clock: 2 }, { clock: 2 }, 'missing', [{ name: 'two' }]])
    expect(readdirSync(folder)).toEqual(['74776f.db'])
  })
})

it('save and restore on a full disk are refused, and the store keeps its state', async ({ skip }) => {
  await inFolder(async (folder) => {
    const disk = join(folder, 'disk')
    const mounted = mountSmall(disk, 16)
    if ('skipped' in mounted) return skip(mounted.skipped)
    const path = join(disk, 'voucherctl.db')
    let store = openSqliteStore(path)
    try {
      await store.write(insertMany(800))
      await store.snapshots.save(at('one'))
      await store.write(() => run("delete from templates where id <> 'tpl_0'"))
      // A restart returns the space of the journal.
      await store.close()
      store = openSqliteStore(path)
      const ballast = fill(disk, 400)
      await expect(store.snapshots.restore('one')).rejects.toBeInstanceOf(StoreUnavailable)
      await expect(store.snapshots.save(at('two'))).rejects.toBeInstanceOf(StoreUnavailable)
      expect([await idsOf(store), (await store.snapshots.list()).length]).toEqual([['tpl_0'], 1])
      await store.write(() => run("update templates set name = 'still writable'"))
      rmSync(ballast)
      await store.snapshots.restore('one')
      expect(await idsOf(store)).toHaveLength(800)
    } finally {
      await store.close()
      mounted.unmount()
    }
  })
})
