import { expect, it, onTestFinished } from 'vitest'
import { Connections } from '../../../src/store/postgres/pool.js'
import { PrimaryGuard } from '../../../src/store/postgres/primary.js'
import { connectionOf } from '../../../src/store/postgres/settings.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { wireSession } from '../../support/secure/wire.js'
import { parseExposition, valueOf } from '../../support/server/exposition.js'
import { serverPair } from '../../support/server/pair.js'
import { newTenant } from '../../support/server/tenant.js'

const servers = serverPair()

it('two servers show their own calls and connections, and the same deliveries of the store', async () => {
  const tenant = await newTenant(servers.first)
  await tenant.redeem(await tenant.issue())
  const { id: botId } = await tenant.bot()
  await query(
    await servers.url,
    `insert into webhooks (bot_id, url, origin, secret, allowed_ips, max_connections, failing, set_at)
     values ('${botId}', '', '', '', '[]', 40, 0, 0)`,
  )
  for (const [updateId, status] of ['failed', 'failed', 'dead_letter'].entries()) {
    await query(
      await servers.url,
      `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
         manual_attempt_count, created_at, ready)
       values ('dlv_${updateId}', '${botId}', ${updateId}, 'ping', '', '${status}', 1, 0, 0, 0)`,
    )
  }
  await servers.second.send({ method: 'GET', path: '/healthz' })
  await wireSession(servers.second.send, { now: Date.now })
  const scrapes = await Promise.all(
    [servers.first, servers.second].map(async ({ send }) =>
      parseExposition((await send({ method: 'GET', path: '/metrics' })).text),
    ),
  )
  const valuesOf = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    scrapes.map((families) => valueOf(families, `voucherctl_${name}`, labels))
  for (const families of scrapes) expect(families.length).toBeLessThanOrEqual(40)
  expect(valuesOf('redemptions_total')).toEqual([1, 0])
  expect(valuesOf('secure_sessions')).toEqual([0, 1])
  expect(valuesOf('store_up')).toEqual([1, 1])
  expect(valuesOf('deliveries', { status: 'failed' })).toEqual([2, 2])
  expect(valuesOf('deliveries', { status: 'dead_letter' })).toEqual([1, 1])
  const [commits = 0] = valuesOf('commit_duration_seconds_count')
  expect(commits).toBeGreaterThan(5)
  for (const [pool, max] of [
    ['reads', 3],
    ['longReads', 2],
    ['writes', 6],
  ] as const) {
    expect(valuesOf('postgres_connections_max', { pool })).toEqual([max, max])
    expect(valuesOf('postgres_waiting', { pool })).toEqual([0, 0])
  }
  const [open = 0] = valuesOf('postgres_connections', { pool: 'writes' })
  expect(open).toBeGreaterThan(0)
  expect(valuesOf('postgres_connections_idle', { pool: 'writes' })[0]).toBeLessThanOrEqual(open)
})

it('size of a pool has the open and idle connections and the calls that wait for one', async () => {
  const database = takeDatabase()
  const { config } = await connectionOf({ url: await database.url, env: {} })
  const connections = new Connections(config, new PrimaryGuard())
  onTestFinished(() => connections.close().finally(database.release))
  const seen: unknown[] = []
  const look = () => seen.push(connections.metrics.pools?.().longReads)
  look()
  const [first, second] = await Promise.all([connections.lend('longReads'), connections.lend('longReads')])
  const third = connections.lend('longReads')
  look()
  first.release()
  ;(await third).release()
  look()
  second.release()
  look()
  const size = { connections: 2, connections_idle: 0, connections_max: 2, waiting: 0 }
  expect(seen).toEqual([
    { ...size, connections: 0 },
    { ...size, waiting: 1 },
    { ...size, connections_idle: 1 },
    { ...size, connections_idle: 2 },
  ])
})
