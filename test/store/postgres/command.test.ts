import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { emptyDatabase, takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'

/** Tests messages about a real database; test/cli/commands/server/database-url.test.ts tests the flags. */

const errorOf = (stderr: string) => (JSON.parse(stderr) as { error: { code: string; message: string } }).error

const at = (url: string) => ({ env: { VOUCHERCTL_DATABASE_URL: url } })
const tablesOf = (url: string) =>
  query<{ name: string }>(url, "select tablename as name from pg_tables where schemaname = 'public' order by 1")

describe('doctor --database-url', () => {
  const databaseCheck = async (url: string) => {
    const { stdout } = await cli('doctor --json', at(url))
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
    return checks.find(({ name }) => name === 'database')
  }

  it('doctor warns of a database without fsync, synchronous commits and a standby', async () => {
    const check = await databaseCheck(inject('postgresUrl'))
    expect(check?.status).toBe('warn')
    for (const it of ['fsync is off', 'synchronous_commit is off', 'no standby']) expect(check?.message).toContain(it)
    expect(check?.message).not.toContain('password')
  })

  it('doctor fails for a database that it cannot reach', async () => {
    const check = await databaseCheck('postgres://u@127.0.0.1:1/d')
    expect(check).toMatchObject({ status: 'fail', message: expect.stringContaining('cannot be used') })
  })
})

describe('server migrate', () => {
  it('server migrate --dry-run prints equivalent SQL and changes nothing', async () => {
    const url = await emptyDatabase()
    const dry = await cli('server migrate --dry-run', at(url))
    expect([dry.exit, dry.stderr]).toEqual([0, ''])
    expect(await tablesOf(url)).toEqual([])
    expect(dry.stdout).not.toContain('a%20password')

    const real = await emptyDatabase()
    const applied = await cli('server migrate --json', at(real))
    expect([applied.exit, JSON.parse(applied.stdout)]).toEqual([0, expect.objectContaining({ from: 0, applied: true })])
    await query(url, dry.stdout)
    expect(await tablesOf(url)).toEqual(await tablesOf(real))
    expect((await tablesOf(url)).map((it) => it.name)).toContain('vouchers')
  })

  it('server migrate reports an up-to-date schema and changes nothing', async () => {
    const url = await emptyDatabase()
    await cli('server migrate', at(url))
    const noted = () => query(url, 'select xmin, version from voucherctl_schema')
    const before = await noted()
    for (const command of ['server migrate', 'server migrate --dry-run']) {
      const { exit, stdout } = await cli(command, at(url))
      expect([exit, stdout]).toEqual([0, expect.stringMatching(/has the schema of this version \(\d+\) already/)])
    }
    expect(await noted()).toEqual(before)
  })

  it('server migrate exits 1 with advice for a newer schema, foreign tables or a wrong password', async () => {
    const newer = await emptyDatabase()
    await cli('server migrate', at(newer))
    await query(newer, 'update voucherctl_schema set version = 99')
    const foreign = await emptyDatabase()
    await query(foreign, 'create table invoices (id integer)')
    for (const [url, code, says] of [
      [newer, 'STORE_UNUSABLE', /newer voucherctl \(schema 99/],
      [foreign, 'STORE_UNUSABLE', /tables of another program, such as invoices.*search_path/],
      [inject('postgresUrl').replace('a%20password', 'wrong-secret'), 'STORE_UNUSABLE', /PGPASSWORD/],
    ] as const) {
      for (const command of ['server migrate --json', 'server migrate --dry-run --json']) {
        const { exit, stdout, stderr } = await cli(command, at(url))
        expect([exit, stdout]).toEqual([1, ''])
        expect(errorOf(stderr)).toMatchObject({ code, message: expect.stringMatching(says) })
        expect(stderr).not.toMatch(/wrong-secret|a%20password|a password/)
      }
    }
    expect((await tablesOf(foreign)).map((it) => it.name)).toEqual(['invoices'])
  })
})

describe('server start on a database that another server uses', () => {
  const start = (url: string, data: string, more = '') =>
    cli(`server start --port 0 --log-level silent --data ${data} --json ${more}`, {
      ...at(url),
      signal: AbortSignal.abort(),
    })
  const withDatabase = async (use: (url: string) => Promise<void>) => {
    const database = takeDatabase()
    try {
      await use(await database.url)
    } finally {
      database.release()
    }
  }

  it('server start on a database in use succeeds with the key file of the other server', () =>
    withDatabase(async (url) => {
      const [first, second] = [temporaryDir(), temporaryDir()]
      expect((await start(url, first)).stderr).toBe('')
      const { exit, stdout } = await start(url, second, `--key-file ${join(first, 'keys.json')}`)
      expect([exit, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ store: 'postgres' })])
    }))

  it('server start on a database in use fails and names the missing key file or credential key', () =>
    withDatabase(async (url) => {
      const [first, second, third] = [temporaryDir(), temporaryDir(), temporaryDir()]
      await start(url, first)
      const without = await start(url, second)
      expect([without.exit, without.stdout]).toEqual([1, ''])
      expect(errorOf(without.stderr)).toMatchObject({
        code: 'KEYS_UNUSABLE',
        message: expect.stringMatching(/keys\.json does not exist\. .*--key-file/),
      })
      // Make the key file of a server with another database.
      const otherDatabase = takeDatabase()
      await start(await otherDatabase.url, third)
      otherDatabase.release()
      const other = await start(url, second, `--key-file ${join(third, 'keys.json')}`)
      expect([other.exit, other.stdout]).toEqual([1, ''])
      expect(errorOf(other.stderr)).toMatchObject({
        code: 'KEYS_UNUSABLE',
        message: expect.stringMatching(/made with credential key key_\w+, which the key file lacks.*--key-file/),
      })
    }))

  it('server start on a database in use with another key of the same id is refused', () =>
    withDatabase(async (url) => {
      const [first, second] = [temporaryDir(), temporaryDir()]
      await start(url, first)
      const file = join(second, 'keys.json')
      const keys = JSON.parse(readFileSync(join(first, 'keys.json'), 'utf8'))
      keys.credential_keys[0].index = Buffer.alloc(32, 7).toString('base64url')
      writeFileSync(file, JSON.stringify(keys))
      chmodSync(file, 0o600)
      const { exit, stderr } = await start(url, second, `--key-file ${file}`)
      expect([exit, errorOf(stderr).code]).toEqual([1, 'KEYS_UNUSABLE'])
      expect(stderr).not.toContain(keys.credential_keys[0].derive)
    }))
})
