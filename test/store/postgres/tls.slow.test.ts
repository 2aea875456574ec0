import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { one } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { cli } from '../../support/cli/cli.js'
import { type PostgresServer, startPostgres } from '../../support/postgres/server.js'
import { type Certificate, newAuthority } from '../../support/secure/certificates.js'

/** Issues the certificates of a separate PostgreSQL server with TLS. */
const authority = newAuthority('voucherctl test authority')
const stranger = newAuthority('another authority')
const folder = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
const [caFile, strangerFile] = [join(folder, 'ca.pem'), join(folder, 'stranger.pem')]
let postgres: PostgresServer
let admin: Client

beforeAll(async () => {
  writeFileSync(caFile, authority.cert)
  writeFileSync(strangerFile, stranger.cert)
  postgres = await startPostgres()
  admin = new Client({ connectionString: postgres.url })
  await admin.connect()
  await present(authority.issue(['localhost', '127.0.0.1']))
  await admin.query('alter system set ssl = on')
  await reload()
})
afterAll(async () => {
  await admin.end()
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Makes PostgreSQL use the certificate: writes it to the data folder, readable only by the user. */
async function present({ cert, key }: Certificate): Promise<void> {
  const { data_directory: data } = (await admin.query('show data_directory')).rows[0] as { data_directory: string }
  const { uid, gid } = statSync(data)
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 })
    chownSync(join(data, name), uid, gid)
  }
  await reload()
}

/** Makes PostgreSQL reload its settings and waits until new connections use them. */
async function reload(): Promise<void> {
  const loaded = async () =>
    ((await admin.query('select pg_conf_load_time()::text as at')).rows[0] as { at: string }).at
  const before = await loaded()
  await admin.query('select pg_reload_conf()')
  while ((await loaded()) === before);
}

const urlOf = (host: string, query: string) => `${postgres.url.replace('127.0.0.1', host)}?${query}`

/** Connects to the URL; returns 1 if the connection is encrypted, otherwise 0. */
async function encryption(url: string) {
  const store = await openPostgresStore({ url, env: { HOME: folder } })
  try {
    const row = await store.read(() => one('select ssl from pg_stat_ssl where pid = pg_backend_pid()'))
    return row?.ssl
  } finally {
    await store.close()
  }
}

const refusal = async (url: string) => {
  const { exit, stdout, stderr } = await cli('server migrate --json', { env: { VOUCHERCTL_DATABASE_URL: url } })
  expect(stdout).toBe('')
  expect(stderr).not.toContain('a%20password')
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
  return { exit, ...error }
}

describe('database with TLS', () => {
  it.each([
    ['', 1],
    ['sslmode=require', 1],
    ['sslmode=disable', 0],
  ])('database URL with the parameters %j uses TLS: %j', async (query, encrypted) => {
    expect(await encryption(urlOf('127.0.0.1', query))).toBe(encrypted)
  })

  it.each(['localhost', '127.0.0.1'])(
    'sslmode=verify-full accepts the host %s if the certificate names it',
    async (host) => {
      expect(await encryption(urlOf(host, `sslmode=verify-full&sslrootcert=${caFile}`))).toBe(1)
    },
  )

  it.each([
    ['verify-full', 'verify-full'],
    ['verify-ca', 'verify-ca'],
    ['require with a root certificate', 'require'],
  ])('sslmode=%s refuses a certificate of another authority and names the sslrootcert setting', async (_name, mode) => {
    const refused = await refusal(urlOf('localhost', `sslmode=${mode}&sslrootcert=${strangerFile}`))
    expect(refused).toMatchObject({ exit: 1, code: 'DATABASE_UNREACHABLE' })
    expect(refused.message).toMatch(/not signed by an authority that is trusted here.*sslrootcert/)
  })

  it('sslmode=verify-full without sslrootcert refuses an authority unknown to the system', async () => {
    const refused = await refusal(urlOf('localhost', 'sslmode=verify-full'))
    expect(refused).toMatchObject({ exit: 1, message: expect.stringMatching(/sslrootcert/) })
  })
})

describe('certificate for another host', () => {
  beforeAll(() => present(authority.issue(['localhost'])))

  it('certificate for another host is refused by sslmode=verify-full and accepted by verify-ca', async () => {
    const root = `sslrootcert=${caFile}`
    expect(await encryption(urlOf('localhost', `sslmode=verify-full&${root}`))).toBe(1)
    expect(await encryption(urlOf('127.0.0.1', `sslmode=verify-ca&${root}`))).toBe(1)
    const refused = await refusal(urlOf('127.0.0.1', `sslmode=verify-full&${root}`))
    expect(refused).toMatchObject({ exit: 1, code: 'DATABASE_UNREACHABLE' })
    expect(refused.message).toMatch(/certificate is of another host/)
  })
})

describe('database without TLS', () => {
  it('database without TLS is refused by sslmode=require and accepted by prefer', async () => {
    await admin.query('alter system set ssl = off')
    await reload()
    const refused = await refusal(urlOf('127.0.0.1', 'sslmode=require'))
    expect(refused).toMatchObject({ exit: 1, code: 'DATABASE_UNREACHABLE' })
    expect(refused.message).toMatch(/does not support SSL connections.*the TLS settings/)
    expect(await encryption(urlOf('127.0.0.1', 'sslmode=prefer'))).toBe(0)
  })
})
