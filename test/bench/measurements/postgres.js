import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import {
  CODE,
  CONNECTIONS,
  issueRequests,
  prepareApplication,
  redeemPath,
  request,
  startLoad,
  withCode,
} from '../calls.js'
import { startPostgres } from '../postgres-server.js'
import { startServer, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const SERVERS = 2
const ROW = { id: 'P12', what: `redeem on PostgreSQL, ${SERVERS} server processes`, against: 'pgbench' }

/**
 * P12: redeems per second of two server processes on one PostgreSQL, compared with pgbench, which runs the same SQL on
 * the same PostgreSQL; also issues per second from one template, which all update the quota in one table row.
 */
export function measurePostgres({ rounds, count, say }) {
  const pgbench = findPgbench()
  if (pgbench === null) return [{ ...ROW, skipped: 'pgbench is not installed (Debian: postgresql-contrib)' }]
  return withProcesses(async ({ folder, own, start }) => {
    const postgres = own(await startPostgres())
    const servers = []
    // One after the other: the second one finds the tables of the first.
    while (servers.length < SERVERS) servers.push(await startServer(start, folder, { databaseUrl: postgres.url }))
    const both = {
      ports: servers.flatMap(({ ports }) => ports),
      cpu: async () => (await Promise.all(servers.map((it) => it.cpu()))).reduce((sum, cpu) => sum + cpu, 0),
    }
    const application = await prepareApplication(servers[0])
    const load = startLoad(start)
    const transactions = Math.ceil(count / CONNECTIONS)
    const middle = await alternate({ rounds, say }, async (round) => {
      await prepareRows(postgres.url, transactions)
      const issues = await load(both, issueRequests(application, `${round}`, count), { count, capture: CODE })
      return [
        async () => ({ pgbench: { perSecond: await runPgbench(pgbench, postgres, transactions) } }),
        async () => {
          const redeems = issues.captured.map((code, n) =>
            request(redeemPath, application.token, withCode(code), `redeem-${round}-${n}`),
          )
          return { issue: issues.sample, redeem: (await load(both, redeems, { count })).sample }
        },
      ]
    })
    const issues = { what: `issue on one template, ${SERVERS} server processes`, value: middle('issue') }
    return [
      rowOf({ ...ROW, value: middle('redeem'), reference: middle('pgbench'), target: 1.2, unit: 'requests/s' }),
      rowOf({ ...ROW, ...issues, against: 'redeem', reference: middle('redeem'), unit: 'requests/s' }),
    ]
  })
}

/** Path of pgbench, from PATH or from the folders in which Debian installs it. */
function findPgbench() {
  const versions = '/usr/lib/postgresql'
  const found = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, 'bin/pgbench'))
    : []
  for (const path of ['pgbench', ...found.reverse()]) {
    try {
      execFileSync(path, ['--version'], { stdio: 'ignore' })
      return path
    } catch {
      // Try the next path.
    }
  }
  return null
}

/** Inserts unredeemed vouchers of a separate application: pgbench redeems one in each transaction. */
async function prepareRows(url, transactions) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const table of ['idempotency_keys', 'redemptions', 'vouchers']) {
      await client.query(`delete from ${table} where application_id = 'pgbench'`)
    }
    await client.query(`insert into applications values ('pgbench', 'pgbench', 'Benchmark', null, 'active', 0, '[]', '[]',
      'optional', 0, 0) on conflict do nothing`)
    await client.query(`insert into tokens values ('pgbench', 'pgbench', 'bench', 'pgbench', 'sop_', '0000', '[]', 0, null,
      null, null) on conflict do nothing`)
    const numbers = `(select c * 1000000 + i as n from generate_series(0, ${CONNECTIONS - 1}) c,
      generate_series(1, ${transactions}) i) it`
    await client.query(`insert into vouchers select 'pgbench', 'vch_01KAJ3XQ8Y7M2N4P6R8T0V' || n,
      'tpl_01KAJ3XQ8Y7M2N4P6R8T0V2W4X', 'order-' || n, 'user-' || n, 'issued', 0, 1890000000000, '0000', 'key', 0,
      'c' || n, 'q' || n, 'direct', null, 0,
      'req_01KAJ3XQ8Y7M2N4P6R8T0V' || n, 'i' || n, 'tok_01KAJ3XQ8Y7M2N4P6R8T0V2W4X', null, null, '{}', 0 from ${numbers}`)
    await client.query('vacuum analyze')
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
}

/** Runs pgbench; returns transactions per second. */
async function runPgbench(path, { port, password }, transactions) {
  const script = fileURLToPath(new URL('../redeem.pgbench', import.meta.url))
  const where = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', 'postgres']
  const how = ['-n', '-M', 'prepared', '-c', String(CONNECTIONS), '-j', '2', '-t', String(transactions), '-D', 'i=0']
  const { stdout } = await promisify(execFile)(path, [...how, '-f', script, ...where], {
    env: { PATH: process.env.PATH, PGPASSWORD: password },
  })
  const rate = /^tps = ([\d.]+)/m.exec(stdout)
  const failed = /number of failed transactions: (\d+)/.exec(stdout)
  if (rate === null || Number(failed?.[1] ?? 0) > 0) throw new Error(`pgbench: ${stdout}`)
  return Number(rate[1])
}
