import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { type LiveServer, standaloneServer } from '../../support/server/server.js'
import { tcpGate } from '../../support/server/tcp-gate.js'
import { codeOf, newTenant, Tenant } from '../../support/server/tenant.js'

/** Tests the rotation of the credential key on servers that share a PostgreSQL database. */

/** A database of servers with one credential key, and data folders for the steps of a rotation to a second key. */
async function fleet() {
  const database = takeDatabase()
  onTestFinished(() => database.release())
  const url = await database.url
  const [old, added, current] = [temporaryDir(), temporaryDir(), temporaryDir()] as const
  const live = async (dataDir: string, databaseUrl = url): Promise<LiveServer> => {
    const server = await standaloneServer({ dataDir, databaseUrl, testClock: false })
    onTestFinished(() => server.close())
    return server
  }
  const first = await live(old)
  const keys = JSON.parse(readFileSync(join(old, 'keys.json'), 'utf8'))
  const secret = (fill: number) => Buffer.alloc(32, fill).toString('base64url')
  keys.credential_keys.push({ id: 'key_further', derive: secret(1), index: secret(2) })
  const write = (dir: string, file: object) => {
    writeFileSync(join(dir, 'keys.json'), JSON.stringify(file))
    chmodSync(join(dir, 'keys.json'), 0o600)
  }
  write(added, keys)
  write(current, { ...keys, current: 'key_further' })
  /** Runs `server start` of the built command with a signal that ends the server as soon as it is ready. */
  const start = (dir: string) =>
    cli(`server start --port 0 --log-level silent --data ${dir} --json`, {
      env: { VOUCHERCTL_DATABASE_URL: url },
      signal: AbortSignal.abort(),
    })
  return { url, old, added, current, live, first, start }
}

/** A code with a correct check symbol that no voucher has. */
const UNKNOWN_CODE = 'M9S3-46Q3-D25V-T4FJ'

const advisoryLocks = `from pg_locks where locktype = 'advisory'
  and database = (select oid from pg_database where datname = current_database())`
/** Selects the advisory locks of credential keys, which have two numbers (objsubid 2); other locks have one. */
const keyLocks = `${advisoryLocks} and objsubid = 2`

it('new current key is refused if a running server lacks it', { tags: 'credential-keys-of-a-fleet/1' }, async () => {
  const { url, current, start } = await fleet()
  const [{ pid }] = (await query(url, `select pid ${keyLocks}`)) as [{ pid: number }]
  const { exit, stdout, stderr } = await start(current)
  expect([exit, stdout]).toEqual([1, ''])
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
  expect(error.code).toBe('KEYS_UNUSABLE')
  expect(error.message).toMatch(/^Credential key key_further is current in the key file, but other running servers/)
  expect(error.message).toMatch(
    new RegExp(`PostgreSQL sessions: ${pid}( from [\\d.:a-f]+)?\\)\\. Make the previous key`),
  )
  expect(await query(url, 'select key_id from credential_keys')).toHaveLength(1)
})

it('new current key is accepted once each server has it', {
  tags: 'credential-keys-of-a-fleet/1',
}, async () => {
  const { old, added, current, live, first, start } = await fleet()
  const second = await live(old)
  await first.close()
  await live(added)
  expect((await start(current)).exit).toBe(1)
  await second.close()
  expect(await start(current)).toMatchObject({ exit: 0, stderr: '' })
})

it('server start with a new current key succeeds once the server that lacks it has stopped', async () => {
  const { current, first, start } = await fleet()
  await first.close()
  expect(await start(current)).toMatchObject({ exit: 0, stderr: '' })
})

it('server start is refused if a server that reconnected lacks the current key', async () => {
  const { url, current, start } = await fleet()
  const [{ pid }] = (await query(url, `select pid, pg_terminate_backend(pid) ${keyLocks}`)) as [{ pid: number }]
  await until(async () => (await query(url, `select 1 ${keyLocks} and pid <> ${pid}`)).length > 0)
  expect((await start(current)).exit).toBe(1)
})

it('only one of two concurrent server starts succeeds if one lacks the key of the other', async () => {
  const { url, old, current, live, first } = await fleet()
  await first.close()
  const waiting = async (count: number) =>
    (await query(url, `select 1 ${advisoryLocks} and not granted`)).length === count
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query(`begin; select pg_advisory_xact_lock(hashtextextended('public credential keys', 0))`)
    const without = live(old)
    await until(() => waiting(1))
    const within = live(current)
    await until(() => waiting(2))
    await holder.query('commit')
    const started = await Promise.allSettled([without, within])
    expect(started.map((it) => it.status)).toEqual(['fulfilled', 'rejected'])
  } finally {
    await holder.end()
  }
})

it('server that was cut off while a key became current returns 503 for calls that need it', async () => {
  const { url, old, current, live, first } = await fleet()
  await first.close()
  const address = new URL(url)
  const gate = await tcpGate(Number(address.port))
  onTestFinished(() => gate.remove())
  address.port = String(gate.port)
  const cutOff = await live(old, address.href)
  const tenant = await newTenant(cutOff)
  const { id: templateId } = await tenant.template()
  const locks = async () => (await query(url, `select 1 ${keyLocks}`)).length
  await gate.shut()
  await until(async () => (await locks()) === 0)

  const { accountId, jwt, appId, token, tokenId } = tenant
  const elsewhere = new Tenant(await live(current), accountId, jwt, appId, token, tokenId)
  const bot = await elsewhere.bot()
  await gate.open()
  // One lock of the server that was cut off, and two of the other one.
  await until(async () => (await locks()) === 3)
  const own = await tenant.issue(templateId)
  const unknown = { ...codeOf(own), value: UNKNOWN_CODE }
  expect((await tenant.runtime(contract.vouchers.verify, { credential: unknown })).code).toBe('VOUCHER_NOT_FOUND')

  const input = { template_id: templateId, external_issue_id: 'order-1', recipient_user_id: 'user-1' }
  const issued = await elsewhere.runtime(contract.vouchers.issue, input, { key: 'order-1' })
  const credential = codeOf(issued.data)
  const hook = { url: 'https://example.com/hook', secret_token: 'a'.repeat(32) }
  await elsewhere.console(contract.webhook.set, { botId: bot.id, ...hook })
  const responses = [
    await tenant.runtime(contract.vouchers.verify, { credential }),
    await tenant.runtime(contract.vouchers.redeem, { credential }, { key: 'redeem' }),
    await tenant.runtime(contract.vouchers.issue, input, { key: 'order-1' }),
    await tenant.operator(contract.platform.findVoucher, { credential }),
    await callerOf(cutOff.send, bot.token)(contract.webhook.info, {}),
  ]
  expect(responses.map(({ status, code }) => [status, code])).toEqual(responses.map(() => [503, 'SERVICE_UNAVAILABLE']))
  for (const it of [tenant, elsewhere]) {
    expect((await it.runtime(contract.vouchers.verify, { credential: codeOf(own) })).status).toBe(200)
  }
  expect((await elsewhere.runtime(contract.vouchers.redeem, { credential }, { key: 'redeem' })).status).toBe(200)
})
