import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { one } from '../../../src/store/operation.js'
import { Session } from '../../../src/store/postgres/session.js'
import { connectionOf } from '../../../src/store/postgres/settings.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { built, type Finished } from '../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { listen } from '../../support/listen.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { startPgBouncer } from '../../support/postgres/pgbouncer.js'
import { query } from '../../support/postgres/query.js'
import { newChat, pollOf, say } from '../../support/server/chats.js'
import { startServerChild } from '../../support/server/child.js'
import { until } from '../../support/server/deliveries.js'
import { newTenant, tenantAt } from '../../support/server/tenant.js'
import { findProgram, noProgram } from '../../support/system-programs.js'

beforeEach(({ skip }) => skip(findProgram('pgbouncer') === undefined, noProgram('pgbouncer')))

/** An empty database, and pgbouncer in front of it with the configuration of the guide. */
async function pooled(settings: Readonly<Record<string, string | number>> = {}) {
  const direct = await emptyDatabase()
  const bouncer = await startPgBouncer(inject('postgresUrl'), settings)
  onTestFinished(() => bouncer.remove())
  return { bouncer, direct, url: bouncer.urlOf(new URL(direct).pathname.slice(1)) }
}

/** Makes the pooler open this number of sessions, which it then lends. */
async function openSessions(direct: string, url: string, count: number): Promise<void> {
  const holder = await heldLock(direct, 1)
  const waiting = Array.from({ length: count }, () => query(url, 'select pg_advisory_xact_lock(1)'))
  await until(async () => (await waitingFor(direct, 1)).length === count)
  await holder.end()
  await Promise.all(waiting)
}

/** The statements of the database that wait for this advisory lock. */
const waitingFor = (direct: string, id: number) =>
  query(
    direct,
    `select 1 from pg_locks join pg_database d on d.oid = database and datname = current_database()
     where locktype = 'advisory' and not granted and objid = ${id}`,
  )

/** A connection whose transaction holds an advisory lock. */
async function heldLock(url: string, id: number): Promise<Client> {
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query(`begin; select pg_advisory_xact_lock(${id})`)
  return holder
}

const errorOf = ({ stderr }: Pick<Finished, 'stderr'>) =>
  (JSON.parse(stderr) as { error: { code: string; message: string } }).error

/** Runs `server start`, which must be refused; a server that starts anyway ends with the test. */
async function start(url: string) {
  const args = ['server', 'start', '--port', '0', '--json']
  const child = built.start(args, temporaryDir(), { VOUCHERCTL_DATABASE_URL: url })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
  const [exit] = await once(child, 'close')
  return { exit, stdout: await stdout, stderr: await stderr }
}

/** The time limits of a session in ms. */
const LIMITS = `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
  current_setting('idle_in_transaction_session_timeout') as idle, current_setting('search_path') as path`

describe('pooler in session mode', () => {
  it('two servers share calls, deliveries, notices and locks, also after a kill of pgbouncer', async () => {
    const { bouncer, direct, url } = await pooled()
    const folder = temporaryDir()
    let delivered = 0
    const port = await listen(
      createServer((_request, response) => {
        delivered += 1
        response.writeHead(204).end()
      }),
    )
    const child = () => startServerChild(folder, 'silent', true, port, url)
    const [first, second] = [await child(), await child()]
    onTestFinished(async () => void (await Promise.all([first.kill(), second.kill()])))
    const tenant = await newTenant(first)
    const there = tenantAt(second, tenant)
    const voucher = await tenant.issue()
    expect((await there.redeem(voucher)).status).toBe('succeeded')
    // Other tests use other databases of this PostgreSQL.
    const ofThisDatabase = 'database = (select oid from pg_database where datname = current_database())'
    const isKeyLock = "locktype = 'advisory' and mode = 'ShareLock' and objsubid = 2"
    const locks = await query(direct, `select 1 from pg_locks where ${isKeyLock} and ${ofThisDatabase}`)
    expect(locks).toHaveLength(2)
    // The poll at one server ends when the other server commits, long before its timeout.
    const bot = await there.bot()
    const chat = await newChat(tenant, bot)
    const [{ update_id: last = 0 } = {}] = (await pollOf(bot)).slice(-1)
    const polled = async (message: string, after: number) => {
      const polling = pollOf(bot, { offset: after + 1, timeout: 50 })
      await until(async () => (await query(direct, 'select 1 from open_polls')).length > 0)
      await say(tenant, chat, message)
      return polling
    }
    const [update] = await polled('before', last)
    expect(update).toBeDefined()
    const hooked = await tenant.bot()
    await tenant.console(contract.webhook.set, { botId: hooked.id, url: `http://127.0.0.1:${port}/` })
    const ping = () => there.operator(contract.platform.addUpdate, { botId: hooked.id, type: 'ping' })
    await ping()
    await until(() => delivered === 1)

    await bouncer.kill()
    const refused = await tenant.runtime(contract.templates.list, {})
    expect([refused.status, refused.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    await bouncer.start()
    await until(async () => (await query(direct, "select 1 from pg_locks where mode = 'ShareLock'")).length >= 2)
    await until(async () => (await there.runtime(contract.templates.list, {})).status === 200)
    await until(async () => (await tenant.runtime(contract.templates.list, {})).status === 200)
    expect(await polled('after', update?.update_id as number)).toHaveLength(1)
    await ping()
    await until(() => delivered === 2)
  })

  it('every session has its time limits and PGOPTIONS, also one that another client had before', async () => {
    const { url } = await pooled({ default_pool_size: 5 })
    const options = encodeURIComponent('-c search_path=public,pg_temp --jit=off -c application_name=a\\ shop')
    for (let time = 0; time < 2; time++) {
      const store = await openPostgresStore({ url: `${url}?options=${options}`, env: {} })
      const limits = { lock: '5s', statement: '5500ms', idle: '10s', path: 'public,pg_temp' }
      for (const run of [store.read, store.write]) {
        const row = await run(() =>
          one(`${LIMITS}, current_setting('jit') as jit, current_setting('application_name') as name`),
        )
        expect(row).toEqual({ ...limits, jit: 'off', name: 'a shop' })
      }
      await store.close()
      // pgbouncer has reset the sessions before it lends them again.
      expect(await query(url, LIMITS)).toEqual([{ lock: '0', statement: '0', idle: '0', path: '"$user", public' }])
    }
  })

  it('a pool of one session migrates, and a start names the number of connections that it needs', async () => {
    const { url } = await pooled({ default_pool_size: 1 })
    const migrated = await cli('server migrate', { env: { VOUCHERCTL_DATABASE_URL: url } })
    expect([migrated.exit, migrated.stderr]).toEqual([0, ''])
    const refused = await start(url)
    expect(refused.exit).toBe(1)
    expect(errorOf(refused)).toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringMatching(/NO_SESSION.*a pooler must allow each server 14 connections/),
    })
  })
})

describe.each(['transaction', 'statement'])('pooler in %s mode', (pool_mode) => {
  it.each([
    ['its only session', 1, { default_pool_size: 1 }],
    ['the session returned last', 3, {}],
    ['two sessions in turn', 2, { server_round_robin: 1 }],
    ['three sessions in turn', 3, { server_round_robin: 1 }],
    ['any session, without startup parameters', 2, { ignore_startup_parameters: 'lock_timeout,options' }],
  ])('pooler that lends %s is refused', { tags: 'check-of-the-database/2' }, async (_which, sessions, settings) => {
    const { direct, url } = await pooled({ pool_mode, ...settings })
    await openSessions(direct, url, sessions)
    const refused = await start(url)
    expect([refused.exit, refused.stdout]).toEqual([1, ''])
    expect(errorOf(refused)).toMatchObject({
      code: 'STORE_POOLED',
      message: expect.stringMatching(/changes the session between statements.*pool_mode = session/),
    })
    // Nothing was changed, neither in the database nor in sessions that other clients get next.
    expect(await query(direct, "select 1 from pg_tables where schemaname = 'public'")).toEqual([])
    for (let time = 0; time < 3; time++) {
      expect(await query(url, LIMITS)).toMatchObject([{ lock: '0', statement: '0', idle: '0' }])
    }
  })

  it('a connection is refused with STORE_POOLED while other clients use the only session', async () => {
    const { bouncer, direct, url } = await pooled({ pool_mode, default_pool_size: 1, admin_users: 'postgres' })
    const locks = await Promise.all([1, 2, 3].map((id) => heldLock(direct, id)))
    const others: Promise<unknown>[] = []
    const useSession = (id: number) => others.push(query(url, `select pg_advisory_xact_lock(${id})`))
    const waits = (count: number) =>
      until(async () => {
        const pools = await query(bouncer.urlOf('pgbouncer'), 'show pools')
        return pools.find((it) => it.user === 'postgres' && it.database !== 'pgbouncer')?.cl_waiting === count
      })
    // Before each lock is released, a statement of the connection waits for the session, and then another client.
    useSession(1)
    await until(async () => (await waitingFor(direct, 1)).length === 1)
    const { config } = await connectionOf({ url, env: {} })
    const session = new Session({ ...config, connectionTimeoutMillis: 60_000 })
    const connected = session.connect()
    connected.catch(() => {})
    for (const [index, lock] of locks.entries()) {
      await until(async () => (await waitingFor(direct, index + 1)).length === 1)
      await waits(1)
      if (index < 2) useSession(index + 2)
      // The last time, both connections of the check wait.
      await waits(2)
      await lock.end()
    }
    await expect(connected).rejects.toMatchObject({ code: 'STORE_POOLED' })
    await Promise.all(others)
  })

  it('every command with a database is refused with STORE_POOLED', { tags: 'check-of-the-database/2' }, async () => {
    const { url } = await pooled({ pool_mode })
    const home = temporaryDir()
    const env = { VOUCHERCTL_DATABASE_URL: url }
    for (const command of ['server migrate', 'server migrate --dry-run', 'server export --out x']) {
      const { exit, stderr } = await cli(`${command} --json`, { env, home, cwd: home })
      expect([command, exit, errorOf({ stderr }).code]).toEqual([command, 1, 'STORE_POOLED'])
    }
    const { stdout } = await cli('doctor --json', { env, home })
    const { checks } = JSON.parse(stdout) as { checks: { name: string }[] }
    expect(checks.find(({ name }) => name === 'database')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('pool_mode = session'),
    })
  })
})

describe('other refusals', () => {
  it.each([
    [
      'a user that pgbouncer does not know',
      {},
      (url: string) => url.replace('//postgres:', '//nobody:'),
      /pooler.*read its log/,
    ],
    ['a full pooler', { max_client_conn: 0 }, (url: string) => url, /pooler.*limits/],
    ['a wrong setting', {}, (url: string) => `${url}?options=-c%20no_such_setting%3D1`, /Correct PGOPTIONS/],
    [
      'a schema that does not exist',
      {},
      (url: string) => `${url}?options=-c%20search_path%3Dno_such_schema`,
      /No schema of search_path exists: create one/,
    ],
    ['options other than settings', {}, (url: string) => `${url}?options=-e`, /only -c NAME=VALUE/],
  ])('a start names the cause of %s', async (_what, settings, change, cause) => {
    const { url } = await pooled(settings)
    const { exit, stderr } = await cli('server migrate --json', { env: { VOUCHERCTL_DATABASE_URL: change(url) } })
    expect([exit, errorOf({ stderr }).message]).toEqual([1, expect.stringMatching(cause)])
  })
})
