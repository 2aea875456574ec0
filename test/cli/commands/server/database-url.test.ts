import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { cli } from '../../../support/cli/cli.js'
import { closedPort } from '../../../support/closed-port.js'
import { listen } from '../../../support/listen.js'

const errorOf = (stderr: string) =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error
const secret = 'hunter2'

/** A server that asks for a password in plain text, and repeats it in each field of its refusal. */
async function repeatingPostgres(spell = (password: string) => password, state = (_password: string) => '28P01') {
  const received: string[] = []
  const respond = (socket: Socket) => (bytes: Buffer) => {
    if (bytes.length === 8) return socket.write('N')
    if (bytes[0] !== 'p'.charCodeAt(0)) return socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
    const password = bytes.subarray(5, -1).toString()
    received.push(password)
    const spelt = spell(password)
    const fields = ['SFATAL', `C${state(password)}`, `MIt is ${spelt}, wrong`, `D${spelt}`, `H${spelt}`, '']
    const body = Buffer.from(fields.map((it) => `${it}\0`).join(''))
    const head = Buffer.from([0x45, 0, 0, 0, 0])
    head.writeInt32BE(4 + body.length, 1)
    return socket.end(Buffer.concat([head, body]))
  }
  const port = await listen(createServer((socket) => socket.on('data', respond(socket))))
  return { port, received }
}

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

  it('--database-url with an unescaped @ in a parameter exits 2 and shows nothing of the URL', async () => {
    const url = `postgres://u@h.invalid/db?schema=public&password=s3@${secret}`
    for (const command of ['start --dry-run', 'migrate']) {
      const { exit, stdout, stderr } = await cli(`server ${command} --database-url ${url} --json`)
      expect([exit, stdout, errorOf(stderr).code]).toEqual([2, '', 'USAGE'])
      expect(stderr).not.toMatch(/hunter2|h\.invalid|s3/)
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

  it('server start exits 2 if --database-url is combined with --memory', async () => {
    const { exit, stderr } = await cli('server start --database-url postgres://db/shop --memory --json')
    expect(exit).toBe(2)
    expect(errorOf(stderr).message).toContain('--memory')
  })

  it('server start and migrate exit 1 for an unreachable database and hide its password', async () => {
    const url = `postgres://ann:${secret}@127.0.0.1:${await closedPort()}/shop`
    for (const command of ['server start --port 0', 'server migrate', 'server migrate --dry-run']) {
      const { exit, stderr } = await cli(`${command} --json`, { env: { VOUCHERCTL_DATABASE_URL: url } })
      expect(exit).toBe(1)
      expect(errorOf(stderr)).toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        message: expect.stringContaining('postgres://127.0.0.1:'),
      })
      expect(stderr).not.toContain(secret)
    }
  })

  it.each(['20/24', 'a?b=c', 'a#b', 'a@b', 'a:b', 'a b', 'a%2Fb', 'a'])(
    'the password %s reaches PostgreSQL, and no message shows it when PostgreSQL repeats it',
    async (password) => {
      const { port, received } = await repeatingPostgres()
      const url = `postgres://an/n:${password}${secret}@127.0.0.1:${port}/shop`
      for (const command of ['server migrate', 'server export --out x', 'doctor --debug']) {
        const { exit, stdout, stderr } = await cli(command, { env: { VOUCHERCTL_DATABASE_URL: url } })
        expect([command, exit]).toEqual([command, 1])
        expect(stdout + stderr).toContain(`postgres://127.0.0.1:${port}/shop cannot be used (28P01: [hidden`)
        expect(stdout + stderr).not.toContain(secret)
      }
      expect(received[0]).toBe(decodeURIComponent(password) + secret)
    },
  )

  it.each<[what: string, password: string, spell: (password: string) => string]>([
    ['with doubled "', 'hun"ter2secret', (it) => it.replaceAll('"', '""')],
    ["with doubled '", "h'u'n't'e'r'2's", (it) => it.replaceAll("'", "''")],
    ['with escaped quotes', `h"u'n"t'e"r`, (it) => it.replace(/["']/g, '\\$&')],
    ['with doubled quotes, if it is short', `h"u'n`, (it) => it.replace(/["']/g, '$&$&')],
    ['in capitals', 'hunter2secret', (it) => it.toUpperCase()],
    ['without its end', 'hunter2secret', (it) => it.slice(0, -4)],
    ['without its start', 'hunter2secret', (it) => it.slice(4)],
    ['in its middle', 'hunter2secret', (it) => it.slice(3, 9)],
  ])('a password that PostgreSQL repeats %s is not shown', async (_what, password, spell) => {
    const { port } = await repeatingPostgres(spell)
    const env = { VOUCHERCTL_DATABASE_URL: `postgres://ann:${encodeURIComponent(password)}@127.0.0.1:${port}/shop` }
    expect((await cli('server migrate', { env })).stderr).toContain('(28P01: [hidden: it contains the password])')
  })

  it.each([
    ['SECRETX9', (it: string) => it.slice(2, 7)],
    ['secretx9', (it: string) => it.slice(0, 5).toUpperCase()],
    ['A1B2C', (it: string) => it],
  ])('a part of the password %s that PostgreSQL sends as SQLSTATE is not shown', async (password, state) => {
    const { port } = await repeatingPostgres(() => '', state)
    const env = { VOUCHERCTL_DATABASE_URL: `postgres://ann:${password}@127.0.0.1:${port}/shop` }
    const { stderr } = await cli('server migrate --json', { env })
    expect(stderr).toContain('(?: It is , wrong)')
    expect(stderr).not.toContain(state(password))
  })

  it('a text of PostgreSQL with a short password is hidden as a whole', async () => {
    const { port } = await repeatingPostgres()
    const env = { VOUCHERCTL_DATABASE_URL: `postgres://ann:e@127.0.0.1:${port}/shop` }
    expect((await cli('server migrate', { env })).stderr).toContain('(28P01: [hidden: it contains the password])')
  })

  it.each([
    `postgres://ann:5%${secret}@db/shop`,
    `postgres://ann:${secret}@a,b/shop`,
    `postgres://ann:${secret}`,
    `postgres://ann:1?user=${secret}@db/shop`,
    `postgres://db/shop?password=a@${secret}`,
    `postgres://u@h.invalid/db?keepalives=0&password=s3@${secret}`,
    `postgres://u@h.invalid/db?schema=public&password=s3@${secret}`,
    `postgres://u@h.invalid:5432/db?p%61ssword=s3@${secret}`,
    `postgres://u:1@[::1]:5432/db?schema=public&code=s3@${secret}`,
    `postgres://h.invalid:5432/db?schema=public&Password=s3@${secret}`,
    `postgres://h.invalid/db?code=s3@${secret}`,
    `"postgres://ann:${secret}@db/shop"`,
  ])('VOUCHERCTL_DATABASE_URL=%s is refused with its name and how to escape, and is not shown', async (url) => {
    for (const command of ['server start', 'server migrate', 'server export --out x', 'server import x', 'doctor']) {
      const { exit, stdout, stderr } = await cli(command, { env: { VOUCHERCTL_DATABASE_URL: url } })
      expect([command, exit]).toEqual([command, command === 'doctor' ? 1 : 2])
      expect(stdout + stderr).toMatch(/VOUCHERCTL_DATABASE_URL cannot be read.*%25/s)
      expect(stdout + stderr).not.toContain(secret)
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
