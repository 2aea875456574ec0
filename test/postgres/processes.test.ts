import { rmSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { type TestDatabase, takeDatabase } from '../support/postgres-database.js'
import { temporaryFolder } from '../support/server.js'
import { type ServerChild, startServerChild } from '../support/server-child.js'
import { newChat, say } from '../support/server-chats.js'
import { type Answer, callerOf } from '../support/server-client.js'
import { newReceiver, until } from '../support/server-deliveries.js'
import { wireSession } from '../support/secure-wire.js'
import { type Place, Tenant, codeOf, newTenant } from '../support/server-tenant.js'

/** Two server processes on one PostgreSQL, with the keys of one folder. */
let folder: string
let database: TestDatabase
let first: ServerChild
let second: ServerChild

const start = async () => startServerChild(folder, 'silent', true, 0, await database.url)

beforeAll(async () => {
  folder = temporaryFolder()
  database = takeDatabase()
  first = await start()
  second = await start()
}, 60_000)
afterAll(async () => {
  await Promise.all([first.kill(), second.kill()])
  database.release()
  rmSync(folder, { recursive: true, force: true })
})

async function query(sql: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: await database.url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const at = (place: Place, { accountId, jwt, appId, token, tokenId }: Tenant) =>
  new Tenant(place, accountId, jwt, appId, token, tokenId)

/** Every other call to the other process. */
const spread = <T>(count: number, tenant: Tenant, call: (to: Tenant, index: number) => Promise<T>) => {
  const both = [at(first, tenant), at(second, tenant)]
  return Promise.all(Array.from({ length: count }, (_, index) => call(both[index % 2] as Tenant, index)))
}

const tally = (answers: readonly Answer[]) => {
  const counts: Record<string, number> = {}
  for (const { code } of answers) counts[String(code)] = (counts[String(code)] ?? 0) + 1
  return counts
}

describe('races over two processes', () => {
  it('100 redeems of one voucher with 100 keys: one succeeds, the others name it', async () => {
    const tenant = await newTenant(first)
    const voucher = await tenant.issue()
    const answers = await spread(100, tenant, (to, index) =>
      to.runtime(contract.vouchers.redeem, { credential: codeOf(voucher, index % 4 < 2 ? 'qr_token' : 'redeem_code') }),
    )
    expect(tally(answers)).toEqual({ null: 1, VOUCHER_ALREADY_REDEEMED: 99 })
    const won = answers.find((it) => it.code === null)
    const named = new Set(answers.filter((it) => it.code !== null).map((it) => it.details.redemption_id))
    expect(named).toEqual(new Set([won?.data.id]))
  })

  it('150 issues against a quota of 50: 50 vouchers, all of them different', async () => {
    const tenant = await newTenant(first)
    const { id } = await tenant.template({ issue_limit: 50 })
    const answers = await spread(150, tenant, (to, index) =>
      to.runtime(contract.vouchers.issue, { template_id: id, external_issue_id: `o-${index}`, recipient_user_id: 'u' }),
    )
    expect(tally(answers)).toEqual({ null: 50, TEMPLATE_QUOTA_EXHAUSTED: 100 })
    const issued = answers.filter((it) => it.code === null).map((it) => it.data)
    expect(new Set(issued.flatMap((it) => it.credentials.map(({ value }) => value))).size).toBe(100)
    expect((await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount).toBe(50)
  })

  it('1,000 issues against a quota of 100: 100 vouchers', async () => {
    const tenant = await newTenant(first)
    const { id } = await tenant.template({ issue_limit: 100 })
    const answers = await spread(1_000, tenant, (to, index) =>
      to.runtime(contract.vouchers.issue, { template_id: id, external_issue_id: `o-${index}`, recipient_user_id: 'u' }),
    )
    expect(tally(answers)).toEqual({ null: 100, TEMPLATE_QUOTA_EXHAUSTED: 900 })
  }, 60_000)

  it.each(['issue', 'redeem', 'reverse'] as const)(
    '100 calls of %s with one key: one effect, equal answers',
    async (what) => {
      const tenant = await newTenant(first)
      const { id: templateId } = await tenant.template()
      const voucher = await tenant.issue(templateId)
      const redemption = what === 'reverse' ? await tenant.redeem(voucher) : null
      const input = { template_id: templateId, external_issue_id: 'o-1', recipient_user_id: 'u' }
      const answers = await spread<Answer>(100, tenant, (to) => {
        const extra = { key: `one-of-${what}` }
        if (what === 'issue') return to.runtime(contract.vouchers.issue, input, extra)
        if (what === 'redeem') return to.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, extra)
        return to.runtime(contract.vouchers.reverse, { redemptionId: redemption?.id as string }, extra)
      })
      expect(tally(answers)).toEqual({ null: 100 })
      expect(new Set(answers.map((it) => `${it.status} ${it.sameness}`)).size).toBe(1)
      expect(answers.filter((it) => it.headers['idempotent-replayed'] === undefined).length).toBe(1)
    },
  )

  it('one key for two requests at two processes: one succeeds, the other is refused', async () => {
    const tenant = await newTenant(first)
    for (let round = 0; round < 10; round++) {
      const vouchers = [await tenant.issue(), await tenant.issue()]
      const answers = await spread(2, tenant, (to, index) =>
        to.runtime(
          contract.vouchers.redeem,
          { credential: codeOf(vouchers[index] as (typeof vouchers)[number]) },
          { key: `two-requests-${round}` },
        ),
      )
      expect(tally(answers)).toEqual({ null: 1, IDEMPOTENCY_KEY_REUSED: 1 })
    }
  })

  it('an account gets 50 applications and no more', async () => {
    const tenant = await newTenant(first)
    const answers = await spread(60, tenant, (to) => to.console(contract.apps.create, { name: 'Shop' }))
    expect(tally(answers)).toEqual({ null: 49, APPLICATION_LIMIT_REACHED: 11 })
  })

  it('updates of a bot are numbered without a gap, whichever process made them', async () => {
    const tenant = await newTenant(first)
    const bot = await tenant.bot()
    const made = await spread(60, tenant, (to) =>
      to.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' }),
    )
    const ids = made.map((it) => it.data.update_id).sort((a, b) => a - b)
    expect(ids).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
  })
})

describe('what one process does, the other knows', () => {
  it('a revoked token is refused on the next request', async () => {
    const tenant = await newTenant(first)
    const other = at(second, tenant)
    for (let round = 0; round < 20; round++) {
      const { id, token } = await tenant.newToken()
      const call = callerOf(second.send, token)
      expect((await call(contract.templates.list, {})).status).toBe(200)
      await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: id })
      expect((await call(contract.templates.list, {})).code).toBe('TOKEN_REVOKED')
    }
    expect((await other.runtime(contract.templates.list, {})).status).toBe(200)
  })

  it('a held poll is woken by an update that the other process makes', async () => {
    const tenant = await newTenant(first)
    const bot = await tenant.bot()
    const started = performance.now()
    const held = callerOf(second.send, bot.token)(contract.bots.updates, { timeout: 30 })
    const chat = await newChat(tenant, bot)
    await say(tenant, chat, 'Hello')
    expect((await held).data.items.length).toBeGreaterThan(0)
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('a newer poll at one process ends the older one at the other', async () => {
    const tenant = await newTenant(first)
    const bot = await tenant.bot()
    const polls = [first, second].map((server) => callerOf(server.send, bot.token))
    const [here, there] = polls as [(typeof polls)[number], (typeof polls)[number]]
    const older = here(contract.bots.updates, { timeout: 30 })
    await until(() => isHeld(bot.id))
    const newer = there(contract.bots.updates, { timeout: 30 })
    expect((await older).code).toBe('POLL_TERMINATED')
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    expect((await newer).data.items.length).toBe(1)
  })

  it('a webhook is refused while the other process holds a poll, and may be set when that has ended', async () => {
    const tenant = await newTenant(first)
    const bot = await tenant.bot()
    const held = callerOf(second.send, bot.token)(contract.bots.updates, { timeout: 30 })
    await until(() => isHeld(bot.id))
    expect(await webhookCode(tenant, bot.id)).toBe('POLLING_ACTIVE')
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    await held
    expect(await webhookCode(tenant, bot.id)).toBe(null)
  })

  /** Asked of the database, since asking for a webhook would set one. */
  const isHeld = async (botId: string) =>
    (await query(`select holder from open_polls where bot_id = '${botId}'`)).length > 0

  const webhookCode = async (tenant: Tenant, botId: string) =>
    (await tenant.console(contract.webhook.set, { botId, url: 'https://93.184.215.14/hook' })).code

  it('a session of the encrypted transport is good at both, and each envelope once in all', async () => {
    const tenant = await newTenant(first)
    const session = await wireSession(first.send, { now: Date.now })
    const call = {
      method: 'GET',
      path: contract.templates.list.path,
      headers: { authorization: `Bearer ${tenant.token}` },
    }
    for (const server of [second, first]) {
      const sent = session.seal(call)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first : second).send(sent)),
      )
      const opened = answers.filter((it) => it.status === 200)
      expect(opened.length).toBe(1)
      expect(session.open(sent, opened[0] as Answer).status).toBe(200)
      expect((await server.send(sent)).code).toBe('REQUEST_REPLAYED')
    }
  })

  it('keys of the encrypted transport are the same at both, and a rotation reaches the other', async () => {
    const kidAt = async (server: ServerChild) => {
      const bootstrap = await server.send({ method: 'GET', path: '/api/v1/secure/bootstrap' })
      return (JSON.parse(bootstrap.text) as { kid: string }).kid
    }
    const before = await kidAt(first)
    expect(await kidAt(second)).toBe(before)
    await callerOf(first.send, first.operatorKey)(contract.platform.rotateSecureKeys, {})
    const after = await kidAt(first)
    expect(after).not.toBe(before)
    await until(async () => (await kidAt(second)) === after)
  })

  it('nothing in the database opens a session or a transport key without the key file', async () => {
    const session = await wireSession(first.send, { now: Date.now })
    const rows = await query('select sealed from secure_sessions union all select sealed from secure_keys')
    const text = JSON.stringify(rows)
    expect(rows.length).toBeGreaterThan(1)
    for (const key of [session.keyC2s, session.keyS2c]) {
      for (const encoding of ['base64url', 'base64', 'hex'] as const) {
        expect(text).not.toContain(Buffer.from(key).toString(encoding))
      }
    }
    expect(text).not.toContain('private_key')
  })
})

describe('deliveries', () => {
  it('go out once each, in the order of their chats, however many processes deliver', async () => {
    const receiver = await newReceiver()
    // Of their own: the other processes here may not reach the receiver.
    const [own, keys] = [takeDatabase(), temporaryFolder()]
    const startOwn = async () => startServerChild(keys, 'silent', true, receiver.port, await own.url)
    const servers = [await startOwn(), await startOwn()]
    try {
      const tenant = await newTenant(servers[0] as ServerChild)
      const bot = await tenant.bot()
      const set = await tenant.console(contract.webhook.set, { botId: bot.id, url: receiver.url })
      expect(set.code).toBe(null)
      const chats = await Promise.all(Array.from({ length: 4 }, () => newChat(tenant, bot)))
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          chats.map((chat, index) => say(at(servers[index % 2] as ServerChild, tenant), chat, `text ${round}`)),
        )
      }
      await until(() => receiver.calls.length >= 44)
      const ids = receiver.calls.map((it) => it.updateId)
      expect([...ids].sort((a, b) => a - b)).toEqual(Array.from({ length: 44 }, (_, index) => index + 1))
      const byChat = new Map<string, number[]>()
      for (const { body, updateId } of receiver.calls) {
        const update = JSON.parse(body.toString('utf8')) as { message?: { chat: { id: string } } }
        const chat = update.message?.chat.id
        if (chat !== undefined) byChat.set(chat, [...(byChat.get(chat) ?? []), updateId])
      }
      for (const order of byChat.values()) expect(order).toEqual([...order].sort((a, b) => a - b))
    } finally {
      await Promise.all(servers.map((it) => it.kill()))
      own.release()
      rmSync(keys, { recursive: true, force: true })
    }
  }, 60_000)
})

describe('two processes killed in turn under load', () => {
  it('nothing that was answered is lost or doubled, and a retry at the other answers the same', async () => {
    const servers = [await start(), await start()] as [ServerChild, ServerChild]
    const tenant = await newTenant(servers[0])
    const { id: templateId } = await tenant.template({ issue_limit: 100_000 })
    const answered = new Map<string, Answer>()
    const calls = new Map<string, (to: Tenant) => Promise<Answer>>()
    let over = false
    const settle = async (key: string, index: number, call: (to: Tenant) => Promise<Answer>): Promise<Answer> => {
      calls.set(key, call)
      for (;;) {
        try {
          const answer = await call(at(servers[index] as ServerChild, tenant))
          if (answer.status === 503) continue
          answered.set(key, answer)
          return answer
        } catch {
          // Cut off: the same call again, at whichever process stands in this place by then.
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
    }
    const clerk = async (index: number, name: string) => {
      for (let n = 0; !over; n++) {
        const key = `${name}-${n}`
        const input = { template_id: templateId, external_issue_id: key, recipient_user_id: 'u' }
        const issued = await settle(`i-${key}`, index, (to) =>
          to.runtime(contract.vouchers.issue, input, { key: `i-${key}` }),
        )
        const credential = codeOf((issued as Answer<Parameters<typeof codeOf>[0]>).data)
        await settle(`r-${key}`, index, (to) =>
          to.runtime(contract.vouchers.redeem, { credential }, { key: `r-${key}` }),
        )
      }
    }
    const clerks = Promise.all(['a', 'b', 'c', 'd'].map((name, index) => clerk(index % 2, name)))
    for (let round = 0; round < 4; round++) {
      const before = answered.size
      await until(() => answered.size > before + 40)
      await servers[round % 2]?.kill()
      servers[round % 2] = await start()
    }
    over = true
    await clerks
    const vouchers = new Set<string>()
    for (const [key, call] of calls) {
      const again = await call(at(servers[0], tenant))
      expect([key, again.status, again.sameness]).toEqual([key, answered.get(key)?.status, answered.get(key)?.sameness])
      expect(again.headers['idempotent-replayed']).toBe('true')
      if (key.startsWith('r')) vouchers.add((again as Answer<{ voucherId: string }>).data.voucherId)
    }
    expect(vouchers.size).toBe(calls.size / 2)
    const [template] = (await at(servers[1], tenant).runtime(contract.templates.list, {})).data.items
    expect(template?.issuedCount).toBe(calls.size / 2)
    await Promise.all(servers.map((it) => it.kill()))
  }, 90_000)
})

describe('a process with other keys', () => {
  it('is refused at its start, and says which keys the others have', async () => {
    const other = temporaryFolder()
    const starting = startServerChild(other, 'silent', true, 0, await database.url)
    await expect(starting).rejects.toThrow(/keys\.json does not exist.*vouchers this server shall serve/s)
    rmSync(other, { recursive: true, force: true })
  })
})
