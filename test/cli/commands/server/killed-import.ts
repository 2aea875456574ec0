import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { closeSqliteFile, openSqliteFile } from '../../../../src/store/sqlite/open.js'
import { built } from '../../../support/cli/built-cli.js'

interface KilledImport {
  readonly home: string
  /** Export with this number of applications. */
  readonly file: string
  readonly rows: number
  readonly target: string
  /** Whether to kill the import now, with the path of the journal of its database. */
  readonly isDue: (journal: string) => boolean
}

/** Kills an import before its end. Expects an empty database, and that a second import succeeds. */
export async function expectNothingOfKilledImport({ home, file, rows, target, isDue }: KilledImport): Promise<void> {
  const text = readFileSync(file)
  const child = built.start(['server', 'import', '-', '--data', target], home)
  const ended = once(child, 'close')
  child.stdin.write(text.subarray(0, text.length - 1_000))
  await vi.waitUntil(() => isDue(join(target, 'voucherctl.db-wal')), { timeout: 120_000 })
  child.kill('SIGKILL')
  await ended
  const db = openSqliteFile(join(target, 'voucherctl.db'))
  expect(db.prepare('select count(*) as n from applications').get()).toEqual({ n: 0 })
  closeSqliteFile(db, join(target, 'voucherctl.db'))
  const again = await built.run(['server', 'import', file, '--data', target, '--json'], home)
  expect([again.exit, again.stderr]).toEqual([0, ''])
  expect(JSON.parse(again.stdout).rows.applications).toBe(rows)
}
