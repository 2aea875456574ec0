import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { LOCK_MIGRATIONS } from '../../../src/store/postgres/migrate.js'
import { holdTable } from '../../support/postgres/held-table.js'
import { query } from '../../support/postgres/query.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { at, serverPair } from '../../support/server/pair.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

const servers = serverPair()

it('a server killed during a restore changes nothing, and the other server continues', async () => {
  const tenant = await newTenant(servers.first)
  const { id } = await tenant.template()
  const voucher = await tenant.issue(id)
  await tenant.operator(contract.platform.saveSnapshot, { name: 'one' })
  await tenant.redeem(voucher)
  // The restore has copied every table but the last one.
  const lock = await holdTable(await servers.url, 'snapshot_1_bot_calls')
  const restore = tenant.operator(contract.platform.restoreSnapshot, { name: 'one', shared: true }).catch(() => null)
  await lock.waits()
  await servers.first.kill()
  await restore
  const second = at(servers.second, tenant)
  const redeem = () => second.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
  expect((await redeem()).code).toBe('VOUCHER_ALREADY_REDEEMED')
  expect(await second.issue(id)).toMatchObject({ status: 'issued' })
  await lock.release()
  servers.first = await servers.start()
  const again = callerOf(servers.first.send, servers.first.operatorKey)
  expect((await again(contract.platform.restoreSnapshot, { name: 'one', shared: true })).status).toBe(200)
  expect((await redeem()).status).toBe(200)
})

it('a restore lets calls go on that another server holds', async () => {
  const tenant = await newTenant(servers.first)
  const voucher = await tenant.issue()
  await tenant.operator(contract.platform.saveSnapshot, { name: 'three' })
  const second = at(servers.second, tenant)
  const hold = { endpoint: 'vouchers.redeem', kind: 'hold', hold_ms: 3_600_000 } as const
  await second.operator(contract.platform.addFault, hold)
  const redeem = second.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
  const held = async () => (await second.operator(contract.platform.faults, {})).data.held.length
  await until(async () => (await held()) === 1)
  await tenant.operator(contract.platform.restoreSnapshot, { name: 'three', shared: true })
  expect((await redeem).status).toBe(200)
  expect((await tenant.operator(contract.platform.findVoucher, { credential: codeOf(voucher) })).data).toMatchObject({
    voucher: { status: 'issued' },
  })
})

it('calls during a restore get 503 in all processes; the list is still read', { tags: 'snapshots/5' }, async () => {
  const tenant = await newTenant(servers.first)
  const { id } = await tenant.template()
  await tenant.operator(contract.platform.saveSnapshot, { name: 'two' })
  // A restore reads this table last. Here it waits for the test, as no lock could: a restore waits 5 s for a lock.
  const url = await servers.url
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query('select pg_advisory_lock(42)')
  const [entry] = await query<{ id: number }>(url, "select id from snapshot_list where name = 'two'")
  const copy = `snapshot_${entry?.id}_bot_calls`
  await query(
    url,
    `create function wait_for_test() returns void language plpgsql as $$
    begin while not pg_try_advisory_xact_lock_shared(42) loop perform pg_sleep(0.05); end loop; end $$;
    drop table ${copy}; create view ${copy} as select 'bot_1' as bot_id, 1 as minute, 'slow' as method,
    200 as status, '' as code, 1 as calls from wait_for_test()`,
  )
  onTestFinished(async () => {
    // Ends a restore that still waits, also if the test has failed.
    await holder.end()
    // Another test gets this database, and saves a snapshot with the same number.
    await query(url, 'drop function wait_for_test cascade')
  })
  const restore = tenant.operator(contract.platform.restoreSnapshot, { name: 'two', shared: true })
  const copying = `select 1 from pg_stat_activity where state = 'active' and query like 'insert into bot_calls%'`
  await until(async () => (await query(url, copying)).length > 0)
  const second = at(servers.second, tenant)
  const issue = { template_id: id, external_issue_id: 'meanwhile', recipient_user_id: 'u' }
  const [here, there, listed] = await Promise.all([
    tenant.runtime(contract.vouchers.issue, issue),
    second.runtime(contract.vouchers.issue, issue),
    second.operator(contract.platform.snapshots, {}),
  ])
  const refusals = [here, there].map(({ code, headers }) => [code, headers['retry-after']])
  expect(refusals).toEqual(Array(2).fill(['SERVICE_UNAVAILABLE', '1']))
  expect(listed.data.items.map(({ name }) => name)).toContain('two')
  await holder.query('select pg_advisory_unlock(42)')
  expect((await restore).status).toBe(200)
  expect((await second.runtime(contract.vouchers.issue, issue)).status).toBe(201)
})

it('saves, restores and removals get 503 during a migration and change nothing', async () => {
  const tenant = await newTenant(servers.first)
  await tenant.operator(contract.platform.saveSnapshot, { name: 'four' })
  const migrating = new Client({ connectionString: await servers.url })
  await migrating.connect()
  await migrating.query('begin')
  await migrating.query(LOCK_MIGRATIONS)
  const second = at(servers.second, tenant)
  const refused = await Promise.all([
    tenant.operator(contract.platform.saveSnapshot, { name: 'five' }),
    second.operator(contract.platform.restoreSnapshot, { name: 'four', shared: true }),
  ])
  expect(refused.map(({ code }) => code)).toEqual(Array(2).fill('SERVICE_UNAVAILABLE'))
  expect((await second.operator(contract.platform.removeSnapshot, { name: 'four' })).code).toBe('SERVICE_UNAVAILABLE')
  const names = (await second.operator(contract.platform.snapshots, {})).data.items.map(({ name }) => name)
  expect([names.includes('four'), names.includes('five')]).toEqual([true, false])
  await migrating.end()
  expect((await second.operator(contract.platform.removeSnapshot, { name: 'four' })).status).toBe(200)
})
