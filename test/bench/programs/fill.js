// Child process that stores vouchers; argv: data folder of a stopped server, number of vouchers, application, template,
// and the URL of a PostgreSQL store. The first IPC message lists the indexes of the vouchers whose codes it returns.
import { join } from 'node:path'
import process from 'node:process'
import pg from 'pg'
import { loadKeys } from '../../../src/server/keys.js'
import { openDatabase, prepareStatement } from '../../../src/store/sqlite/engine.js'
import { issuedVouchers } from './issued.js'

/** Vouchers per statement and table on PostgreSQL. */
const ROWS_PER_STATEMENT = 500
const PER_COMMIT = 50_000

const [, , dataDir, count, applicationId, templateId, databaseUrl] = process.argv

process.once('message', async ({ places }) => {
  const wanted = new Set(places)
  const codes = new Map()
  const store = await (databaseUrl === undefined ? sqlite(join(dataDir, 'voucherctl.db')) : postgres(databaseUrl))
  const template = await store.template()
  const keys = loadKeys(join(dataDir, 'keys.json'), false, null).credentials
  let n = 0
  for (const { writes, code } of issuedVouchers({ applicationId, template, keys, count: Number(count) })) {
    const waiting = store.add(writes)
    if (waiting !== undefined) await waiting
    if (wanted.has(n)) codes.set(n, code)
    n += 1
    // Lets the event loop notice that the parent has exited.
    if (n % 10_000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await store.finish(n)
  process.send({ codes: places.map((place) => codes.get(place)) })
})
process.once('disconnect', () => process.exit())

const SELECT_TEMPLATE = 'select * from templates where application_id = $1 and id = $2'
const COUNT_ISSUED = 'update templates set issued_count = issued_count + $3 where application_id = $1 and id = $2'

/** Fast, not crash-safe: no journal on disk, no fsync, and a large cache for random index pages. */
function sqlite(path) {
  const db = openDatabase(path)
  db.exec('pragma journal_mode = memory; pragma synchronous = off; pragma cache_size = -1500000; begin exclusive')
  const prepared = new Map()
  const statement = (sql) => {
    if (!prepared.has(sql)) prepared.set(sql, prepareStatement(db, sql))
    return prepared.get(sql)
  }
  return {
    template: () => statement(SELECT_TEMPLATE).get([applicationId, templateId]),
    add(writes) {
      for (const { sql, params } of writes) statement(sql).run(params)
    },
    finish(issued) {
      statement(COUNT_ISSUED).run([applicationId, templateId, issued])
      db.exec('commit')
      db.close()
    },
  }
}

async function postgres(connectionString) {
  const client = new pg.Client({ connectionString, statement_timeout: 0 })
  await client.connect()
  await client.query('set synchronous_commit = off')
  await client.query('begin')
  /** Parameters of the rows that wait for insertion, by SQL statement. */
  const paramsBySql = new Map()
  let stored = 0
  const flush = async (rowCount) => {
    for (const [sql, params] of paramsBySql) {
      const one = params.length / rowCount
      await client.query({ name: `${rowCount} ${sql.slice(0, 30)}`, text: manyOf(sql, one, rowCount), values: params })
    }
    paramsBySql.clear()
  }
  return {
    template: async () => numbersOf((await client.query(SELECT_TEMPLATE, [applicationId, templateId])).rows[0]),
    add(writes) {
      for (const { sql, params } of writes) {
        if (!paramsBySql.has(sql)) paramsBySql.set(sql, [])
        paramsBySql.get(sql).push(...params)
      }
      stored += 1
      if (stored % ROWS_PER_STATEMENT > 0) return undefined
      return flush(ROWS_PER_STATEMENT).then(() =>
        stored % PER_COMMIT === 0 ? client.query('commit; begin') : undefined,
      )
    },
    async finish(issued) {
      if (stored % ROWS_PER_STATEMENT > 0) await flush(stored % ROWS_PER_STATEMENT)
      await client.query(COUNT_ISSUED, [applicationId, templateId, issued])
      await client.query('commit')
      await client.query('vacuum analyze')
      await client.query('checkpoint')
      await client.end()
    },
  }
}

/** Turns an insert of one row into one of several: repeats its `values (…)` once per row. */
function manyOf(sql, params, rows) {
  const [, before, values, after] = /^(.*?\bvalues\s+)(\(.*?\))(\s+on conflict.*)$/s.exec(sql)
  const all = Array.from({ length: rows }, (_, row) =>
    values.replace(/\$(\d+)/g, (_text, place) => `$${row * params + Number(place)}`),
  )
  return `${before}${all.join(', ')}${after}`
}

/** pg returns bigint as text. */
function numbersOf(row) {
  return Object.fromEntries(Object.entries(row).map(([name, it]) => [name, /^\d+$/.test(it) ? Number(it) : it]))
}
