import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { openDatabase } from '../../src/store/sqlite/engine.js'

/** Type id of PostgreSQL's int8, which pg returns as text by default. */
const BIGINT = 20

export interface Stored {
  /** Result of SQLite's integrity_check; always `ok` for PostgreSQL, which has no such check. */
  readonly integrity: string
  readonly templates: readonly { id: string; issue_limit: number; issued_count: number }[]
  readonly vouchers: readonly {
    id: string
    template_id: string
    external_issue_id: string
    state: string
    redemption_id: string | null
  }[]
  readonly redemptions: readonly { id: string; voucher_id: string; reversed_at: number | null }[]
  /** Idempotency records; records of redeems never expire, others do. */
  readonly keys: readonly { idempotency_key: string; subject_id: string; expires_at: number | null }[]
}

const QUERIES = {
  templates: 'select id, issue_limit, issued_count from templates',
  vouchers: 'select id, template_id, external_issue_id, state, redemption_id from vouchers',
  redemptions: 'select id, voucher_id, reversed_at from redemptions',
  keys: 'select idempotency_key, subject_id, expires_at from idempotency_keys',
} as const

/** Reads the data that a server stored in a PostgreSQL database, in one snapshot. */
export async function readStoredIn(url: string): Promise<Stored> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin transaction isolation level repeatable read, read only')
    const stored: Record<string, unknown> = { integrity: 'ok' }
    for (const [name, sql] of Object.entries(QUERIES)) {
      const { rows, fields } = await client.query<Record<string, unknown>>(sql)
      const numbers = fields.filter((it) => it.dataTypeID === BIGINT).map((it) => it.name)
      for (const row of rows) for (const it of numbers) row[it] = row[it] === null ? null : Number(row[it])
      stored[name] = rows
    }
    return stored as unknown as Stored
  } finally {
    await client.end()
  }
}

/**
 * Reads the data in the folder of an ended server from a copy of the files: opening the original files would repair
 * damage that the next server start must handle.
 */
export function readStored(dataDir: string, scratch: string): Stored {
  const folder = mkdtempSync(join(scratch, 'copy-'))
  try {
    for (const name of ['voucherctl.db', 'voucherctl.db-wal']) {
      if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(folder, name))
    }
    const db = openDatabase(join(folder, 'voucherctl.db'))
    try {
      const rows = <T>(sql: string) => db.prepare(sql).all() as T[]
      const verdicts = rows<{ integrity_check: string }>('pragma integrity_check')
      return {
        integrity: verdicts.map((it) => it.integrity_check).join('; '),
        templates: rows(QUERIES.templates),
        vouchers: rows(QUERIES.vouchers),
        redemptions: rows(QUERIES.redemptions),
        keys: rows(QUERIES.keys),
      }
    } finally {
      db.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
