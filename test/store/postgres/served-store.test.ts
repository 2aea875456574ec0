import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { startServer } from '../../../src/server/listen.js'
import type { RunningServer } from '../../../src/server/options.js'
import { DAY_MS } from '../../../src/values/duration.js'
import { cli, type Given, temporaryDir } from '../../support/cli/cli.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { until } from '../../support/server/deliveries.js'

const errorOf = (stderr: string) => (JSON.parse(stderr) as { error: Record<'code' | 'message' | 'hint', string> }).error

let home: string
let data: string
let url: string
/** Name of the database in messages. */
let shown: string
beforeEach(async () => {
  home = temporaryDir()
  data = join(home, 'data')
  url = await emptyDatabase()
  const { host, pathname } = new URL(url)
  shown = `postgres://${host}${pathname}`
})

const run = (args: string, given: Given = {}) => cli(`${args} --json`, { home, ...given })
const onDatabase = () => ({ env: { VOUCHERCTL_DATABASE_URL: url } })
/** Starts a server and stops it when it is ready. */
const start = (args = '', given: Given = {}) =>
  run(`server start --port 0 --log-level silent --data ${data} ${args}`, { signal: AbortSignal.abort(), ...given })

describe('a data folder that served PostgreSQL', () => {
  beforeEach(async () => {
    const { exit, stdout } = await start('', onDatabase())
    expect([exit, JSON.parse(stdout)]).toMatchObject([0, { store: 'postgres', database: shown }])
  })

  it('remembers the database without user and password', { tags: 'data-folder/1' }, () => {
    expect(JSON.parse(readFileSync(join(data, 'store.json'), 'utf8'))).toEqual({ engine: 'postgres', database: shown })
  })

  it('folder refuses start, export and import without the URL of its database', { tags: 'data-folder/2' }, async () => {
    const files = readdirSync(data)
    const backup = join(home, 'backup.ndjson')
    expect((await run(`server export --out ${backup} --data ${data}`, onDatabase())).exit).toBe(0)
    for (const args of ['start --port 0', `export --out ${home}/x`, `import ${backup}`, `import ${backup} --dry-run`]) {
      const { exit, stderr } = await run(`server ${args} --data ${data}`)
      const { code, message, hint } = errorOf(stderr)
      expect([args, exit, code]).toEqual([args, 1, 'STORE_ELSEWHERE'])
      expect(message).toContain(`export VOUCHERCTL_DATABASE_URL=${shown}`)
      expect(hint).toContain(`\`voucherctl server start --new-store --data ${data}\``)
      expect(stderr).not.toContain('password')
    }
    expect(readdirSync(data)).toEqual(files)
  })

  it.each([
    ['unreadable', () => mkdirSync(join(data, 'store.json'))],
    ['damaged', () => writeFileSync(join(data, 'store.json'), '{')],
    ['missing, as in versions that did not write it', () => {}],
  ])('gets no SQLite store without --new-store if its store.json is %s', async (_, damage) => {
    rmSync(join(data, 'store.json'))
    damage()
    const { exit, stderr } = await start()
    expect([exit, errorOf(stderr).code]).toEqual([1, 'STORE_ELSEWHERE'])
    rmSync(join(data, 'store.json'), { recursive: true, force: true })
    expect((await start('--new-store')).exit).toBe(0)
    expect((await start()).exit).toBe(0)
  })

  it('starts again on the database, and leaves it with --new-store', { tags: 'data-folder/2' }, async () => {
    expect((await start('', onDatabase())).exit).toBe(0)
    expect((await start('--new-store')).exit).toBe(0)
    expect([existsSync(join(data, 'voucherctl.db')), existsSync(join(data, 'store.json'))]).toEqual([true, false])
    expect((await start()).exit).toBe(0)
  })

  it('refuses another database that is empty', async () => {
    const other = await emptyDatabase()
    const { exit, stderr } = await start('', { env: { VOUCHERCTL_DATABASE_URL: other } })
    expect([exit, errorOf(stderr)]).toMatchObject([
      1,
      { code: 'STORE_ELSEWHERE', message: expect.stringContaining(`${data} belongs to ${shown}.`) },
    ])
  })
})

describe('a data folder that served SQLite', () => {
  beforeEach(async () => {
    expect((await start()).exit).toBe(0)
  })

  it('refuses an empty database unless --new-store', { tags: 'data-folder/2' }, async () => {
    const { exit, stderr } = await start('', onDatabase())
    expect([exit, errorOf(stderr)]).toMatchObject([
      1,
      {
        code: 'STORE_ELSEWHERE',
        message: expect.stringContaining(`${shown} is empty, but ${data} belongs to SQLite.`),
      },
    ])
    expect((await start()).exit).toBe(0)
    expect((await start('--new-store', onDatabase())).exit).toBe(0)
    expect(errorOf((await start()).stderr).code).toBe('STORE_ELSEWHERE')
  })

  it('moves to a migrated database by export and import, and then belongs to it', async () => {
    const backup = join(home, 'backup.ndjson')
    expect((await run(`server export --out ${backup} --data ${data}`)).exit).toBe(0)
    expect((await run('server migrate', onDatabase())).exit).toBe(0)
    const dry = await run(`server import ${backup} --data ${data} --dry-run`, onDatabase())
    expect([dry.exit, JSON.parse(dry.stdout)]).toMatchObject([
      0,
      { store: null, checks: { target: `${shown}, empty` } },
    ])
    expect((await run(`server import ${backup} --data ${data}`, onDatabase())).exit).toBe(0)
    expect(errorOf((await start()).stderr).code).toBe('STORE_ELSEWHERE')
    expect((await start('', onDatabase())).exit).toBe(0)
    const again = await run(`server import ${backup} --data ${data} --dry-run`, onDatabase())
    expect([again.exit, errorOf(again.stderr).code]).toEqual([6, 'STORE_NOT_EMPTY'])
  })

  it('server import --dry-run fails as the import does if the user may not make tables', async () => {
    const backup = join(home, 'backup.ndjson')
    expect((await run(`server export --out ${backup} --data ${data}`)).exit).toBe(0)
    await query(url, 'drop role if exists reader')
    await query(url, "create role reader login password 'reader'; revoke create on schema public from public")
    onTestFinished(() => query(url, 'drop role reader').then(() => {}))
    const env = { VOUCHERCTL_DATABASE_URL: `postgres://reader:reader@${new URL(url).host}${new URL(url).pathname}` }
    const [dry, real] = [
      await run(`server import ${backup} --data ${data} --dry-run`, { env }),
      await run(`server import ${backup} --data ${data}`, { env }),
    ]
    expect([dry.exit, errorOf(dry.stderr).code]).toEqual([real.exit, errorOf(real.stderr).code])
    expect(real.exit).toBe(1)
  })
})

it('servers of a database have one test clock, as has a later start', { tags: 'test-clock/1' }, async () => {
  const options = { port: 0, logLevel: 'silent', databaseUrl: url, testClock: true } as const
  const [dataDir, other] = [join(home, 'one'), join(home, 'two')] as const
  const operatorOf = ({ baseUrl, operatorKeyFile }: RunningServer) =>
    createClient({ baseUrl, token: readFileSync(operatorKeyFile as string, 'utf8').trim() }).platform
  const nowOf = async (server: RunningServer) => {
    const clock = await operatorOf(server).getClock()
    return clock.ok ? Date.parse(clock.data.now) : 0
  }
  const one = await startServer({ ...options, dataDir })
  onTestFinished(() => one.close())
  mkdirSync(other)
  copyFileSync(join(dataDir, 'keys.json'), join(other, 'keys.json'))
  const two = await startServer({ ...options, dataDir: other })
  onTestFinished(() => two.close())

  const moves = await Promise.all([one, two, one, two].map((it) => operatorOf(it).advanceClock({ seconds: 86_400 })))
  expect(moves.map((it) => it.ok)).toEqual([true, true, true, true])
  const isAhead = (server: RunningServer) => async () => (await nowOf(server)) - Date.now() > 3.9 * DAY_MS
  await until(isAhead(one))
  await until(isAhead(two))
  expect(Math.abs((await nowOf(one)) - (await nowOf(two)))).toBeLessThan(DAY_MS / 2)

  const three = await startServer({ ...options, dataDir })
  expect(three.testClock).toBe('4 days ahead')
  await three.close()
  await expect(startServer({ ...options, dataDir, testClock: false })).rejects.toThrow(
    expect.objectContaining({ code: 'STORE_CLOCK_MOVED' }),
  )

  expect(await operatorOf(one).reset({ shared: true })).toMatchObject({ ok: true })
  await until(async () => Math.abs((await nowOf(two)) - Date.now()) < DAY_MS / 2)
})
