import { describe, expect, it } from 'vitest'
import { cli } from '../../../support/cli.js'
import { closedPort } from '../../../support/listen.js'

const errorOf = (stderr: string) =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error
const secret = 'hunter2'

describe('--database-url', () => {
  it.each([
    `postgres://ann:${secret}@db/shop`,
    `postgresql://:${secret}@db/shop`,
    `postgres://db/shop?user=ann&password=${secret}`,
  ])('%s: a password on the command line is refused, and said where it belongs', async (url) => {
    for (const command of ['start', 'migrate']) {
      const { exit, stdout, stderr } = await cli(`server ${command} --database-url ${url} --json`)
      expect([exit, stdout]).toEqual([2, ''])
      expect(errorOf(stderr)).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('PGPASSWORD') })
      expect(stderr).not.toContain(secret)
    }
  })

  it('of something else than PostgreSQL is refused, by the flag or by the variable', async () => {
    const byFlag = await cli('server start --database-url mysql://db/shop --json')
    const byVariable = await cli('server start --json', {
      env: { VOUCHERCTL_DATABASE_URL: `mysql://ann:${secret}@db` },
    })
    expect([byFlag.exit, byVariable.exit]).toEqual([2, 2])
    expect(errorOf(byFlag.stderr).message).toContain('--database-url')
    expect(errorOf(byVariable.stderr).message).toContain('VOUCHERCTL_DATABASE_URL')
    expect(byVariable.stderr).not.toContain(secret)
  })

  it.each(['--memory', '--test-clock'])('goes without %s', async (flag) => {
    const { exit, stderr } = await cli(`server start --database-url postgres://db/shop ${flag} --json`)
    expect(exit).toBe(2)
    expect(errorOf(stderr).message).toContain(flag)
  })

  it('of a database that is not there: the message names it without its password', async () => {
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

  it('is shown by a dry run of the start, which reaches for nothing', async () => {
    const { exit, stdout } = await cli('server start --database-url postgres://nobody@nowhere.invalid/shop --dry-run')
    expect(exit).toBe(0)
    expect(stdout).toContain('PostgreSQL')
  })
})

it('server migrate without a database says that SQLite needs none', async () => {
  const { exit, stderr } = await cli('server migrate --json')
  expect(exit).toBe(2)
  expect(errorOf(stderr)).toMatchObject({ code: 'USAGE', message: expect.stringContaining('SQLite') })
})
