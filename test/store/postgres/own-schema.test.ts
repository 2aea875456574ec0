import { Client } from 'pg'
import { expect, test } from 'vitest'
import { lock, notify, one as read } from '../../../src/store/operation.js'
import { createSchema } from '../../../src/store/postgres/schema.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { startServer } from '../../../src/testing/index.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { holdersOf, schemasOf } from '../../support/postgres/own-schemas.js'
import { query } from '../../support/postgres/query.js'
import { until } from '../../support/server/deliveries.js'

test('server inside a test drops its own schema when it closes', { tags: 'servers-inside-a-test/1' }, async () => {
  const databaseUrl = await emptyDatabase()
  const servers = await Promise.all([startServer({ databaseUrl }), startServer({ databaseUrl, listen: false })])
  expect(await schemasOf(databaseUrl)).toHaveLength(2)
  for (const { client, receive } of servers) {
    const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
    expect(await client.vouchers.issue(order)).toMatchObject({ ok: true, replayed: false })
    expect(await receive('voucher_issued')).toMatchObject({ update_id: 1 })
  }
  await Promise.all(servers.map((it) => it.close()))
  expect(await schemasOf(databaseUrl)).toEqual([])
})

test('notices of a store do not reach the stores of other schemas', async () => {
  const settings = { url: await emptyDatabase(), env: {} }
  const schemas = await Promise.all([createSchema(settings), createSchema(settings)])
  const [own, other] = schemas.map(({ name }) => ({ ...settings, schema: name }))
  const stores = await Promise.all([own, own, other].map((it) => openPostgresStore(it ?? settings)))
  const [listening, sameSchema, otherSchema] = stores
  const notices: string[] = []
  listening?.listen((subject) => notices.push(subject))
  await otherSchema?.write(() => notify('other schema'))
  // PostgreSQL delivers the notices of a channel in the order of their commits.
  await sameSchema?.write(() => notify('same schema'))
  await until(async () => notices.length > 0)
  expect(notices).toEqual(['same schema'])
  await Promise.all(stores.map((it) => it.close()))
  await Promise.all(schemas.map((it) => it.drop()))
})

test('locks of a store do not block stores whose URL names another schema as search path', async () => {
  const databaseUrl = await emptyDatabase()
  await query(databaseUrl, 'create schema one; create schema two')
  const urlOf = (schema: string) => `${databaseUrl}?options=${encodeURIComponent(`-c search_path=${schema}`)}`
  const stores = await Promise.all(['one', 'two'].map((it) => openPostgresStore({ url: urlOf(it), env: {} })))
  const [one, two] = stores
  const holder = new Client({ connectionString: databaseUrl })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select pg_advisory_xact_lock(7)')
  const holding = one?.write(function* () {
    yield* lock('applications of acme')
    yield* read('select pg_advisory_xact_lock(7)')
  })
  const WAITING = "select 1 from pg_locks where locktype = 'advisory' and not granted"
  await until(async () => (await query(databaseUrl, WAITING)).length === 1)
  await two?.write(() => lock('applications of acme'))
  await holder.query('commit')
  await holding
  await holder.end()
  await Promise.all(stores.map((it) => it.close()))
})

test('failed start of a server inside a test drops its schema', async () => {
  const databaseUrl = await emptyDatabase()
  await expect(startServer({ databaseUrl, seed: '/none.yaml' })).rejects.toThrow(RangeError)
  await expect(startServer({ databaseUrl: `${databaseUrl}_missing` })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  expect(await schemasOf(databaseUrl)).toEqual([])
})

test('server takes its schema lock again after its connections were terminated', async () => {
  const databaseUrl = await emptyDatabase()
  const server = await startServer({ databaseUrl, listen: false })
  // The connection that held the schema during the start ends a little later.
  await until(async () => (await holdersOf(databaseUrl)).length === 1)
  const [{ pid } = { pid: 0 }] = await holdersOf(databaseUrl)
  await query(databaseUrl, `select pg_terminate_backend(${pid}, 5000)`)
  await until(async () => (await holdersOf(databaseUrl)).length === 1)
  const other = await startServer({ databaseUrl, listen: false })
  expect(await schemasOf(databaseUrl)).toHaveLength(2)
  expect(await server.client.templates.list()).toMatchObject({ ok: true })
  await Promise.all([server.close(), other.close()])
})
