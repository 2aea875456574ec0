import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite-engine.js'

export interface Stored {
  /** What SQLite's integrity_check says: `ok`. */
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
  /** Keys of redeems never expire, the others do. */
  readonly keys: readonly { idempotency_key: string; subject_id: string; expires_at: number | null }[]
  readonly credentials: readonly { voucher_id: string }[]
}

/**
 * What a server left in its data folder, read from a copy: opening the files themselves would repair what the next
 * start has to find.
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
        templates: rows('select id, issue_limit, issued_count from templates'),
        vouchers: rows('select id, template_id, external_issue_id, state, redemption_id from vouchers'),
        redemptions: rows('select id, voucher_id, reversed_at from redemptions'),
        keys: rows('select idempotency_key, subject_id, expires_at from idempotency_keys'),
        credentials: rows('select voucher_id from credentials'),
      }
    } finally {
      db.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
