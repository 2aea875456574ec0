import { copyFileSync, createReadStream, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import { startServer } from '../../../../src/server/listen.js'
import { exportStore } from '../../../../src/server/maintenance/export.js'
import { importStore } from '../../../../src/server/maintenance/import.js'
import type { MovePlace } from '../../../../src/server/maintenance/move-place.js'
import { verifyWebhook } from '../../../../src/webhook/signature.js'
import { leaksIn } from '../../../support/canary.js'
import { emptyDatabase } from '../../../support/postgres/database.js'
import { query } from '../../../support/postgres/query.js'
import { newChat, say } from '../../../support/server/chats.js'
import { type Send, sendTo } from '../../../support/server/client.js'
import { newReceiver, until } from '../../../support/server/deliveries.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { codeOf, newTenant, Tenant } from '../../../support/server/tenant.js'

let folder: string
const open: (() => Promise<void>)[] = []
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  for (const close of open.splice(0)) await close()
  rmSync(folder, { recursive: true, force: true })
})

type Engine = 'SQLite' | 'PostgreSQL'

/** Creates a data folder and, if the engine is PostgreSQL, an empty database. */
async function newPlace(name: string, engine: Engine): Promise<MovePlace> {
  const dataDir = join(folder, name)
  mkdirSync(dataDir)
  if (engine === 'SQLite') return { dataDir }
  return { dataDir, databaseUrl: await emptyDatabase() }
}

interface Live {
  readonly send: Send
  readonly operatorKey: string
  close(): Promise<void>
}

/** Starts a server on a data folder and its database. */
async function start(place: MovePlace, receiverPort: number): Promise<Live> {
  const options = { port: 0, rateLimits: 'off', webhookLoopbackPorts: [receiverPort], logLevel: 'silent' } as const
  const running = await startServer({ ...place, ...options })
  const agent = new http.Agent({ keepAlive: true })
  const close = async () => {
    agent.destroy()
    await running.close()
  }
  open.push(close)
  const operatorKey = readFileSync(running.operatorKeyFile as string, 'utf8').trim()
  return { send: sendTo(running.baseUrl, agent), operatorKey, close }
}

const signal = new AbortController().signal
const write = (place: MovePlace, path: string) => exportStore(place, { version: '0.0.0', to: { path }, signal })
const take = (place: MovePlace, path: string) => importStore(place, createReadStream(path), { name: path, signal })

const SECRET = 'CANARYwebhookSecretThatIsSealed8Rk2'

/** Makes calls whose results clients keep (tokens, vouchers, replays), and a delivery that is pending. */
async function fill(server: Live, hook: string) {
  const tenant = await newTenant(server)
  const { id: templateId } = await tenant.template()
  const issue = { template_id: templateId, external_issue_id: 'order-1', recipient_user_id: 'user-1' }
  const issued = await tenant.runtime(contract.vouchers.issue, issue, { key: 'k-issue' })
  const redeem = { credential: codeOf(await tenant.issue(templateId)) }
  const redeemed = await tenant.runtime(contract.vouchers.redeem, redeem, { key: 'k-redeem' })
  const bot = await tenant.bot()
  const set = await tenant.console(contract.webhook.set, { botId: bot.id, url: hook, secret_token: SECRET })
  if (set.status !== 200) throw new Error(set.text)
  const chat = await newChat(tenant, bot)
  await say(tenant, chat, 'delivered before')
  return { tenant, issue, issued, redeem, redeemed, bot, chat, kid: await kidOf(server) }
}

async function kidOf({ send }: Live): Promise<string> {
  return (JSON.parse((await send({ method: 'GET', path: '/api/v1/secure/bootstrap' })).text) as { kid: string }).kid
}

const at = ({ send, operatorKey }: Live, { accountId, jwt, appId, token, tokenId }: Tenant) =>
  new Tenant({ send, operatorKey }, accountId, jwt, appId, token, tokenId)

describe.each<[Engine, Engine]>([
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
])('export of %s imported into %s with the same key file', (from, to) => {
  it('import keeps rows and keys; the export file contains no secret', { tags: 'export-and-import/1' }, async () => {
    const receiver = await newReceiver()
    const source = await newPlace('source', from)
    const before = await start(source, receiver.port)
    const { tenant, issue, issued, redeem, redeemed, bot, chat, kid } = await fill(before, receiver.url)
    await until(() => receiver.calls.length === 2)
    // An export in between would send the second update again.
    const delivered = () => tenant.console(contract.webhook.deliveries, { botId: bot.id, status: 'delivered' })
    await until(async () => (await delivered()).data.items.length === 2)
    await tenant.operator(contract.platform.disableBot, { botId: bot.id })
    await say(tenant, chat, 'waits')
    if (from === 'SQLite') await before.close()
    const path = join(folder, 'export.ndjson')
    const written = await write(source, path)
    if (from === 'PostgreSQL') await before.close()
    expect(statSync(path).mode & 0o777).toBe(0o600)

    const target = await newPlace('target', to)
    copyFileSync(join(source.dataDir, 'keys.json'), join(target.dataDir, 'keys.json'))
    const taken = await take(target, path)
    expect([taken.rows, taken.total_sha256]).toEqual([written.rows, written.total_sha256])

    const after = await start(target, receiver.port)
    const moved = at(after, tenant)
    const replayed = await moved.runtime(contract.vouchers.issue, issue, { key: 'k-issue' })
    expect([replayed.status, replayed.sameness]).toEqual([201, issued.sameness])
    const repeated = await moved.runtime(contract.vouchers.redeem, redeem, { key: 'k-redeem' })
    expect([repeated.status, repeated.sameness]).toEqual([200, redeemed.sameness])
    expect((await moved.redeem(issued.data)).externalIssueId).toBe('order-1')
    expect((await moved.console(contract.tokens.list, { appId: tenant.appId })).data.items.length).toBe(1)
    // Clients that pin the transport key must keep working.
    expect(await kidOf(after)).toBe(kid)

    await moved.operator(contract.platform.enableBot, { botId: bot.id })
    await say(moved, chat, 'comes after')
    await until(() => receiver.calls.length === 4)
    expect(receiver.calls.map((it) => it.updateId)).toEqual([1, 2, 3, 4])
    for (const { headers, body } of receiver.calls)
      expect(verifyWebhook({ headers, rawBody: body, secrets: [SECRET] })).toMatchObject({ ok: true })

    const keys = JSON.parse(readFileSync(join(source.dataDir, 'keys.json'), 'utf8'))
    const planted = {
      token: tenant.token,
      'bot token': bot.token,
      jwt: tenant.jwt,
      'webhook secret': SECRET,
      'webhook url': receiver.url,
      code: issued.data.credentials[0]?.value as string,
      'QR token': issued.data.credentials[1]?.value as string,
      'operator key': before.operatorKey,
      'account key': keys.account_key as string,
      'derivation key': keys.credential_keys[0].derive as string,
      'index key': keys.credential_keys[0].index as string,
      ...(from === 'SQLite' ? transportKeysOf(source) : transportKeysOf(target)),
    }
    expect(Object.keys(planted).length).toBe(13)
    expect(leaksIn(readFileSync(path), planted)).toEqual([])
  })

  it('import with another key file or none is refused without a write', { tags: 'export-and-import/2' }, async () => {
    const source = await newPlace('source', from)
    await (await start(source, 1)).close()
    const path = join(folder, 'export.ndjson')
    await write(source, path)
    const other = await newPlace('other', 'SQLite')
    await (await start(other, 1)).close()
    const target = await newPlace('target', to)
    await expect(take(target, path)).rejects.toMatchObject({
      code: 'KEYS_UNUSABLE',
      message: expect.stringMatching(/keys\.json does not exist.*--key-file/),
    })
    copyFileSync(join(other.dataDir, 'keys.json'), join(target.dataDir, 'keys.json'))
    await expect(take(target, path)).rejects.toMatchObject({
      code: 'KEYS_UNUSABLE',
      message: expect.stringMatching(/credential key key_\w+, which .* lacks or has with another value.*--key-file/),
    })
    expect(existsSync(join(target.dataDir, 'voucherctl.db'))).toBe(false)
    const keyFile = join(source.dataDir, 'keys.json')
    expect((await take({ ...target, keyFile }, path)).rows.credential_keys).toBe(1)
  })

  it('import into a store that a running server uses is refused', async () => {
    const source = await newPlace('source', from)
    await (await start(source, 1)).close()
    const path = join(folder, 'export.ndjson')
    await write(source, path)
    const target = await newPlace('target', to)
    copyFileSync(join(source.dataDir, 'keys.json'), join(target.dataDir, 'keys.json'))
    await start(target, 1)
    const code = to === 'SQLite' ? 'DATA_FOLDER_IN_USE' : 'STORE_NOT_EMPTY'
    await expect(take(target, path)).rejects.toMatchObject({ code })
  })
})

/** Waits until the export or import has a connection to the database and terminates it. */
const endConnections = ({ databaseUrl = '' }: MovePlace): Promise<void> =>
  until(async () => {
    const ours = "datname = current_database() and application_name = 'voucherctl'"
    return (await query(databaseUrl, `select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`)).length > 0
  })

describe('import into PostgreSQL', () => {
  it('import whose database connection breaks writes nothing and can be repeated', async () => {
    const source = await newPlace('source', 'SQLite')
    await (await start(source, 1)).close()
    const path = join(folder, 'export.ndjson')
    await write(source, path)
    const target = await newPlace('target', 'PostgreSQL')
    const text = readFileSync(path, 'utf8')
    const end = text.lastIndexOf('{"end"')
    async function* broken() {
      yield Buffer.from(text.slice(0, end))
      await endConnections(target)
      yield Buffer.from(text.slice(end))
    }
    const options = { name: path, signal }
    const keyFile = join(source.dataDir, 'keys.json')
    await expect(importStore({ ...target, keyFile }, broken(), options)).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringMatching(/Nothing was imported\.$/),
    })
    expect((await take({ ...target, keyFile }, path)).rows).toEqual({ credential_keys: 1 })
  })
})

describe('export of PostgreSQL', () => {
  it('export whose database connection breaks fails with DATABASE_UNREACHABLE', async () => {
    const source = await newPlace('source', 'PostgreSQL')
    await (await start(source, 1)).close()
    const writing = exportStore(source, {
      version: '0.0.0',
      signal,
      to: {
        write: () => endConnections(source),
      },
    })
    await expect(writing).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringMatching(/Nothing was exported\.$/),
    })
  })
})

/** The transport key file of a server on SQLite by its kids. */
function transportKeysOf({ dataDir }: MovePlace): Record<string, string> {
  const { keys } = JSON.parse(readFileSync(join(dataDir, 'secure-keys.json'), 'utf8')) as {
    keys: { private_key: string; state: string }[]
  }
  return Object.fromEntries(keys.map((it) => [`${it.state} transport key`, it.private_key]))
}

describe('transport keys already in the data folder', () => {
  it('import accepts equal transport keys in the data folder and never overwrites others', async () => {
    const source = await newPlace('source', 'SQLite')
    await (await start(source, 1)).close()
    const path = join(folder, 'export.ndjson')
    await write(source, path)
    const other = await newPlace('other', 'SQLite')
    await (await start(other, 1)).close()
    for (const [from, refused] of [
      [source, null],
      [other, 'KEYS_UNUSABLE'],
    ] as const) {
      const target = await newPlace(`target-${refused}`, 'SQLite')
      copyFileSync(join(source.dataDir, 'keys.json'), join(target.dataDir, 'keys.json'))
      copyFileSync(join(from.dataDir, 'secure-keys.json'), join(target.dataDir, 'secure-keys.json'))
      const code = await take(target, path).then(
        () => null,
        (error: { code: string }) => error.code,
      )
      expect(code).toBe(refused)
      expect(readFileSync(join(target.dataDir, 'secure-keys.json'), 'utf8')).toBe(
        readFileSync(join(from.dataDir, 'secure-keys.json'), 'utf8'),
      )
    }
  })
})
