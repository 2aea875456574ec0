import { type Failure, usage } from '../../failure.js'
import { text } from '../../flags/flags.js'
import type { Host } from '../../host/host.js'

export const databaseUrlVariable = 'VOUCHERCTL_DATABASE_URL'

export const databaseUrlFlag = {
  'database-url': text('URL', 'PostgreSQL that servers share, such as postgres://user@host/db'),
}

/**
 * The database that a server is started on: the flag, else the variable; undefined for SQLite. What is typed can be
 * read by every user of the machine for as long as the process runs: a password in it is refused.
 */
export function readDatabaseUrl(
  { env }: Pick<Host, 'env'>,
  given: string | undefined,
): { readonly ok: true; readonly value: string | undefined } | Failure {
  const value = given ?? (env[databaseUrlVariable] || undefined)
  if (value !== undefined && !/^postgres(ql)?:\/\//.test(value)) {
    const source = given === undefined ? databaseUrlVariable : '--database-url'
    return usage(`${source} takes a URL such as postgres://user@host:5432/database.`)
  }
  if (given !== undefined && (/^[^/]*\/\/[^/?#]*:[^/?#]*@/.test(given) || /[?&]password=/.test(given))) {
    return usage(
      '--database-url holds a password, which every user of this machine can read while the server runs.',
      `Set PGPASSWORD, write a line into ~/.pgpass, or put the whole URL into ${databaseUrlVariable}.`,
    )
  }
  return { ok: true, value }
}
