import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { byEncoding } from '../../contract/secrets.js'
import { platform } from '../../files/platform.js'
import { readText } from '../../files/read-file.js'
import { DATABASE_URL_ESCAPES, DATABASE_URL_FORM, parseDatabaseUrl } from '../../values/database-url.js'
import { StoreUnusable } from '../store.js'
import { passwords } from './errors.js'
import type { SessionConfig } from './session.js'

export interface PostgresSettings {
  /** `postgres://user@host:5432/database?sslmode=verify-full`; missing parts come from the environment. */
  readonly url: string
  /**
   * PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGPASSFILE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY,
   * PGOPTIONS, PGAPPNAME.
   */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Schema of `createSchema`, which replaces the configured schema. */
  readonly schema?: string
}

type ParameterLookup = (parameter: string) => string | undefined

/** Returns the connection parameters with the precedence of libpq: URL, environment, defaults. */
export async function connectionOf({
  url,
  env,
  schema,
}: PostgresSettings): Promise<{ config: SessionConfig; name: string }> {
  const parsed = parseDatabaseUrl(url)
  // Do not quote the URL in the message: it may contain a password.
  const malformed = `The database URL cannot be read: it must be ${DATABASE_URL_FORM}. ${DATABASE_URL_ESCAPES}`
  if (parsed === undefined) throw new StoreUnusable('STORE_UNUSABLE', malformed)
  const query: ParameterLookup = (parameter) => parsed.get(parameter)
  const user = query('user') ?? env.PGUSER ?? userInfo().username
  const host = query('host') ?? env.PGHOST ?? 'localhost'
  const port = Number(query('port') ?? env.PGPORT ?? 5432)
  if (host.includes(',') || !(port > 0 && port < 65_536)) {
    throw new StoreUnusable('STORE_UNUSABLE', 'The database needs one host, and a port from 1 to 65535.')
  }
  const database = query('dbname') ?? env.PGDATABASE ?? user
  const password =
    query('password') ??
    env.PGPASSWORD ??
    passwordFromFile(query('passfile') ?? env.PGPASSFILE ?? join(homedir(), '.pgpass'), { host, port, database, user })
  const secrets = [password, query('sslpassword')].flatMap((it) => it || [])
  for (const [form] of byEncoding(secrets)) passwords.add(form)
  const name = `postgres://${host.startsWith('/') ? encodeURIComponent(host) : host}:${port}/${database}`
  const ssl = host.startsWith('/') ? false : await tlsOf(query, env, { host, port }, name)
  const options = query('options') ?? env.PGOPTIONS ?? ''
  if (options.replaceAll(SETTING, '').trim() !== '') {
    throw new StoreUnusable('STORE_UNUSABLE', 'PGOPTIONS, and options in the URL, may hold only -c NAME=VALUE.')
  }
  const settings = Array.from(options.matchAll(SETTING), ([, key = '', value = '']) => {
    return [key.replaceAll('-', '_'), value.replaceAll(/\\(.)/gs, '$1')]
  })
  if (schema !== undefined) settings.push(['search_path', schema])
  return {
    name,
    config: {
      user,
      host,
      port,
      database,
      ssl,
      // Always set: otherwise pg reads a password file by its own rules.
      password: password ?? (() => ''),
      application_name: query('application_name') ?? env.PGAPPNAME ?? 'voucherctl',
      pooler: { keepsSessions: false },
      settings: Object.fromEntries(settings),
    },
  }
}

/** A setting such as `-c search_path=shop` or `--jit=off`; a backslash escapes the next character of the value. */
const SETTING = /(?<!\S)(?:-c\s*|--)([\w.-]+)=((?:\\.|[^\s\\])*)/gs

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/** libpq's sslmode: `require` encrypts without verifying the certificate, unless a root certificate is given. */
async function tlsOf(
  query: ParameterLookup,
  env: PostgresSettings['env'],
  { host, port }: { readonly host: string; readonly port: number },
  name: string,
): Promise<false | ConnectionOptions> {
  const mode = (query('sslmode') ?? env.PGSSLMODE ?? 'prefer') as (typeof MODES)[number]
  if (!MODES.includes(mode)) {
    throw new StoreUnusable('STORE_UNUSABLE', `${name}: sslmode is one of ${MODES.join(', ')}.`)
  }
  if (mode === 'disable' || mode === 'allow') return false
  if (mode === 'prefer' && !(await supportsTls(host, port))) return false
  const file = (parameter: string, variable: string, usual: string) => {
    const named = query(parameter) ?? env[variable]
    const path = named ?? join(homedir(), '.postgresql', usual)
    if (named === 'system' || (named === undefined && statSync(path, { throwIfNoEntry: false }) === undefined)) return
    try {
      return readText(path)
    } catch {
      throw new StoreUnusable('STORE_UNUSABLE', `${name}: the file of ${parameter} or ${variable} cannot be read.`)
    }
  }
  const ca = file('sslrootcert', 'PGSSLROOTCERT', 'root.crt')
  const [cert, key] = [file('sslcert', 'PGSSLCERT', 'postgresql.crt'), file('sslkey', 'PGSSLKEY', 'postgresql.key')]
  const verifies = mode.startsWith('verify') || (mode === 'require' && ca !== undefined)
  return {
    rejectUnauthorized: verifies,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    // Verify the host name too: without a root certificate, verify-ca would accept every public certificate.
    ...(verifies && mode !== 'verify-full' && ca !== undefined ? { checkServerIdentity: () => undefined } : {}),
  }
}

type Place = Readonly<Record<'host' | 'database' | 'user', string>> & { readonly port: number }

/**
 * Returns the password of the first matching line `host:port:database:user:password`; `*` matches all, and a backslash
 * escapes the next character. Like libpq, ignores a file that other users can read.
 */
function passwordFromFile(path: string, { host, port, database, user }: Place): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) return undefined
  if (platform.hasOwners && (found.mode & 0o077) !== 0) return undefined
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user]
  for (const line of readText(path).split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field)
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, '$1'))
    if (fields.length >= 5 && wanted.every((value, index) => fields[index] === '*' || plain[index] === value)) {
      return plain[4]
    }
  }
  return undefined
}

const TLS_RESPONSE_MS_MAX = 3_000

/** PostgreSQL's SSLRequest message: eight bytes, to which the server responds with one byte. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Resolves to true if PostgreSQL supports TLS; to false if it is unreachable, which the connection will report. */
function supportsTls(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TLS_RESPONSE_MS_MAX }, () => socket.write(SSL_REQUEST))
    const end = (speaksTls: boolean) => {
      socket.destroy()
      resolve(speaksTls)
    }
    socket.once('data', (bytes) => end(bytes[0] === 'S'.charCodeAt(0)))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
    socket.once('end', () => end(false))
  })
}
