import { join } from 'node:path'
import { Client } from 'pg'
import { expect } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { BACKLOG_ROWS_PER_WRITE } from '../../../src/store/delivery/backlog.js'
import { closeDatabase, openDatabase } from '../../../src/store/sqlite/engine.js'
import { type TestDatabase, takeDatabase } from '../../support/postgres/database.js'
import { type ServerChild, startServerChild } from '../../support/server/child.js'
import { newReceiver, type Receiver, SECRET, until } from '../../support/server/deliveries.js'
import { inFolder } from '../../support/server/server.js'
import { newTenant } from '../../support/server/tenant.js'
import { onPostgres } from '../../support/store/engine-name.js'

let dataDir: string
let database: TestDatabase | undefined
let receiver: Receiver

const start = async () => startServerChild(dataDir, 'silent', true, receiver.port, await database?.url)

/** Runs one statement on the database of a stopped server. */
async function query<R>(sql: string): Promise<readonly R[]> {
  if (database === undefined) {
    const db = openDatabase(join(dataDir, 'voucherctl.db'))
    try {
      return db.prepare(sql).all() as R[]
    } finally {
      db.exec('pragma journal_mode = delete')
      closeDatabase(db)
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

const UPDATES = 10 * BACKLOG_ROWS_PER_WRITE
const CONFIRMED = UPDATES / 2

const calls = ['set', 'delete', 'confirm', 'set again', 'drop'] as const
type KilledCall = (typeof calls)[number]

/**
 * Sets, deletes and sets the webhook of a bot with a long backlog of updates, confirms some and drops the rest. Kills
 * the server right after some of these calls and compares the backlog after the restart.
 * @param killed the calls after which the server is killed, all by default
 */
export async function crashInBacklog(killed: readonly KilledCall[] = calls): Promise<void> {
  database = onPostgres ? takeDatabase() : undefined
  try {
    await inFolder((folder) => {
      dataDir = folder
      return run(killed)
    })
  } finally {
    database?.release()
  }
}

async function run(killed: readonly KilledCall[]): Promise<void> {
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
  /** Kills the server right after the response, while background work has changed few rows of the backlog. */
  const killAfter = async (name: KilledCall, call: Promise<{ readonly status: number; readonly text: string }>) => {
    const { status, text } = await call
    if (killed.includes(name)) await server.kill()
    expect([status, text]).toEqual([200, text])
    if (!killed.includes(name)) return
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

  // The webhook receiver does not respond yet, so no update of the backlog is delivered.
  const held: (() => void)[] = []
  receiver.respond = () => new Promise((resolve) => held.push(() => resolve(503)))
  await killAfter('set', set())
  expect(await pending()).toBe(UPDATES)
  expect((await poll()).code).toBe('WEBHOOK_ACTIVE')
  await until(async () => (await count()) === UPDATES)

  await killAfter('delete', remove())
  expect(await pending()).toBe(UPDATES)
  expect([await count('pending'), await count('cancelled')]).toEqual([0, UPDATES])
  expect((await poll()).data.items.map((it) => it.update_id)).toEqual([1])

  await killAfter('confirm', poll(CONFIRMED + 1))
  expect(await pending()).toBe(UPDATES - CONFIRMED)
  expect((await poll()).data.items.map((it) => it.update_id)).toEqual([CONFIRMED + 1])

  await killAfter('set again', set())
  expect(await pending()).toBe(UPDATES - CONFIRMED)
  await until(async () => (await count('cancelled')) === CONFIRMED)

  await killAfter('drop', set({ drop_pending_updates: true }))
  expect(await pending()).toBe(0)
  expect([await count('pending'), await count('cancelled')]).toEqual([0, UPDATES])

  receiver.respond = () => 200
  for (const release of held) release()
  const called = receiver.calls.length
  const made = await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
  expect(made.data.update_id).toBe(UPDATES + 1)
  await until(async () => (await count('delivered')) === 1)
  expect(receiver.calls.slice(called).map((it) => it.updateId)).toEqual([UPDATES + 1])
  await server.kill()
  expect(markers).toHaveLength(killed.length)
}
