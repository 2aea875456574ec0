import { describe, expect, it } from 'vitest'
import { cli } from '../../../support/cli/cli.js'
import { closedPort } from '../../../support/closed-port.js'

const errorOf = (stderr: string) =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error
const secret = 'hunter2'

describe('--database-url', () => {
  it.each([
    `postgres://ann:${secret}@db/shop`,
    `postgresql://:${secret}@db/shop`,
    `postgres://db/shop?user=ann&password=${secret}`,
  ])('server start --database-url %s exits 2, because a password belongs in PGPASSWORD', async (url) => {
    for (const command of ['start', 'migrate']) {
      const { exit, stdout, stderr } = await cli(`server ${command} --database-url ${url} --json`)
      expect([exit, stdout]).toEqual([2, ''])
      expect(errorOf(stderr)).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('PGPASSWORD') })
      expect(stderr).not.toContain(secret)
    }
  })

  it('server start exits 2 for a MySQL URL from the flag and from the environment', async () => {
    const byFlag = await cli('server start --database-url mysql://db/shop --json')
    const byVariable = await cli('server start --json', {
      env: { VOUCHERCTL_DATABASE_URL: `mysql://ann:${secret}@db` },
    })
    expect([byFlag.exit, byVariable.exit]).toEqual([2, 2])
    expect(errorOf(byFlag.stderr).message).toContain('--database-url')
    expect(errorOf(byVariable.stderr).message).toContain('VOUCHERCTL_DATABASE_URL')
    expect(byVariable.stderr).not.toContain(secret)
  })

  it.each(['--memory', '--test-clock'])('server start exits 2 if --database-url is combined with %s', async (flag) => {
    const { exit, stderr } = await cli(`server start --database-url postgres://db/shop ${flag} --json`)
    expect(exit).toBe(2)
    expect(errorOf(stderr).message).toContain(flag)
  })

  it('server start and migrate exit 1 for an unreachable database and hide its password', async () => {
    const url = `postgres://ann:${secret}@127.0.0.1:${await closedPort()}/shop`
    for (const command of ['server start --port 0', 'server migrate', 'server migrate --dry-run']) {
      const { exit, stderr } = await cli(`${command} --json`, { env: { VOUCHERCTL_DATABASE_URL: url } })
      expect(exit).toBe(1)
      expect(errorOf(stderr)).toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        message: expect.stringContaining('postgres://ann@127.0.0.1:'),
      })
      expect(stderr).not.toContain(secret)
    }
  })

  it('server start --database-url --dry-run does not connect to the database', async () => {
    const { exit, stdout } = await cli('server start --database-url postgres://nobody@nowhere.invalid/shop --dry-run')
    expect(exit).toBe(0)
    expect(stdout).toContain('PostgreSQL')
  })
})

it('server migrate without a database URL exits 2 and says that SQLite needs none', async () => {
  const { exit, stderr } = await cli('server migrate --json')
  expect(exit).toBe(2)
  expect(errorOf(stderr)).toMatchObject({ code: 'USAGE', message: expect.stringContaining('SQLite') })
})
