import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { migratePostgres } from '../../../src/store/postgres/migrate.js'
import { migrations } from '../../../src/store/postgres/migrations.js'
import { connectionOf } from '../../../src/store/postgres/settings.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { addLaterMigration } from '../../support/postgres/later-migration.js'
import { query } from '../../support/postgres/query.js'
import type { ApiResponse } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { standaloneServer, temporaryFolder } from '../../support/server/server.js'
import { codeOf, newTenant, Tenant } from '../../support/server/tenant.js'

async function migrate(url: string, known: typeof migrations) {
  const { config, name } = await connectionOf({ url, env: {} })
  return migratePostgres(config, name, false, known)
}

/** Starts a server on the database with the key file of the folder. */
async function serverOn(databaseUrl: string, dataDir: string) {
  const server = await standaloneServer({ dataDir, databaseUrl, testClock: false })
  onTestFinished(() => server.close())
  return server
}

function folderOfTest(): string {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A migration as a later version may bring it: it only adds columns, tables and indexes. */
const LATER = `alter table vouchers add column note text;
alter table redemptions add column note text, add column weight bigint not null default 0;
alter table idempotency_keys add column note text;
alter table templates add column note text;
alter table tokens add column note text;
create table notes (application_id text not null, id text not null, primary key (application_id, id));
create index vouchers_of_recipient on vouchers (application_id, recipient_user_id);`

it('calls at an older server all succeed while a newer version extends the schema', async () => {
  const url = await emptyDatabase()
  const server = await serverOn(url, folderOfTest())
  const tenant = await newTenant(server)
  const { id } = await tenant.template({ issue_limit: 100_000 })
  let over = false
  const failed: ApiResponse[] = []
  const redeemed: string[] = []
  const clerk = async (name: string) => {
    for (let n = 0; !over; n++) {
      const input = { template_id: id, external_issue_id: `${name}-${n}`, recipient_user_id: 'u' }
      const issued = await tenant.runtime(contract.vouchers.issue, input)
      if (issued.code !== null) return void failed.push(issued)
      const credential = codeOf(issued.data)
      const verified = await tenant.runtime(contract.vouchers.verify, { credential })
      const response = await tenant.runtime(contract.vouchers.redeem, { credential })
      for (const it of [verified, response]) if (it.code !== null) failed.push(it)
      redeemed.push(input.external_issue_id)
    }
  }
  const clerks = Promise.all(Array.from({ length: 8 }, (_, index) => clerk(`c${index}`)))
  await until(() => redeemed.length > 40)
  const { from, to } = await migrate(url, [...migrations, { name: 'later', sql: LATER }])
  expect([from, to]).toEqual([migrations.length, migrations.length + 1])
  const before = redeemed.length
  await until(() => redeemed.length > before + 40)
  over = true
  await clerks
  expect(failed.map((it) => it.text)).toEqual([])

  const stored = await query<{ key: string }>(
    url,
    "select external_issue_id as key from vouchers where state = 'redeemed' order by 1",
  )
  expect(stored.map((it) => it.key)).toEqual([...redeemed].sort())
  // The older version refuses to start on the extended schema.
  await expect(
    standaloneServer({ dataDir: server.running.dataDir, databaseUrl: url, testClock: false }),
  ).rejects.toThrow(/newer voucherctl/)
})

it('vouchers and idempotency records from before a migration work after the migration', async () => {
  addLaterMigration(LATER)
  const keys = folderOfTest()
  const now = await emptyDatabase()
  const first = await serverOn(now, keys)
  const tenant = await newTenant(first)
  const { id } = await tenant.template()
  const input = { template_id: id, external_issue_id: 'o-1', recipient_user_id: 'u' }
  const issued = await tenant.runtime(contract.vouchers.issue, input, { key: 'issue' })

  // Copy the rows to a database with the previous schema.
  const before = await emptyDatabase()
  await migrate(before, migrations.slice(0, -1))
  const tables = await query<{ name: string }>(
    before,
    "select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'voucherctl_schema'",
  )
  const selects = tables.map(({ name }) => `(select json_agg(it) from ${name} it) as ${name}`)
  const [rows = {}] = await query<Record<string, unknown[] | null>>(now, `select ${selects.join()}`)
  const inserts = Object.entries(rows).map(
    ([name, of]) =>
      `insert into ${name} select * from json_populate_recordset(null::${name}, $json$${JSON.stringify(of ?? [])}$json$)`,
  )
  await query(before, `set session_replication_role = replica; ${inserts.join(';')}`)

  const second = await serverOn(before, keys)
  const { accountId, jwt, appId, token, tokenId } = tenant
  const there = new Tenant(second, accountId, jwt, appId, token, tokenId)
  const replayed = await there.runtime(contract.vouchers.issue, input, { key: 'issue' })
  expect([replayed.status, replayed.sameness]).toEqual([issued.status, issued.sameness])
  expect(replayed.headers['idempotent-replayed']).toBe('true')
  const redeemed = await there.runtime(contract.vouchers.redeem, { credential: codeOf(issued.data) })
  expect(redeemed.status).toBe(200)
})
