// Child process that stores vouchers which no measured call uses; argv: data folder of a stopped server, number of
// vouchers, application, template, and the URL of a PostgreSQL store. Responds to one message.
import { join } from 'node:path'
import process from 'node:process'
import pg from 'pg'
import { openDatabase } from '../../../src/store/sqlite/engine.js'

const DAY_MS = 86_400_000
/** Spreads the issue times over this period, which is shorter than the validity of the vouchers. */
const ISSUED_OVER_MS = 20 * DAY_MS

const [, , dataDir, count, applicationId, templateId, databaseUrl] = process.argv
const startedAt = Date.now() - ISSUED_OVER_MS

/**
 * Rows as the server stores them for an issue, with random hashes: no code belongs to them.
 * @param numbers has a column `i` from 1; `hash` and `digits` are expressions of an engine
 */
function statements({ numbers, hash, digits }) {
  const issuedAt = `${startedAt} + i * ${Math.floor(ISSUED_OVER_MS / Number(count))}`
  const id = `'vch_01KAJ3XQ8YM2N4' || ${digits}`
  return [
    `insert into vouchers (application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from,
       valid_until, code_hint, key_id, key_counter, redeem_code_hash, qr_token_hash, channel, issued_at,
       issue_request_id, issue_idempotency_key, issued_by, metadata, updated_at)
     select '${applicationId}', ${id}, '${templateId}', 'filled-' || i, 'user-' || (i % 100000), 'issued', ${issuedAt},
       ${issuedAt} + ${30 * DAY_MS}, 'T4FJ', 'key', 0, ${hash}, ${hash}, 'direct', ${issuedAt},
       'req_01KAJ3XQ8YM2N4' || ${digits}, 'filled-' || i, 'tok_01KAJ3XQ8Y7M2N4P6R8T0V2W4X', '{}', ${issuedAt}
     from ${numbers}`,
    `insert into idempotency_keys (application_id, idempotency_key, fingerprint, status, subject_id, created_at,
       expires_at)
     select '${applicationId}', 'filled-' || i, '${'f'.repeat(43)}', 201, ${id}, ${issuedAt},
       ${issuedAt} + ${30 * DAY_MS}
     from ${numbers}`,
    `update templates set issued_count = issued_count + ${count}
     where application_id = '${applicationId}' and id = '${templateId}'`,
  ]
}

/** Fast, not crash-safe: no journal on disk, no fsync, and a large cache for random index pages. */
function fillSqlite() {
  const db = openDatabase(join(dataDir, 'voucherctl.db'))
  db.exec('pragma journal_mode = memory; pragma synchronous = off; pragma cache_size = -1500000; begin exclusive')
  const numbers = `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n)`
  const sql = statements({ numbers, hash: 'substr(hex(randomblob(22)), 1, 43)', digits: "printf('%012d', i)" })
  for (const statement of sql) db.exec(statement)
  db.exec('commit')
  db.close()
}

async function fillPostgres() {
  const client = new pg.Client({ connectionString: databaseUrl, statement_timeout: 0 })
  await client.connect()
  const hash = 'md5(random()::text) || substr(md5(random()::text), 1, 11)'
  const digits = "lpad(i::text, 12, '0')"
  for (const statement of statements({ numbers: `generate_series(1, ${count}) i`, hash, digits })) {
    await client.query(statement)
  }
  await client.query('vacuum analyze')
  await client.query('checkpoint')
  await client.end()
}

process.once('message', async () => {
  await (databaseUrl === undefined ? fillSqlite() : fillPostgres())
  process.send('filled')
})
process.once('disconnect', () => process.exit())
