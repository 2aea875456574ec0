import { DATABASE_URL_ESCAPES, DATABASE_URL_FORM, parseDatabaseUrl } from '../../../values/database-url.js'
import { failureOfServer } from '../../failures/codes.js'
import { type Failure, usage } from '../../failures/failure.js'
import { text } from '../../flags/flags.js'
import type { Host } from '../../host/host.js'
import { withoutLineEnd } from '../../host/secrets.js'

export const databaseUrlVariable = 'VOUCHERCTL_DATABASE_URL'

export const databaseUrlFlag = {
  'database-url': text('URL', 'PostgreSQL, such as postgres://user@host/db'),
}

/**
 * Returns the PostgreSQL URL from the flag or the environment; undefined for SQLite. It refuses a password in the flag,
 * because every user of the machine can read the arguments of a running process.
 */
export function readDatabaseUrl(
  { env }: Pick<Host, 'env'>,
  given: string | undefined,
): { readonly ok: true; readonly value: string | undefined } | Failure {
  const value = given ?? (withoutLineEnd(env[databaseUrlVariable]) || undefined)
  if (value === undefined) return { ok: true, value }
  const parsed = parseDatabaseUrl(value)
  if (parsed === undefined) {
    const source = given === undefined ? databaseUrlVariable : '--database-url'
    return usage(`${source} cannot be read: it must be ${DATABASE_URL_FORM}.`, DATABASE_URL_ESCAPES)
  }
  if (given !== undefined && (parsed.has('password') || parsed.has('sslpassword'))) {
    return usage(
      '--database-url holds a password, which every user of this machine can read while the server runs.',
      `Set PGPASSWORD, write a line into ~/.pgpass, or put the whole URL into ${databaseUrlVariable}.`,
    )
  }
  return { ok: true, value }
}

type Reader = typeof import('../../../server/maintenance/migrate.js').readDatabaseDurability
export type Durability = Awaited<ReturnType<Reader>>

/** Reads the settings that decide whether PostgreSQL may lose acknowledged calls. */
export async function readDurability(url: string): Promise<Durability | Failure> {
  const { readDatabaseDurability } = await import('../../../server/maintenance/migrate.js')
  return readDatabaseDurability(url).catch(failureOfServer)
}
