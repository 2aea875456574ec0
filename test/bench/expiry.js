// node test/bench/expiry.js [--records N]: measures redeems during the deletion of N expired idempotency records, on
// SQLite and PostgreSQL.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { startPostgres } from './postgres-server.js'

const { values: flags } = parseArgs({
  options: { records: { type: 'string', default: '1000000' }, only: { type: 'string' } },
})
const file = await bundle('expiry-under-test')

async function measure(engine, place) {
  const child = startChild(file, [flags.records, place])
  const { alone, beside, seconds } = await child.ask('begin')
  await child.stop()
  const shown = ({ count, p50, p99, max }) =>
    `${count} redeems, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, at most ${max.toFixed(0)} ms`
  process.stdout.write(`${engine}: ${flags.records} records forgotten in ${seconds.toFixed(1)} s\n`)
  process.stdout.write(`  alone: ${shown(alone)}\n  meanwhile: ${shown(beside)}\n`)
}

if (flags.only !== 'postgres') {
  const folder = mkdtempSync(join(cache, 'expiry-'))
  try {
    await measure('SQLite', join(folder, 'voucherctl.db'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
if (flags.only !== 'sqlite') {
  const postgres = await startPostgres()
  try {
    await measure('PostgreSQL', postgres.url)
  } finally {
    await postgres.stop()
  }
}
