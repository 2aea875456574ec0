import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import type { Op, Statement } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import type { Store } from '../../../src/store/store.js'
import { type TestDatabase, takeDatabase } from '../../support/postgres/database.js'
import { runtimeTables } from '../../support/postgres/partitioned.js'
import { testApp } from '../../support/server/app.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

/** Tests that tables can be distributed by application as store/README.md says, against the catalogue of a database. */
let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = takeDatabase()
  const url = await database.url
  await (await openPostgresStore({ url, env: {} })).close()
  client = new Client({ connectionString: url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  database.release()
})

const rows = async <T>(sql: string): Promise<T[]> => (await client.query(sql)).rows as T[]

describe('runtime tables', () => {
  it('runtime tables are exactly those with application_id in their primary key', async () => {
    const found = await rows<{ name: string }>(
      `select distinct i.indrelid::regclass::text as name from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) and a.attname = 'application_id'
       where i.indisprimary and i.indrelid::regclass::text !~ '^pg_'`,
    )
    expect(found.map((it) => it.name).sort()).toEqual([...runtimeTables].sort())
  })

  it.each(runtimeTables)('primary key and unique indexes of %s start with application_id', async (table) => {
    const unique = await rows<{ index: string; first: string; primary: boolean }>(
      `select i.indexrelid::regclass::text as index, a.attname as first, i.indisprimary as primary from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indrelid = '${table}'::regclass and i.indisunique`,
    )
    expect(unique.filter((it) => it.primary).length).toBe(1)
    expect(unique.filter((it) => it.first !== 'application_id')).toEqual([])
  })

  it.each(runtimeTables)(
    'runtime table %s has no triggers and no foreign keys from or to other tables',
    async (table) => {
      const found = await rows(
        `select conname from pg_constraint where contype = 'f' and '${table}'::regclass in (conrelid, confrelid)
       union all select tgname from pg_trigger where tgrelid = '${table}'::regclass`,
      )
      expect(found).toEqual([])
    },
  )

  it('database schema has no sequences, which a single node would have to serve', async () => {
    expect(await rows("select relname from pg_class where relkind = 'S'")).toEqual([])
  })
})

/** Wraps a store: passes the SQL statements of each operation to `record`. */
function recording(store: Store, record: (statements: readonly Statement[]) => void): Store {
  const recorded = <T>(op: () => Op<T>) =>
    function* (): Op<T> {
      const statements: Statement[] = []
      const steps = op()
      for (let step = steps.next(); ; ) {
        if (step.done) {
          record(statements)
          return step.value
        }
        const { value } = step
        if (value.kind === 'several') statements.push(...value.statements)
        else if ('sql' in value) statements.push(value)
        step = steps.next(yield value)
      }
    }
  return {
    ...store,
    write: (op, shared) => store.write(recorded(op), shared),
    read: (op) => store.read(recorded(op)),
  }
}

const RUNTIME = new RegExp(`\\b(?:from|join|into|update) (${runtimeTables.join('|')})\\b( [a-z]\\b)?`, 'g')

/** The application ids to which a statement restricts the rows of runtime tables; null if it does not restrict one. */
function applicationsOf({ sql, params }: Statement): string[] | null {
  const found = new Set<string>()
  if (/^\s*insert/.test(sql)) {
    const [, columns = ''] = /\(([^)]*)\)/.exec(sql) ?? []
    if (columns.split(',')[0]?.trim() !== 'application_id' || !/values\s+\(\$1,/.test(sql)) return null
    found.add(String(params[0]))
  } else {
    for (const [, , alias = ''] of sql.matchAll(RUNTIME)) {
      const column = `${alias.trim() === '' ? '' : `${alias.trim()}.`}application_id`
      const [, place] = new RegExp(`\\b${column} = \\$(\\d+)`).exec(sql) ?? []
      // A table joined by application_id to a restricted table is restricted too.
      const isJoined = new RegExp(`\\b${column} = \\w+\\.application_id`).test(sql)
      if (place === undefined && !isJoined) return null
      if (place !== undefined) found.add(String(params[Number(place) - 1]))
    }
  }
  return [...found]
}

describe('runtime operations', () => {
  it('every SQL statement of a runtime operation is restricted to rows of one application', async () => {
    const touched: string[][] = []
    const boundless: string[] = []
    let isRecording = false
    const store = recording(await openPostgresStore({ url: await database.url, env: {} }), (statements) => {
      if (!isRecording) return
      const applications = new Set<string>()
      for (const statement of statements) {
        if (statement.sql.match(RUNTIME) === null) continue
        const named = applicationsOf(statement)
        if (named === null) boundless.push(statement.sql)
        for (const it of named ?? []) applications.add(it)
      }
      touched.push([...applications])
    })
    const server = testApp({ store })
    const tenants = [await newTenant(server), await newTenant(server)]
    const templates = await Promise.all(tenants.map((tenant) => tenant.template()))
    isRecording = true
    for (const [index, tenant] of tenants.entries()) {
      const { id } = templates[index] as { id: string }
      const voucher = await tenant.issue(id, { key: 'issue' })
      await tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher) })
      const redemption = await tenant.redeem(voucher, { key: 'redeem' })
      await tenant.redeem(voucher, { key: 'redeem' })
      await tenant.redeem(voucher, { key: 'again' }).catch(() => {})
      await tenant.runtime(contract.vouchers.redemption, { redemptionId: redemption.id })
      await tenant.runtime(contract.vouchers.reverse, { redemptionId: redemption.id })
      await tenant.runtime(contract.templates.list, {})
      const draft = await tenant.draft()
      await tenant.runtime(contract.templates.submit, { templateId: draft.id })
    }
    isRecording = false
    await server.close()
    expect(boundless).toEqual([])
    const named = touched.filter((it) => it.length > 0)
    expect(named.filter((it) => it.length > 1)).toEqual([])
    expect(new Set(named.flat())).toEqual(new Set(tenants.map((it) => it.appId)))
    expect(named.length).toBeGreaterThan(18)
  })
})
