import type { Client } from 'pg'
import type { Migration } from '../migrations/index.js'
import { StoreUnusable } from '../store.js'
import { DatabaseFailure, withoutPasswords } from './errors.js'
import { migrations } from './migrations.js'
import { PrimaryGuard } from './primary.js'
import { Session, type SessionConfig } from './session.js'

/** Lock id ("vchr" twice) that serialises processes that migrate the schema, save or restore a snapshot, or import. */
const LOCK_ID = BigInt('0x7663687276636872')
export const LOCK_MIGRATIONS = `select pg_advisory_xact_lock(${LOCK_ID})`
/** SQL of the same lock, held until the connection ends. */
export const HOLD_MIGRATIONS = `select pg_advisory_lock(${LOCK_ID})`
/** Maximum wait in ms of a starting server for another process that migrates the schema. */
const LOCK_MS_MAX = 120_000
const CONNECT_MS_MAX = 5_000
const LOOK_INTERVAL_MS = 5_000

/** The steps of a finished migration, or of a dry run. */
interface MigrationRun {
  /** Schema version before the migration. */
  readonly from: number
  readonly to: number
  readonly steps: readonly Migration[]
}

type Migrations = MigrationRun['steps']

/** Step that records the schema version. A dry run prints the step too, so that psql records the version. */
export const versionStep = (version: number) => ({
  name: 'version',
  sql: `create table if not exists voucherctl_schema (version integer not null);
delete from voucherctl_schema;
insert into voucherctl_schema (version) values (${version});`,
})

/** Maximum attempts of a migration that deadlocks with running servers. */
const RUNS_MAX = 5

/**
 * Migrates the schema in one transaction under a lock, so that only the first of several starting processes migrates.
 * @param name name of the database in messages, without a password
 * @param dryRun true returns the steps without changing the database
 * @param known all migrations; tests pass fewer or more
 * @throws StoreUnusable
 */
export async function migratePostgres(
  config: SessionConfig,
  name: string,
  dryRun = false,
  known: Migrations = migrations,
  guard = new PrimaryGuard(),
): Promise<MigrationRun> {
  for (let run = 1; ; run++) {
    try {
      return await migrateOnce(config, name, dryRun, known, guard)
    } catch (error) {
      if (new DatabaseFailure(error).problem !== 'conflict' || run === RUNS_MAX) throw unusable(error, name)
    }
  }
}

async function migrateOnce(
  config: SessionConfig,
  name: string,
  dryRun: boolean,
  known: Migrations,
  guard: PrimaryGuard,
): Promise<MigrationRun> {
  const client = new Session({ ...config, connectionTimeoutMillis: CONNECT_MS_MAX, lock_timeout: LOCK_MS_MAX })
  // The commit would wait forever at a former primary that lost its standby.
  const looks = setInterval(() => guard.look(config), LOOK_INTERVAL_MS)
  try {
    await client.connect()
    if (!dryRun) await guard.admit(client, (sql) => client.query(sql))
    await client.query('begin')
    if (!dryRun) await client.query(LOCK_MIGRATIONS)
    const from = await versionOf(client, name, known.length)
    const steps = from === known.length ? [] : [...known.slice(from), versionStep(known.length)]
    if (!dryRun) for (const { sql } of steps) await client.query(sql)
    await client.query(dryRun ? 'rollback' : 'commit')
    return { from, to: known.length, steps }
  } finally {
    clearInterval(looks)
    await client.end().catch(() => {})
  }
}

export async function versionOf(client: Client, name: string, known = migrations.length): Promise<number> {
  const found = await client.query<{ relname: string }>(
    `select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm')
     order by relname limit 1000`,
  )
  const tables = found.rows.map(({ relname }) => relname)
  if (!tables.includes('voucherctl_schema')) {
    if (tables.length === 0) return 0
    throw new StoreUnusable(
      'STORE_UNUSABLE',
      `${name} has tables of another program, such as ${withoutPasswords(String(tables[0]))}. Make a database for voucherctl alone, or choose an empty schema with PGOPTIONS='-c search_path=NAME'.`,
    )
  }
  const version =
    (await client.query<{ version: number }>('select version from voucherctl_schema')).rows[0]?.version ?? 0
  if (version > known) {
    throw new StoreUnusable(
      'STORE_UNUSABLE',
      `${name} was written by a newer voucherctl (schema ${version}, this one knows ${known}). Use that version, or another database.`,
    )
  }
  return version
}

/** OpenSSL's codes for a certificate chain that ends in no trusted root. */
const UNTRUSTED = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]
const UNTRUSTED_HINT =
  'Its certificate is not signed by an authority that is trusted here: name the right one with sslrootcert=FILE or PGSSLROOTCERT.'

/** Converts a database error to a StoreUnusable with advice for the user. */
export function unusable(error: unknown, name: string): StoreUnusable {
  if (error instanceof StoreUnusable) return error
  const { state, message } = error instanceof DatabaseFailure ? error : new DatabaseFailure(error)
  const how: Readonly<Record<string, string>> = {
    ENOTFOUND: 'Its host is not known here: check the name.',
    ECONNREFUSED: 'Nothing listens there: check host and port, and that PostgreSQL runs.',
    ERR_TLS_CERT_ALTNAME_INVALID:
      'Its certificate is of another host: connect to a name that it holds, or ask for no more than sslmode=verify-ca.',
    ...Object.fromEntries(UNTRUSTED.map((code) => [code, UNTRUSTED_HINT])),
    CERT_HAS_EXPIRED: 'Its certificate has expired: renew it.',
    '28P01': 'The password is wrong: set PGPASSWORD, or a line of ~/.pgpass.',
    '28000': 'The server does not let this user in: see pg_hba.conf.',
    '3D000': 'There is no such database: createdb makes one.',
    '42501': 'The user may not make tables there: grant create on the schema.',
    '25006': 'Connect to the current primary.',
    '08P01': 'A pooler or another proxy refuses it: read its log, and check database, user and limits there.',
    ...Object.fromEntries(['22023', '42704', '55P02'].map((it) => [it, 'Correct PGOPTIONS, or options in the URL.'])),
    '3F000': 'No schema of search_path exists: create one, or correct PGOPTIONS.',
    '53300': 'All its connections are in use: raise the limit, or end others.',
    '57P03': 'It starts or stops at the moment: try again.',
    NO_SESSION: 'A pooler has no connection left: raise default_pool_size of pgbouncer. Or PostgreSQL hangs.',
    '55P03': 'Another process holds the lock for migrations: wait for it, or end it.',
  }
  const code = state !== null && /^(22|28|3D|3F|42|55)/.test(state) ? 'STORE_UNUSABLE' : 'DATABASE_UNREACHABLE'
  const hint = how[state ?? ''] ?? 'Check the address, the TLS settings and the password.'
  return new StoreUnusable(code, `${name} cannot be used (${message}). ${hint}`)
}
