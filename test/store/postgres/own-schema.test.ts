import { expect, test } from 'vitest'
import { startServer } from '../../../src/testing/index.js'
import { emptyDatabase } from '../../support/postgres-database.js'
import { query } from '../../support/postgres-query.js'

const schemasOf = async (url: string) =>
  (await query(url, "select nspname from pg_namespace where nspname like 'voucherctl%'")) as { nspname: string }[]

test('each server inside a test has a schema of its own, which it drops when it closes', async () => {
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

test('failed start of a server inside a test drops its schema', async () => {
  const databaseUrl = await emptyDatabase()
  await expect(startServer({ databaseUrl, seed: '/none.yaml' })).rejects.toThrow(RangeError)
  await expect(startServer({ databaseUrl: `${databaseUrl}_missing` })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  expect(await schemasOf(databaseUrl)).toEqual([])
})
