import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { connectionOf } from '../../../src/store/postgres/settings.js'

const folder = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const none = join(folder, 'no-such-file')
const configOf = async (url: string, env: Record<string, string> = {}) =>
  (await connectionOf({ url, env: { PGPASSFILE: none, PGSSLMODE: 'disable', ...env } })).config

describe('database URL', () => {
  it('database URL sets host, port, database, user and password; messages omit the password', async () => {
    const url = 'postgres://ann:p%40ss@db.example:6000/shop'
    expect(await configOf(url)).toMatchObject({
      host: 'db.example',
      port: 6000,
      database: 'shop',
      user: 'ann',
      password: 'p@ss',
    })
    const { name } = await connectionOf({ url, env: { PGSSLMODE: 'disable' } })
    expect(name).toBe('postgres://db.example:6000/shop')
  })

  it('PG environment variables set the connection settings that the database URL omits', async () => {
    const env = { PGHOST: 'h', PGPORT: '7', PGUSER: 'u', PGDATABASE: 'd', PGPASSWORD: 'p', PGAPPNAME: 'shop' }
    const whole = { host: 'h', port: 7, user: 'u', database: 'd', password: 'p', application_name: 'shop' }
    expect(await configOf('postgres://', env)).toMatchObject(whole)
    expect(await configOf('postgresql://ann@/other', env)).toMatchObject({ ...whole, user: 'ann', database: 'other' })
    expect(await configOf('postgres://x:1/', env)).toMatchObject({ ...whole, host: 'x', port: 1 })
  })

  it('database URL may name a socket folder, or host and port as parameters', async () => {
    expect(await configOf('postgres:///shop?host=/run/pg&port=6000&user=ann')).toMatchObject({
      host: '/run/pg',
      port: 6000,
      user: 'ann',
      database: 'shop',
      ssl: false,
    })
    expect(await configOf('postgres://%2Frun%2Fpg/shop')).toMatchObject({ host: '/run/pg', database: 'shop' })
    expect(await configOf('postgres://[::1]:6000/shop')).toMatchObject({ host: '::1', port: 6000 })
  })

  it.each([
    'http://h/d',
    'postgres://ann:secret@a,b:1:2/d',
    'postgres://ann:secret@h/d?x=%zz',
    'postgres://ann:secret@h:123456/d',
    'postgres://ann:1?application_name=secret@h/d',
    'postgres:h',
    '',
  ])('refusal of the database URL %j does not quote the URL', async (url) => {
    const refused = await configOf(url).then(String, (error: Error) => error.message)
    expect(refused).toMatch(/cannot be read/)
    expect(refused).not.toMatch(/secret/)
  })

  it.each([
    ['postgres://a/b:1/2@h/d', 'a/b', '1/2', 'h', 'd'],
    ['postgres://a:1?b=2#3@h/d?sslmode=disable', 'a', '1?b=2#3', 'h', 'd'],
    ['postgres://a:1@2:3@h/d', 'a', '1@2:3', 'h', 'd'],
    ['postgres://a:b c+d@h/d', 'a', 'b c+d', 'h', 'd'],
    ['postgres://a:1@2:x?b=3&c=4@h/d', 'a', '1@2:x?b=3&c=4', 'h', 'd'],
    ['postgres://a:%2520@h/d', 'a', '%20', 'h', 'd'],
    ['postgres://a@h/d?password=b+c%26=', 'a', 'b+c&=', 'h', 'd'],
    ['postgres://:1/2@/d?host=/run/pg&user=a', 'a', '1/2', '/run/pg', 'd'],
  ])('database URL %s is not split within its password', async (url, user, password, host, database) => {
    expect(await configOf(url)).toMatchObject({ user, password, host, database })
  })

  it('database URL and PGPORT are refused with a port or hosts that no connection can use', async () => {
    for (const [url, env] of [
      ['postgres://h:70000/d', {}],
      ['postgres://h/d?port=x', {}],
      ['postgres://h/d', { PGPORT: 'x' }],
      ['postgres:///d?host=a,b', {}],
    ] as const)
      await expect(configOf(url, env)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  })
})

describe('password file', () => {
  const file = join(folder, 'pgpass')
  const write = (text: string, mode = 0o600) => {
    writeFileSync(file, text)
    chmodSync(file, mode)
  }
  const passwordOf = async (url: string) => {
    const { password } = await configOf(url, { PGPASSFILE: file })
    return typeof password === 'function' ? password() : password
  }

  it('PostgreSQL password file supplies the password of its first matching line', async () => {
    write('# a comment\nother:*:*:*:no\n*:6000:shop:ann:by port\n*:*:*:*:any\n')
    expect(await passwordOf('postgres://ann@h:6000/shop')).toBe('by port')
    expect(await passwordOf('postgres://ann@h:6001/shop')).toBe('any')
  })

  it('PostgreSQL password file may contain escaped colons and backslashes', async () => {
    write('h:*:*:an\\:n:a\\\\b\\:c\n')
    expect(await passwordOf('postgres://an%3An@h/d')).toBe('a\\b:c')
  })

  it('PostgreSQL password file is ignored if others can read it or the URL has a password', async () => {
    write('*:*:*:*:any\n', 0o640)
    expect(await passwordOf('postgres://ann@h/d')).toBe('')
    write('*:*:*:*:any\n')
    expect(await passwordOf('postgres://ann:own@h/d')).toBe('own')
  })
})

describe('sslmode', () => {
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, 'a certificate')
  const sslOf = async (query: string, env: Record<string, string> = {}) =>
    (await configOf(`postgres://h/d?${query}`, { HOME: folder, ...env })).ssl

  it('sslmode has the same meaning as in psql', async () => {
    expect(await sslOf('sslmode=disable')).toBe(false)
    expect(await sslOf('sslmode=require')).toEqual({ rejectUnauthorized: false })
    expect(await sslOf(`sslmode=require&sslrootcert=${ca}`)).toMatchObject({
      rejectUnauthorized: true,
      ca: 'a certificate',
      checkServerIdentity: expect.any(Function),
    })
    const full = await sslOf(`sslmode=verify-full&sslrootcert=${ca}`)
    expect(full).toEqual({ rejectUnauthorized: true, ca: 'a certificate' })
    expect(await sslOf('', { PGSSLMODE: 'verify-full', PGSSLROOTCERT: 'system' })).toEqual({ rejectUnauthorized: true })
  })

  it('sslmode=verify-ca checks the host name too if no root certificate is given', async () => {
    const named = await sslOf(`sslmode=verify-ca&sslrootcert=${ca}`)
    expect(named).toMatchObject({ rejectUnauthorized: true, checkServerIdentity: expect.any(Function) })
    expect(await sslOf('sslmode=verify-ca&sslrootcert=system')).toEqual({ rejectUnauthorized: true })
  })

  it('sslmode=allow never encrypts', async () => {
    expect(await sslOf('sslmode=allow')).toBe(false)
  })

  it('unknown sslmode and an unreadable certificate are refused by name', async () => {
    await expect(sslOf('sslmode=maybe')).rejects.toThrow(/sslmode is one of disable/)
    await expect(sslOf(`sslmode=verify-full&sslrootcert=${none}`)).rejects.toThrow(
      /the file of sslrootcert or PGSSLROOTCERT cannot be read/,
    )
  })
})
