import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { all, run } from '../../../src/store/operation.js'
import { openDatabase, prepareStatement } from '../../../src/store/sqlite/engine.js'
import { migrations } from '../../../src/store/sqlite/migrations.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { temporaryFolder } from '../../support/server/server.js'
import { wrongCounts } from '../../support/store/bot-counts.js'

it('migration of a database with rows counts them', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'voucherctl.db')
  const db = openDatabase(path)
  db.exec(migrations[0]?.sql as string)
  db.exec(`insert into updates (bot_id, update_id, type, body, created_at, pending) values
      ('bot_1', 1, 'ping', '{}', 60000, 1), ('bot_1', 1000, 'ping', '', 119999, 0), ('bot_2', 999, 'ping', '{}', 1, 1);
    insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count, manual_attempt_count,
      created_at, last_attempt_at, ready) values
      ('dlv_1', 'bot_1', 1, 'ping', 'a', 'delivered', 1, 0, 1, 1, 0),
      ('dlv_2', 'bot_1', 1000, 'ping', 'a', 'dead_letter', 1, 0, 1, 60000, 0);
    insert into delivery_attempts values ('dlv_1', 1, 'bot_1', 0, 1, 1, 200, null, null),
      ('dlv_2', 1, 'bot_1', 0, 1, 1, 503, 'http_status', '');
    pragma application_id = ${0x76636872}; pragma user_version = 1`)
  db.close()
  const store = openSqliteStore(path)
  expect(await store.read(wrongCounts)).toEqual({})
  expect(await store.read(() => all('select n from bot_counts'))).toHaveLength(9)
  await store.close()
  rmSync(folder, { recursive: true })
})

it('clear of many rows runs no trigger for the rows that it deletes, and keeps the triggers', async () => {
  const store = openSqliteStore(':memory:')
  const triggers = () => store.read(() => all("select name, sql from sqlite_master where type = 'trigger' order by 1"))
  await store.write(function* () {
    yield* run("create trigger refuse before delete on updates begin select raise(abort, 'ran'); end")
    for (let id = 1; id <= 101; id++)
      yield* run("insert into updates values ('bot_1', $1, 'ping', null, '{}', 1, 1, null)", [id])
  })
  const before = await triggers()
  await store.snapshots.clear(function* () {
    yield* run("insert into updates values ('bot_1', 2, 'ping', null, '{}', 1, 1, null)")
  })
  expect(await triggers()).toEqual(before)
  expect(await store.read(() => all('select kind, n from bot_counts'))).toEqual([
    { kind: 'updates', n: 1 },
    { kind: 'waiting', n: 1 },
  ])
  await store.close()
})

it('clear of a few rows with triggers leaves only the counts of planted rows', async () => {
  const store = openSqliteStore(':memory:')
  const insert = (id: number) => run("insert into updates values ('bot_1', $1, 'ping', null, '{}', 1, 1, null)", [id])
  await store.write(function* () {
    for (let id = 1; id <= 100; id++) yield* insert(id)
  })
  await store.snapshots.clear(() => insert(2000))
  expect(await store.read(() => all('select kind, block, n from bot_counts order by 1'))).toEqual([
    { kind: 'updates', block: 0, n: 1 },
    { kind: 'waiting', block: 2, n: 1 },
  ])
  await store.close()
})

it('second store in memory of a process has the schema of the first and none of its rows', async () => {
  const schema = () => all('select type, name, tbl_name, sql from sqlite_master order by 1, 2')
  const first = openSqliteStore(':memory:')
  const insert = () => run("insert into updates values ('bot_1', 1, 'ping', null, '{}', 1, 1, null)")
  await first.write(insert)
  const second = openSqliteStore(':memory:')
  expect(await second.read(schema)).toEqual(await first.read(schema))
  expect(await second.read(() => all('select 1 as one from updates'))).toEqual([])
  await second.write(insert)
  expect(await second.read(wrongCounts)).toEqual({})
  await Promise.all([first.close(), second.close()])
})

// SQLite keeps a journal of a statement that runs triggers if the statement or a trigger may halt with "abort" (2).
it.each([
  "update deliveries set status = 'delivered', attempt_count = $2, lease_until = null where id = $1",
  'update updates set pending = 0 where bot_id = $1 and update_id = $2 and pending = 1',
  'insert into updates (bot_id, update_id, type, body, created_at, pending) values ($1, $2, $1, $1, $2, $2)',
  'insert into delivery_attempts values ($1, $2, $1, $2, $2, $2, $2, null, null, null)',
])('statement of a delivery needs no separate journal: %s', (sql) => {
  const db = openDatabase(':memory:')
  for (const { sql } of migrations) db.exec(sql)
  const prepared: string[] = []
  prepareStatement({ ...db, prepare: (text) => (prepared.push(text), db.prepare(text)), exec() {}, close() {} }, sql)
  const steps = db.prepare(`explain ${prepared[0]}`).all() as { opcode: string; p2: number }[]
  expect(steps.filter((it) => it.opcode === 'Program')).not.toEqual([])
  expect(steps.filter((it) => it.opcode === 'Halt' && it.p2 === 2)).toEqual([])
  db.close()
})

it('statement that fails halfway leaves no row and no count of its operation', async () => {
  const store = openSqliteStore(':memory:')
  const row = (id: number, pending: number) => `('bot_1', ${id}, 'ping', null, '{}', 1, ${pending}, null)`
  const insert = (...rows: string[]) => store.write(() => run(`insert into updates values ${rows.join(', ')}`))
  const [one, failed, other] = await Promise.allSettled([
    insert(row(1, 1)),
    insert(row(2, 1), row(3, 7)),
    insert(row(4, 0)),
  ])
  expect([one.status, failed.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await store.read(() => all('select update_id from updates order by 1'))).toEqual([
    { update_id: 1 },
    { update_id: 4 },
  ])
  expect(await store.read(wrongCounts)).toEqual({})
  await store.close()
})
