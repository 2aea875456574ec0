import { describe, expect, it } from 'vitest'
import { INSERT_DELIVERY } from '../../src/store/delivery/backlog.js'
import { all, inserting, type Op, type Row, run } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { stateTables } from '../../src/store/tables.js'
import { plantBot, plantUpdates } from '../support/server/webhooks.js'
import { wrongCounts } from '../support/store/bot-counts.js'
import { onPostgres } from '../support/store/engine-name.js'
import { beforeEachStore, engines } from '../support/store/engines.js'
import { templateRow, voucherRow } from '../support/store/rows.js'

const insertVoucher = inserting<object>('vouchers')
const insertTemplate = inserting<object>('templates')

const nothing = function* (): Op<void> {}
const at = (name: string) => ({ name, saved_at: 1_000, clock: 2_000 })
const vouchersOf = (store: Store) => store.read(() => all<Row>('select * from vouchers order by id'))

describe.each(engines)('Snapshots on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  const add = (id: string) =>
    store.write(function* () {
      const unique = { external_issue_id: id, redeem_code_hash: `code ${id}`, qr_token_hash: `token ${id}` }
      yield* insertVoucher(voucherRow({ id, ...unique }))
    })
  const ids = async () => (await vouchersOf(store)).map((it) => it.id)

  it('restore writes back every column of every row, and keeps the snapshot', async () => {
    await store.write(() => insertTemplate(templateRow()))
    await add('vch_1')
    const before = await vouchersOf(store)
    expect(await store.snapshots.save(at('one'))).toEqual({ ...at('one'), vouchers: 1 })
    for (let time = 0; time < 2; time++) {
      await add('vch_2')
      await store.write(() => run("update vouchers set metadata = '{}', updated_at = 9 where id = 'vch_1'"))
      expect(await store.snapshots.restore('one')).toEqual({ ...at('one'), vouchers: 1 })
      expect(await vouchersOf(store)).toEqual(before)
    }
  })

  it('save replaces a snapshot of the same name; snapshots are listed by age', { tags: 'snapshots/3' }, async () => {
    await store.snapshots.save(at('one'))
    await store.snapshots.save({ ...at('two'), saved_at: 2_000 })
    await add('vch_1')
    await store.snapshots.save({ ...at('one'), saved_at: 3_000 })
    const listed = await store.snapshots.list()
    expect(listed.map(({ name, vouchers }) => [name, vouchers])).toEqual([
      ['two', 0],
      ['one', 1],
    ])
    await store.snapshots.restore('two')
    expect(await ids()).toEqual([])
    await store.snapshots.restore('one')
    expect(await ids()).toEqual(['vch_1'])
  })

  it('snapshots of the same millisecond are listed by name', async () => {
    for (const name of ['two', 'Two', 'one']) await store.snapshots.save(at(name))
    expect((await store.snapshots.list()).map(({ name }) => name)).toEqual(['Two', 'one', 'two'])
  })

  it('store removes a snapshot, and has none before the first save', async () => {
    expect(await store.snapshots.list()).toEqual([])
    expect(await store.snapshots.restore('one')).toBe('missing')
    expect(await store.snapshots.remove('one')).toBeUndefined()
    await store.snapshots.save(at('one'))
    await store.snapshots.save(at('two'))
    expect(await store.snapshots.remove('one')).toMatchObject({ name: 'one' })
    expect(await store.snapshots.restore('one')).toBe('missing')
    expect((await store.snapshots.list()).map(({ name }) => name)).toEqual(['two'])
    await store.snapshots.remove('two')
    expect(await store.snapshots.list()).toEqual([])
  })

  it('clear deletes the rows of all tables of the state, and plants in the same transaction', async () => {
    await add('vch_1')
    const failure = new Error('not planted')
    const failing = store.snapshots.clear(function* () {
      yield* run('delete from applications')
      throw failure
    })
    await expect(failing).rejects.toBe(failure)
    expect(await ids()).toEqual(['vch_1'])
    await store.snapshots.clear(() => insertTemplate(templateRow()))
    for (const table of stateTables) {
      const rows = await store.read(() => all(`select * from ${table}`))
      expect([table, rows.length]).toEqual([table, table === 'templates' ? 1 : 0])
    }
  })

  it('restore also replaces rows that the store had cached', async () => {
    const cached = () =>
      store.read(function* () {
        return (yield {
          kind: 'one',
          sql: 'select status from templates where id = $1',
          params: ['tpl_1'],
          keep: true,
        }) as Row
      })
    await store.write(() => insertTemplate(templateRow({ status: 'draft' })))
    await store.snapshots.save(at('one'))
    await store.write(() => run("update templates set status = 'active'"))
    expect(await cached()).toEqual({ status: 'active' })
    await store.snapshots.restore('one')
    expect(await cached()).toEqual({ status: 'draft' })
    await store.snapshots.clear(nothing)
    expect(await cached()).toBeUndefined()
  })

  it('store notifies its listeners after a restore and a clear, not after a restore of nothing', async () => {
    const heard: string[] = []
    store.listen((subject) => heard.push(subject))
    await store.snapshots.save(at('one'))
    await store.snapshots.restore('two')
    expect(heard).toEqual([])
    await store.snapshots.restore('one')
    await store.snapshots.clear(nothing)
    // The text is fixed: processes of other versions listen to it.
    expect(heard).toEqual(['state restored', 'state replaced', 'state replaced'])
  })

  it('restore and reset leave the counts of bots equal to their rows, also after a lease', async () => {
    const counts = () => store.read(wrongCounts)
    await store.write(function* () {
      yield* plantBot('bot_1')
      yield* plantUpdates('bot_1', 3, 1)
      for (const id of [1, 2, 3]) yield* run(INSERT_DELIVERY, [`dlv_${id}`, 'bot_1', id, 'ping', 'c', 1])
      yield* run("update deliveries set status = 'delivering', attempt_count = 1, lease_until = 99 where update_id = 1")
    })
    await store.snapshots.save(at('one'))
    await store.write(() => run("update deliveries set status = 'delivered', lease_until = null"))
    await store.write(() => run('delete from updates where update_id = 2'))
    await store.snapshots.save(at('two'))
    for (const name of ['one', 'two', 'one']) {
      await store.snapshots.restore(name)
      expect(await counts()).toEqual({})
    }
    await store.snapshots.clear(() => plantBot('bot_2'))
    expect(await store.read(() => all('select * from bot_counts'))).toEqual([])
    await store.snapshots.restore('one')
    expect(await counts()).toEqual({})
  })

  it('save releases leases of deliveries in the snapshot, not in the store', { tags: 'snapshots/2' }, async () => {
    const leased = () =>
      store.read(() => all<Row>('select status, ready, lease_until from deliveries')).then(([row]) => ({ ...row }))
    await store.write(() =>
      run(
        `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
           manual_attempt_count, created_at, ready, lease_until, last_attempt_at)
         values ('dlv_1', 'bot_1', 1, 'ping', '', 'delivering', 0, 0, 1, 0, 99, 5)`,
      ),
    )
    await store.snapshots.save(at('one'))
    expect(await leased()).toEqual({ status: 'delivering', ready: 0, lease_until: 99 })
    await store.snapshots.restore('one')
    expect(await leased()).toEqual({ status: 'pending', ready: 1, lease_until: null })
  })

  it('a restore runs no trigger for the rows that it copies, and keeps the triggers', async () => {
    // The trigger changes a table that is restored before its own.
    const change = "update templates set name = name || '+'"
    const trigger = onPostgres
      ? `create function noted() returns trigger language plpgsql as $$ begin ${change}; return null; end $$;
         create trigger noted after insert or delete on bot_calls for each row execute function noted()`
      : `create trigger noted after insert on bot_calls begin ${change}; end`
    const names = async () =>
      (await store.read(() => all<{ name: string }>('select name from templates'))).map((it) => it.name)
    const count = (minute: number) =>
      store.write(() => run("insert into bot_calls values ('bot_1', $1, 'get', 200, '', 1)", [minute]))
    for (const sql of trigger.split(/;(?=\s*create trigger)/)) await store.write(() => run(sql))
    try {
      await store.write(() => insertTemplate(templateRow({ name: 'Tea' })))
      await count(1)
      await store.snapshots.save(at('one'))
      await count(2)
      for (let time = 0; time < 2; time++) {
        await store.snapshots.restore('one')
        expect(await names()).toEqual(['Tea+'])
      }
      await count(3)
      expect(await names()).toEqual(['Tea++'])
    } finally {
      await store.write(() => run(onPostgres ? 'drop function noted cascade' : 'drop trigger noted'))
    }
  })
})
