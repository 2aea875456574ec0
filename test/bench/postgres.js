import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { startPostgres } from './postgres-server.js'
import { prepareApplication } from './prepare.js'
import { rowOf } from './row.js'
import { CONNECTIONS, issuePath, redeemPath, request } from './throughput.js'

const ROW = { id: 'P12', what: 'redeem on PostgreSQL, 2 server processes', target: 1.2, unit: 'requests/s' }

/**
 * P12: redeems per second of two server processes on one PostgreSQL, compared with pgbench, which runs the same SQL on
 * the same PostgreSQL; also issues per second from one template, which all update the quota in one table row.
 * @param {{ rounds: number, count: number, say: (line: string) => void }} options
 */
export async function measurePostgres({ rounds, count, say }) {
  const pgbench = findPgbench()
  if (pgbench === null)
    return [{ ...ROW, against: 'pgbench', skipped: 'pgbench is not installed (Debian: postgresql-contrib)' }]
  const serverFile = await bundle('server-under-test')
  const postgres = await startPostgres()
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const children = []
  const start = () => {
    const child = startChild(serverFile, [dataDir, '0', postgres.url], { stderr: log })
    children.push(child)
    return child
  }
  const samples = { issue: [], redeem: [], pgbench: [] }
  try {
    const servers = [start()]
    const ready = [await servers[0].nextMessage()]
    servers.push(start())
    ready.push(await servers[1].nextMessage())
    const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
    children.push(generator)
    const application = await prepareApplication(
      ready[0].baseUrl,
      readFileSync(ready[0].operatorKeyFile, 'utf8').trim(),
    )
    const ports = ready.map(({ baseUrl }) => Number(new URL(baseUrl).port))
    const cpuOf = async () => {
      const all = await Promise.all(servers.map((it) => it.ask('cpu')))
      return all.reduce((sum, { cpu }) => sum + cpu.user + cpu.system, 0)
    }
    const measure = async (name, requests, capture) => {
      const before = await cpuOf()
      const result = await generator.ask({ ports, connections: CONNECTIONS, requests, count, capture })
      if (result.refused.length > 0) throw new Error(`${name} was refused: ${JSON.stringify(result.refused[0])}`)
      return { ...result, cpu: ((await cpuOf()) - before) / count }
    }
    const range = (make) => Array.from({ length: count }, (_, n) => make(n))

    for (let round = 0; round <= rounds; round++) {
      const issued = await measure(
        'issue',
        range((n) => {
          const order = `order-${round}-${n}`
          const body = { template_id: application.templateId, external_issue_id: order, recipient_user_id: `user-${n}` }
          return request(issuePath, application.token, body, `issue-${round}-${n}`)
        }),
        '"redeem_code","value":"([^"]+)"',
      )
      const redeem = () =>
        measure(
          'redeem',
          range((n) => {
            const body = { credential: { type: 'redeem_code', value: issued.captured[n] } }
            return request(redeemPath, application.token, body, `redeem-${round}-${n}`)
          }),
        )
      await prepareRows(postgres.url, Math.ceil(count / CONNECTIONS))
      const reference = () => runPgbench(pgbench, postgres, Math.ceil(count / CONNECTIONS))
      const ours = round % 2 === 0 ? await redeem() : null
      const theirs = await reference()
      const redeemed = ours ?? (await redeem())
      say(
        `${round === 0 ? 'warm-up' : `round ${round}`}: pgbench ${Math.round(theirs)}/s  ` +
          [
            ['issue', issued],
            ['redeem', redeemed],
          ]
            .map(([name, it]) => `${name} ${Math.round(it.perSecond)}/s (servers ${it.cpu.toFixed(0)} us each)`)
            .join('  '),
      )
      if (round === 0) continue
      samples.issue.push(issued.perSecond)
      samples.redeem.push(redeemed.perSecond)
      samples.pgbench.push(theirs)
    }
  } finally {
    await Promise.all(children.map((it) => it.stop()))
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  const row = rowOf({
    ...ROW,
    value: median(samples.redeem),
    reference: median(samples.pgbench),
    against: 'pgbench',
    runs: rounds,
  })
  const ofOneTemplate = median(samples.issue)
  return [
    {
      ...row,
      beside: {
        what: 'issues on one template, 2 server processes',
        reference: ofOneTemplate,
        ratio: row.value / ofOneTemplate,
      },
    },
  ]
}

/** Path of pgbench, from PATH or from the folders in which Debian installs it. */
function findPgbench() {
  const versions = '/usr/lib/postgresql'
  const found = []
  try {
    for (const version of readdirSync(versions)) found.unshift(join(versions, version, 'bin/pgbench'))
  } catch {
    // Another system, or PostgreSQL is not installed.
  }
  for (const path of ['pgbench', ...found]) {
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
  const script = fileURLToPath(new URL('redeem.pgbench', import.meta.url))
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
