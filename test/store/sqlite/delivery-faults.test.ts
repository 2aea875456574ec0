import { expect, it } from 'vitest'
import { openSqliteTarget } from '../../../src/store/move/sqlite-session.js'
import { all, run } from '../../../src/store/operation.js'
import { openDatabase } from '../../../src/store/sqlite/engine.js'
import { migrations } from '../../../src/store/sqlite/migrations.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { databaseFiles, fromSqlite, moveInto, textOf } from '../../support/store/move.js'

const filePath = databaseFiles()

it('database and export of schema 4 keep their attempts, which have no planted fault', async () => {
  const path = filePath()
  const db = openDatabase(path)
  for (const { sql } of migrations.slice(0, 4)) db.exec(sql)
  db.exec(`insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
      manual_attempt_count, created_at, next_attempt_at, ready, last_error_code)
      values ('dlv_1', 'bot_1', 1, 'ping', 'update 1', 'failed', 1, 0, 1, 9, 0, 'http_status');
    insert into delivery_attempts values ('dlv_1', 1, 'bot_1', 0, 1, 1, 503, 'http_status', '');
    pragma application_id = ${0x76636872}; pragma user_version = 4`)
  db.close()
  const text = await textOf(fromSqlite(path))
  expect(JSON.parse(text.split('\n')[0] as string)).toMatchObject({ schema: 4 })
  const imported = filePath()
  await moveInto(await openSqliteTarget(imported), text)
  for (const it of [path, imported]) {
    const store = openSqliteStore(it)
    await store.write(() =>
      run(`insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms, fault)
           values ('dlv_1', 2, 'bot_1', 0, 2, 1, 'lost')`),
    )
    const attempts = await store.read(() => all('select number, status_code, fault from delivery_attempts order by 1'))
    expect(attempts).toEqual([
      { number: 1, status_code: 503, fault: null },
      { number: 2, status_code: null, fault: 'lost' },
    ])
    await store.close()
    const again = filePath()
    await moveInto(await openSqliteTarget(again), await textOf(fromSqlite(it)))
    const copy = openSqliteStore(again)
    expect(await copy.read(() => all('select number, status_code, fault from delivery_attempts order by 1'))).toEqual(
      attempts,
    )
    await copy.close()
  }
})
