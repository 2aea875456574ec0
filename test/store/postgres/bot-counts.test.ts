import { Client } from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { all, run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import type { Store } from '../../../src/store/store.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { plantBot, plantUpdates } from '../../support/server/webhooks.js'
import { wrongCounts } from '../../support/store/bot-counts.js'

let database: ReturnType<typeof takeDatabase>
let store: Store
let clients: [Client, Client]
beforeEach(async () => {
  database = takeDatabase()
  const url = await database.url
  store = await openPostgresStore({ url, env: {} })
  clients = [new Client({ connectionString: url }), new Client({ connectionString: url })]
  for (const client of clients) {
    await client.connect()
    await client.query("set lock_timeout = '1ms'")
  }
  await store.write(function* () {
    for (const bot of ['bot_1', 'bot_2']) {
      yield* plantBot(bot)
      yield* plantUpdates(bot, 20, 1)
    }
  })
})
afterEach(async () => {
  await Promise.all(clients.map((it) => it.end()))
  await store.close()
  database.release()
})

const confirm = (client: Client, bot: string, from: number, to: number) =>
  client.query('update updates set pending = 0 where bot_id = $1 and update_id between $2 and $3', [bot, from, to])
const rows = async () =>
  Number((await store.read(() => all("select count(*) as n from bot_counts where kind = 'waiting'")))[0]?.n)

it('transactions that change the same counts in opposite order neither wait nor deadlock', async () => {
  const [one, other] = clients
  await one.query('begin')
  await other.query('begin')
  for (let at = 1; at <= 9; at += 2) {
    await confirm(one, 'bot_1', at, at)
    await confirm(other, 'bot_2', at, at)
    await confirm(one, 'bot_2', at + 1, at + 1)
    await confirm(other, 'bot_1', at + 1, at + 1)
  }
  await one.query('commit')
  await other.query('rollback')
  expect(await store.read(wrongCounts)).toEqual({})
})

it('rows of a count that concurrent transactions have added are joined by later ones', async () => {
  const [one, other] = clients
  await one.query('begin')
  await other.query('begin')
  await confirm(one, 'bot_1', 1, 1)
  await confirm(other, 'bot_1', 2, 2)
  await one.query('commit')
  await other.query('commit')
  expect(await rows()).toBe(3)
  await confirm(one, 'bot_1', 3, 3)
  expect(await rows()).toBe(2)
  expect(await store.read(wrongCounts)).toEqual({})
  await store.write(() => run('delete from updates'))
  expect(await rows()).toBe(0)
})

it('read that pauses is correct when its connection discards its plans', async () => {
  const PAUSED = { kind: 'one', sql: 'select 7 as n', params: [], pauses: true } as const
  // A connection discards its plans after 64 transactions, here at its turn for either kind of read.
  for (let n = 0; n < 300; n++) {
    if (n % 3 === 0) await store.read(() => all('select 7 as n'))
    const row = await store.read(function* () {
      yield PAUSED
      return (yield PAUSED) as { n: number }
    })
    expect(row.n).toBe(7)
  }
})

it('read that pauses leaves connections to other reads', async () => {
  const [holder] = clients
  await holder.query('select pg_advisory_lock(1)')
  const long: Promise<unknown>[] = []
  for (let read = 1; read <= 4; read++) {
    const paused = store.read(function* () {
      yield* all('select 1 as n')
      yield { kind: 'one', sql: 'select pg_advisory_xact_lock(1)::text as held', params: [], pauses: true }
    })
    long.push(paused)
    // Each waits for its own batch, so that the paused reads before it have begun.
    for (let quick = 0; quick < 3; quick++) expect(await store.read(() => all('select 1 as n'))).toEqual([{ n: 1 }])
  }
  await holder.query('select pg_advisory_unlock(1)')
  await Promise.all(long)
})
