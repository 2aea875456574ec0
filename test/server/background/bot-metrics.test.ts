import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { BotCalls } from '../../../src/server/background/counts.js'
import { createLimits } from '../../../src/server/limits.js'
import { deleteOldCalls } from '../../../src/store/bots/calls.js'
import { all, run } from '../../../src/store/operation.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { securely } from '../../support/secure/send.js'
import { DAY_MS, sharedApp, testApp } from '../../support/server/app.js'
import { callerOf } from '../../support/server/client.js'
import { inFolder, standaloneServer } from '../../support/server/server.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'

const { bots } = contract

const server = sharedApp()

const metricsOf = async (tenant: Tenant, botId: string) => (await tenant.console(bots.metrics, { botId })).data

/** Refused bot calls: `badIssue` by a bot without the scope, `badSend` with an invalid body. */
const badIssue = (bot: { call: Tenant['console'] }) => bot.call(bots.issue, {} as never)
const badSend = (bot: { call: Tenant['console'] }) => bot.call(bots.send, {} as never)

it('metrics of a bot without calls have zero counts and null rates', { tags: 'bot-metrics/2' }, async () => {
  const tenant = await newTenant(server)
  const { id } = await tenant.bot()
  expect(await metricsOf(tenant, id)).toEqual({
    calls: { total: 0, by_method: {} },
    errors: { total: 0, by_status: {}, by_code: {} },
    quota: { limit: null, used: 0, remaining: null, reset_at: null },
    updates: 0,
    webhook: { attempts: 0, delivered: 0, failed: 0, dead_letter: 0, success_rate: null, p50_ms: null, p95_ms: null },
  })
})

describe('call metrics', () => {
  it('bot metrics count refused calls by their code', { tags: ['bot-metrics/1', 'bot-metrics/2'] }, async () => {
    const limited = testApp({ limits: createLimits({ bot_calls: { calls: 1, seconds: 60 } }, () => 0) })
    const tenant = await newTenant(limited)
    const bot = await tenant.bot(['messages:send'])
    await bot.call(contract.webhook.info, {})
    for (const by of [bot, bot, await tenant.bot()]) await badSend(by)
    await badSend({ call: callerOf(securely(limited.send), bot.token) })
    await tenant.operator(contract.platform.disableBot, { botId: bot.id })
    await badSend(bot)
    await tenant.console(bots.regenerateToken, { botId: bot.id })
    await badSend(bot)
    const { errors } = await metricsOf(tenant, bot.id)
    expect(errors.by_code).toEqual({
      INSUFFICIENT_SCOPE: 1,
      VALIDATION_FAILED: 1,
      RATE_LIMITED: 2,
      BOT_DISABLED: 1,
      TOKEN_REVOKED: 1,
    })
    await limited.close()
  })

  it('bot call counts cover 24 hours and are deleted one hour later', { tags: 'bot-metrics/2' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const bot = await tenant.bot()
    await badSend(bot)
    const total = async () => (await metricsOf(tenant, bot.id)).calls.total
    const rows = () => own.deps.store.read(() => all('select * from bot_calls'))
    own.clock.advance(DAY_MS - 1)
    expect(await total()).toBe(1)
    own.clock.advance(1)
    expect(await total()).toBe(0)
    own.clock.advance(3_600_000)
    await badIssue(bot)
    expect(await total()).toBe(1)
    const forget = (limit: number) => own.deps.store.write(() => deleteOldCalls(own.clock.now(), limit))
    expect([await forget(9), (await rows()).length]).toEqual([0, 2])
    own.clock.advance(60_000)
    expect([await forget(9), (await rows()).length]).toEqual([1, 1])
    own.clock.advance(2 * DAY_MS)
    expect([await forget(0), await forget(1), await rows()]).toEqual([0, 1, []])
    await own.close()
  })

  it('bot calls with equal method, status and code within a minute are stored in one row', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const bot = await tenant.bot()
    for (let time = 0; time < 5; time++) await badSend(bot)
    await metricsOf(tenant, bot.id)
    for (let time = 0; time < 5; time++) await badSend(bot)
    own.clock.advance(60_000)
    await badSend(bot)
    expect((await metricsOf(tenant, bot.id)).calls.total).toBe(11)
    const rows = await own.deps.store.read(() => all('select calls from bot_calls order by minute'))
    expect(rows).toEqual([{ calls: 10 }, { calls: 1 }])
    await own.close()
  })

  it('bot call counts whose write failed are written with the next counts', async () => {
    const { store } = server.deps
    let full = true
    const sometimes: Store = {
      ...store,
      write: (op) => (full ? Promise.reject(new StoreUnavailable('disk full')) : store.write(op)),
    }
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.bot()
    const calls = new BotCalls(sometimes)
    const note = () => calls.note(botId, { path: bots.send.path, status: 200, code: null }, server.clock.now())
    note()
    const failed = expect(calls.flush()).rejects.toThrow(StoreUnavailable)
    note()
    await failed
    full = false
    await calls.flush()
    await calls.flush()
    expect((await metricsOf(tenant, botId)).calls).toEqual({ total: 2, by_method: { sendMessage: 2 } })
  })
})

describe('bot quota', () => {
  it('bot quota shows the current window of the rate limit', { tags: 'bot-metrics/1' }, async () => {
    const limited = testApp({ limits: createLimits({ bot_calls: { calls: 3, seconds: 60 } }, () => 0) })
    const tenant = await newTenant(limited)
    const bot = await tenant.bot()
    const quota = async () => (await metricsOf(tenant, bot.id)).quota
    expect(await quota()).toEqual({ limit: 3, used: 0, remaining: 3, reset_at: null })
    const reset_at = new Date(limited.clock.now() + 60_000).toISOString()
    await badSend(bot)
    expect(await quota()).toEqual({ limit: 3, used: 1, remaining: 2, reset_at })
    for (let time = 0; time < 5; time++) await badSend(bot)
    expect(await quota()).toEqual({ limit: 3, used: 3, remaining: 0, reset_at })
    await limited.close()
  })
})

describe('metrics of updates and deliveries', () => {
  it('bot metrics count the updates of the last 24 hours', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const [{ id: botId }, { id: other }] = [await tenant.bot(), await tenant.bot()]
    const update = (id: string) => tenant.operator(contract.platform.addUpdate, { botId: id, type: 'ping' })
    await update(botId)
    own.clock.advance(DAY_MS)
    for (const id of [botId, botId, other]) await update(id)
    expect((await metricsOf(tenant, botId)).updates).toBe(2)
    await own.close()
  })

  it('bot metrics have success rate and nearest-rank percentiles of attempts', { tags: 'bot-metrics/2' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const [{ id: botId }, { id: other }] = [await tenant.bot(), await tenant.bot()]
    let made = 0
    const delivery = (bot: string, status: string, attempts: [ms: number, error: string | null][], at: number) => {
      const id = `dlv_${++made}`
      const updateId = made
      return own.deps.store.write(function* () {
        yield* run(
          `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
             manual_attempt_count, created_at, last_attempt_at, ready)
           values ($1, $2, $3, 'ping', 'x', $4, $5, 0, $6, $6, 0)`,
          [id, bot, updateId, status, attempts.length, at],
        )
        for (const [index, [ms, error]] of attempts.entries()) {
          yield* run(
            `insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms, error_code)
             values ($1, $2, $3, 0, $4, $5, $6)`,
            [id, index + 1, bot, at, ms, error],
          )
        }
      })
    }
    const now = own.clock.now()
    await delivery(botId, 'dead_letter', [[9_999, 'http_status']], now - DAY_MS)
    await delivery(other, 'dead_letter', [[9_999, 'http_status']], now)
    for (let ms = 1; ms <= 15; ms++) await delivery(botId, 'delivered', [[ms, null]], now)
    const failures = [16, 17, 18, 19, 20].map((ms): [number, string] => [ms, 'response_timeout'])
    await delivery(botId, 'dead_letter', failures, now)
    expect((await metricsOf(tenant, botId)).webhook).toEqual({
      attempts: 20,
      delivered: 15,
      failed: 5,
      dead_letter: 1,
      success_rate: 0.75,
      p50_ms: 10,
      p95_ms: 19,
    })
    await own.close()
  })

  it('percentiles of bot metrics cover the latest 1,000 attempts', { tags: 'bot-metrics/2' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id: botId } = await tenant.bot()
    const attempts = (from: number, to: number, at: number, ms: number) =>
      run(
        `with recursive made (n) as (select cast($1 as bigint) union all select n + 1 from made where n < $2)
         insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms)
         select 'dlv_1', n, $3, 0, cast($4 as bigint), cast($5 as bigint) from made`,
        [from, to, botId, at, ms],
      )
    const now = own.clock.now()
    await own.deps.store.write(function* () {
      yield* attempts(1, 1_100, now - 2, 900)
      yield* attempts(1_101, 2_000, now - 1, 5)
      yield* attempts(2_001, 2_060, now, 40)
    })
    expect((await metricsOf(tenant, botId)).webhook).toMatchObject({ attempts: 2_060, p50_ms: 5, p95_ms: 40 })
    await own.close()
  })
})

it('bot call counts survive a restart of the server', async () => {
  await inFolder(async (dataDir) => {
    const first = await standaloneServer({ dataDir })
    const tenant = await newTenant(first)
    const bot = await tenant.bot()
    await badSend(bot)
    await first.close()
    const second = await standaloneServer({ dataDir })
    const console = callerOf(second.send, tenant.jwt)
    expect((await console(bots.metrics, { botId: bot.id })).data.calls).toEqual({
      total: 1,
      by_method: { sendMessage: 1 },
    })
    await second.close()
  })
})

it('metrics of a bot are refused before its approval and available while it is disabled', async () => {
  const tenant = await newTenant(server)
  const { id: botId } = await tenant.appliedBot()
  expect((await tenant.console(bots.metrics, { botId })).code).toBe('BOT_NOT_APPROVED')
  await tenant.operator(contract.platform.approveBot, { botId })
  await tenant.operator(contract.platform.disableBot, { botId })
  expect((await tenant.console(bots.metrics, { botId })).status).toBe(200)
})

it('bot metrics are readable while the store cannot write', async () => {
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  const { store } = server.deps
  const full: Store = { ...store, write: () => Promise.reject(new StoreUnavailable('disk full')) }
  const readOnly = testApp({ store: full, botCalls: new BotCalls(full) })
  const { call } = bot
  await badSend({ call })
  readOnly.deps.botCalls.note(bot.id, { path: bots.send.path, status: 200, code: null }, server.clock.now())
  const headers = { authorization: `Bearer ${tenant.jwt}` }
  const response = await readOnly.send({ method: 'GET', path: `/api/v1/bots/my/${bot.id}/metrics`, headers })
  expect(response.status).toBe(200)
  await readOnly.close()
})
