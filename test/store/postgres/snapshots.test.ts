import { describe, expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { all, inserting, run } from '../../../src/store/operation.js'
import { migrations } from '../../../src/store/postgres/migrations.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { StoreUnavailable } from '../../../src/store/store.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { holdTable } from '../../support/postgres/held-table.js'
import { query } from '../../support/postgres/query.js'
import { wireSession } from '../../support/secure/wire.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { seed, seedBotToken, seedToken } from '../../support/server/seed.js'
import { inFolder, type StandaloneServer, standaloneServer } from '../../support/server/server.js'
import { templateRow } from '../../support/store/rows.js'

const insertTemplate = inserting<object>('templates')
const at = (name: string) => ({ name, saved_at: 1_000, clock: 2_000 })

/** Opens two stores of one database, as two processes would. */
async function twoStores() {
  const database = takeDatabase()
  const url = await database.url
  const first = await openPostgresStore({ url, env: {} })
  const second = await openPostgresStore({ url, env: {} })
  onTestFinished(async () => {
    await Promise.all([first.close(), second.close()])
    database.release()
  })
  const ids = async () =>
    (await second.read(() => all<{ id: string }>('select id from templates order by id'))).map((it) => it.id)
  const add = (id: string) => second.write(() => insertTemplate(templateRow({ id, external_template_id: id })))
  return { url, first, second, ids, add }
}

describe('a save', () => {
  it('save on PostgreSQL copies one instant, and blocks no reads and writes', { tags: 'snapshots/5' }, async () => {
    const { url, first, ids, add } = await twoStores()
    await add('tpl_1')
    // The last table that a save copies.
    const lock = await holdTable(url, 'bot_calls')
    const saved = first.snapshots.save(at('one'))
    await lock.waits()
    await add('tpl_2')
    await lock.client.query("insert into bot_calls values ('bot_1', 1, 'get', 200, '', 1)")
    await lock.release()
    await saved
    await first.snapshots.restore('one')
    expect([await ids(), await query(url, 'select * from bot_calls')]).toEqual([['tpl_1'], []])
  })

  it('save on PostgreSQL replaces a snapshot of the same name and leaves no table of it', async () => {
    const { url, first, second } = await twoStores()
    await Promise.all([first.snapshots.save(at('one')), second.snapshots.save(at('one'))])
    const { snapshots } = first
    expect(await snapshots.list()).toEqual([{ ...at('one'), vouchers: 0 }])
    expect(await snapshots.restore('one')).toMatchObject({ name: 'one' })
    await snapshots.remove('one')
    expect(await query(url, "select tablename from pg_tables where starts_with(tablename, 'snapshot_')")).toEqual([
      { tablename: 'snapshot_list' },
    ])
  })

  it('save and restore are refused by a process that is older than the schema', async () => {
    const { url, first, ids, add } = await twoStores()
    await first.snapshots.save(at('one'))
    await add('tpl_1')
    await query(url, 'update voucherctl_schema set version = version + 1')
    onTestFinished(() => query(url, `update voucherctl_schema set version = ${migrations.length}`).then(() => {}))
    await expect(first.snapshots.save(at('two'))).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await first.snapshots.restore('one')).toBe('outdated')
    expect([await ids(), (await first.snapshots.list()).length]).toEqual([['tpl_1'], 1])
  })

  it('save drops the tables of the earlier form, and a server still starts on the database', async () => {
    const { url, first } = await twoStores()
    await query(url, 'create table snapshots (name text primary key); create table snapshot_rows (data jsonb)')
    expect(await first.snapshots.list()).toEqual([])
    await first.snapshots.save(at('one'))
    const old = "select tablename from pg_tables where tablename in ('snapshots', 'snapshot_rows')"
    expect(await query(url, old)).toEqual([])
    const third = await openPostgresStore({ url, env: {} })
    expect(await third.snapshots.list()).toHaveLength(1)
    await third.close()
  })
})

describe('a restore', () => {
  it('restore is atomic: other processes read the old state until it is complete', async () => {
    const { url, first, ids, add } = await twoStores()
    await add('tpl_1')
    await first.snapshots.save(at('one'))
    await add('tpl_2')
    // The last table that a restore reads.
    const lock = await holdTable(url, 'snapshot_1_bot_calls')
    const restored = first.snapshots.restore('one')
    await lock.waits()
    expect(await ids()).toEqual(['tpl_1', 'tpl_2'])
    expect(await first.snapshots.list()).toHaveLength(1)
    await lock.release()
    await restored
    expect(await ids()).toEqual(['tpl_1'])
  })

  it('restore of a large table rebuilds its indexes and constraints exactly as they were', async () => {
    const { url, first, ids, add } = await twoStores()
    await add('tpl_1')
    const row =
      "to_jsonb(t) || jsonb_build_object('id', 'x' || n, 'external_template_id', n, 'metadata', repeat('x', 500))"
    await query(
      url,
      `insert into templates select r.* from (select * from templates) t, generate_series(1, 9000) n,
         jsonb_populate_record(null::templates, ${row}) r`,
    )
    const schema = `select indexrelid::regclass::text as name, indrelid::regclass::text as of, indisvalid,
        pg_get_indexdef(indexrelid) as sql from pg_index where indrelid = 'templates'::regclass
      union all select conname, '', true, pg_get_constraintdef(oid) from pg_constraint
        where conrelid = 'templates'::regclass order by 1, 2`
    const oids = "select indexrelid from pg_index where indrelid = 'templates'::regclass"
    const [before, builtBefore] = [await query(url, schema), await query(url, oids)]
    await first.snapshots.save(at('one'))
    await query(url, 'delete from templates')
    await first.snapshots.restore('one')
    expect(await ids()).toHaveLength(9_001)
    expect(await query(url, schema)).toEqual(before)
    expect(await query(url, oids)).not.toEqual(builtBefore)
    await expect(add('tpl_1')).rejects.toThrow()
  })

  it('restore is abandoned when the store of its process closes, and changes nothing', async () => {
    const { url, first, second, ids, add } = await twoStores()
    await first.snapshots.save(at('one'))
    await add('tpl_1')
    const lock = await holdTable(url, 'snapshot_1_bot_calls')
    const restored = first.snapshots.restore('one')
    const refused = expect(restored).rejects.toBeInstanceOf(StoreUnavailable)
    await lock.waits()
    await first.close()
    await refused
    // PostgreSQL notices, and then other processes can write while the other lock remains.
    await second.write(() => run("update templates set name = 'changed'"))
    expect(await ids()).toEqual(['tpl_1'])
    await lock.release()
  })
})

describe.each(['reset', 'restore'] as const)('a %s by one process', (how) => {
  /** Starts two servers; `replace` replaces the state through the first. */
  async function pair(
    use: (
      first: StandaloneServer,
      second: StandaloneServer,
      replace: () => Promise<unknown>,
      url: string,
    ) => Promise<void>,
  ) {
    await inFolder(async (dataDir) => {
      const database = takeDatabase()
      onTestFinished(() => database.release())
      const options = { dataDir, databaseUrl: await database.url, testClock: false }
      const first = await standaloneServer({ ...options, seed })
      const second = await standaloneServer(options)
      const operate = callerOf(first.send, first.operatorKey)
      await operate(contract.platform.saveSnapshot, { name: 'one' })
      const replace = () =>
        how === 'reset'
          ? operate(contract.platform.reset, { shared: true })
          : operate(contract.platform.restoreSnapshot, { name: 'one', shared: true })
      await use(first, second, replace, options.databaseUrl)
      await first.close()
      await second.close()
    })
  }

  // The limit of the test is shorter than the poll, so it fails if the poll ends with its own time.
  it(`restore ends polls of other processes, which then serve the new state (${how})`, {
    timeout: 45_000,
  }, async () => {
    await pair(async (_first, second, replace, url) => {
      const sell = callerOf(second.send, seedToken)
      const input = { template_id: 'tpl_coffee', external_issue_id: 'one', recipient_user_id: 'u' }
      const issue = () => sell(contract.vouchers.issue, input, { key: 'k' })
      await issue()
      const poll = callerOf(second.send, seedBotToken)(contract.bots.updates, {
        timeout: 50,
        allowed_updates: ['ping'],
      })
      await until(async () => (await query(url, 'select holder from open_polls')).length === 1)
      await replace()
      expect((await poll).data.items).toEqual([])
      expect((await issue()).headers['idempotent-replayed']).toBeUndefined()
    })
  })

  it(`restore ends encrypted sessions in all processes (${how})`, async () => {
    await pair(async (first, second, replace) => {
      const now = () => Date.now()
      const session = await wireSession(second.send, { origin: 'https://page.test', now })
      const call = ({ send }: StandaloneServer) =>
        send(session.seal({ method: 'GET', path: contract.templates.list.path }))
      expect([(await call(first)).status, (await call(second)).status]).toEqual([200, 200])
      await replace()
      expect([(await call(first)).code, (await call(second)).code]).toEqual(Array(2).fill('SECURE_SESSION_EXPIRED'))
    })
  })
})
