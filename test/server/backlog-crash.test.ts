import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { SETTLED_PER_WRITE } from '../../src/store/backlog.js'
import { openDatabase } from '../../src/store/sqlite-engine.js'
import { dropSum } from '../../src/store/sqlite-sum.js'
import { onPostgres } from '../support/engine-name.js'
import { type TestDatabase, takeDatabase } from '../support/postgres-database.js'
import { temporaryFolder } from '../support/server.js'
import { type ServerChild, buildServerChild, startServerChild } from '../support/server-child.js'
import { type Receiver, SECRET, newReceiver, until } from '../support/server-deliveries.js'
import { newTenant } from '../support/server-tenant.js'

let removeBundle: () => void
let dataDir: string
let database: TestDatabase | undefined
let receiver: Receiver
beforeAll(async () => {
  removeBundle = await buildServerChild()
  dataDir = temporaryFolder()
  if (onPostgres) database = takeDatabase()
}, 30_000)
afterAll(() => {
  removeBundle()
  database?.release()
  rmSync(dataDir, { recursive: true, force: true })
})

const start = async () => startServerChild(dataDir, 'silent', true, receiver.port, await database?.url)

/** Runs one statement on the database of a server that is stopped. */
async function query<R>(sql: string): Promise<readonly R[]> {
  if (database === undefined) {
    const path = join(dataDir, 'voucherctl.db')
    dropSum(path)
    const db = openDatabase(path)
    try {
      return db.prepare(sql).all() as R[]
    } finally {
      db.close()
    }
  }
  const client = new Client({ connectionString: await database.url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as R[]
  } finally {
    await client.end()
  }
}

const UPDATES = 10 * SETTLED_PER_WRITE
const CONFIRMED = UPDATES / 2

it('kill -9 while a backlog is settled leaves every call as if it had settled all of it', async () => {
  receiver = await newReceiver()
  let server: ServerChild = await start()
  const send: ServerChild['send'] = (request) => server.send(request)
  const tenant = await newTenant({ send, operatorKey: server.operatorKey })
  const bot = await tenant.bot()
  await server.kill()
  await query(
    `with recursive ids (n) as (select 1 union all select n + 1 from ids where n < ${UPDATES})
     insert into updates (bot_id, update_id, type, chat_id, body, created_at, pending)
     select '${bot.id}', n, 'ping', null, '{"update_id":' || n || ',"type":"ping","ping":{}}', ${Date.now()}, 1 from ids
     returning update_id`,
  )
  await query(`update update_queues set last_update_id = ${UPDATES} where bot_id = '${bot.id}' returning bot_id`)
  server = await start()

  const markers: unknown[] = []
  /** Kills the server right after the call, while most rows of the backlog are as they were. */
  const killAfter = async (call: Promise<{ readonly status: number; readonly text: string }>) => {
    const { status, text } = await call
    await server.kill()
    expect([status, text]).toEqual([200, text])
    const [queue] = await query<{ confirmed_to: unknown; switched_to: unknown }>(
      `select confirmed_to, switched_to from update_queues where bot_id = '${bot.id}'`,
    )
    if (queue?.confirmed_to !== null || queue?.switched_to !== null) markers.push(queue)
    server = await start()
  }
  const input = { url: receiver.url, secret_token: SECRET, max_connections: 1 }
  const set = (more = {}) => bot.call(contract.webhook.setByBot, { ...input, ...more })
  const remove = () => tenant.console(contract.webhook.delete, { botId: bot.id })
  const poll = (offset = 0) => bot.call(contract.bots.updates, { offset, limit: 1 })
  const pending = async () => (await bot.call(contract.webhook.info, {})).data.pending_update_count
  const count = async (status?: 'pending' | 'cancelled' | 'delivered') =>
    (await tenant.console(contract.webhook.deliveries, { botId: bot.id, limit: 1, ...(status && { status }) })).data
      .pagination.total

  // The receiver does not respond yet, so that nothing of the backlog is delivered.
  const held: (() => void)[] = []
  receiver.answer = () => new Promise((resolve) => held.push(() => resolve(503)))
  await killAfter(set())
  expect(await pending()).toBe(UPDATES)
  expect((await poll()).code).toBe('WEBHOOK_ACTIVE')
  await until(async () => (await count()) === UPDATES)

  await killAfter(remove())
  expect(await pending()).toBe(UPDATES)
  expect([await count('pending'), await count('cancelled')]).toEqual([0, UPDATES])
  expect((await poll()).data.items.map((it) => it.update_id)).toEqual([1])

  await killAfter(poll(CONFIRMED + 1))
  expect(await pending()).toBe(UPDATES - CONFIRMED)
  expect((await poll()).data.items.map((it) => it.update_id)).toEqual([CONFIRMED + 1])

  await killAfter(set())
  expect(await pending()).toBe(UPDATES - CONFIRMED)
  await until(async () => (await count('cancelled')) === CONFIRMED)

  await killAfter(set({ drop_pending_updates: true }))
  expect(await pending()).toBe(0)
  expect([await count('pending'), await count('cancelled')]).toEqual([0, UPDATES])

  receiver.answer = () => 200
  for (const release of held) release()
  const called = receiver.calls.length
  const made = await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
  expect(made.data.update_id).toBe(UPDATES + 1)
  await until(async () => (await count('delivered')) === 1)
  expect(receiver.calls.slice(called).map((it) => it.updateId)).toEqual([UPDATES + 1])
  await server.kill()
  expect(markers).toHaveLength(5)
}, 90_000)
