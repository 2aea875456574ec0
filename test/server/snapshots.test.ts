import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { contract } from '../../src/contract/index.js'
import { Faults } from '../../src/server/faults.js'
import { Gate } from '../../src/server/gate.js'
import { createLimits } from '../../src/server/limits.js'
import type { ServerOptions } from '../../src/server/options.js'
import { Snapshots } from '../../src/server/snapshots.js'
import { Waits } from '../../src/server/waits.js'
import { all, run } from '../../src/store/operation.js'
import { createInProcessTransport } from '../../src/testing/test-server.js'
import { wireSession } from '../support/secure/wire.js'
import { DAY_MS, START_MS, type TestApp, testApp, testDeps, testFaultSources } from '../support/server/app.js'
import { type Caller, callerOf } from '../support/server/client.js'
import { newReceiver, until } from '../support/server/deliveries.js'
import { seed, seedBotToken, seedToken } from '../support/server/seed.js'
import { type StandaloneServer, standaloneServer } from '../support/server/server.js'
import { codeOf, serial } from '../support/server/tenant.js'
import { WatchedPolls } from '../support/server/watched-polls.js'
import { onPostgres } from '../support/store/engine-name.js'

/** Waits with which a test can await that a call is delayed. */
class WatchedWaits extends Waits {
  #begun = () => {}
  readonly delayed = new Promise<void>((resolve) => {
    this.#begun = resolve
  })

  override begin(ms: number) {
    this.#begun()
    return super.begin(ms)
  }
}

let server: TestApp
let polls: WatchedPolls
let waits: WatchedWaits
let snapshots: Snapshots
let till: Caller
let bot: Caller
let operator: Caller
beforeEach(async () => {
  polls = new WatchedPolls({ across: onPostgres })
  waits = new WatchedWaits()
  const faults = new Faults({ ...testFaultSources, waits })
  const deps = testDeps({ polls, faults, limits: createLimits({ verify: { calls: 2, seconds: 60 } }, () => 0) })
  snapshots = new Snapshots(deps, seed)
  server = testApp({ ...deps, snapshots })
  till = callerOf(server.send, seedToken)
  bot = callerOf(server.send, seedBotToken)
  operator = callerOf(server.send, server.operatorKey)
  await snapshots.reset()
})
afterEach(async () => {
  await server.close()
  await server.deps.store.close()
})

const issue = (key?: string) => {
  const external_issue_id = key ?? `issue-${serial()}`
  const input = { template_id: 'tpl_coffee', external_issue_id, recipient_user_id: 'user-1' }
  return till(contract.vouchers.issue, input, key === undefined ? {} : { key })
}
const verify = (voucher: Parameters<typeof codeOf>[0]) =>
  till(contract.vouchers.verify, { credential: codeOf(voucher) })
const vouchers = () => server.deps.store.read(() => all<{ id: string }>('select id from vouchers'))

describe('reset', () => {
  it('reset returns a server with a seed to the records of the seed', { tags: 'snapshots/1' }, async () => {
    const { data: voucher } = await issue()
    await operator(contract.platform.suspendApp, { appId: 'app_coffee' })
    await snapshots.reset()
    expect((await verify(voucher)).code).toBe('VOUCHER_NOT_FOUND')
    expect((await issue()).status).toBe(201)
  })

  it('reset empties a store without a seed, and the operator key stays', { tags: 'snapshots/1' }, async () => {
    await new Snapshots(server.deps).reset()
    expect((await issue()).code).toBe('TOKEN_INVALID')
    expect((await operator(contract.platform.chats, {})).data.items).toEqual([])
  })

  it('reset returns the test clock to the true time', { tags: ['snapshots/1', 'test-clock/1'] }, async () => {
    server.clock.advance(400 * DAY_MS)
    await snapshots.reset()
    expect(server.clock.now()).toBe(START_MS)
    expect((await issue()).data.issuedAt).toBe(new Date(START_MS).toISOString())
  })

  it('reset removes faults, rate limit windows and the request log', { tags: 'snapshots/2' }, async () => {
    await operator(contract.platform.addFault, { endpoint: 'vouchers.issue', kind: 'error', times: 9 })
    expect((await issue()).code).toBe('SERVICE_UNAVAILABLE')
    await snapshots.reset()
    const { data: voucher } = await issue()
    for (let call = 0; call < 2; call++) await verify(voucher)
    expect((await verify(voucher)).code).toBe('RATE_LIMITED')
    await snapshots.reset()
    expect((await verify(voucher)).code).toBe('VOUCHER_NOT_FOUND')
    const log = await operator(contract.platform.requests, {})
    expect(log.text.trim().split('\n')).toHaveLength(1)
    await new Snapshots(server.deps, { ...seed, faults: [{ endpoint: 'vouchers.issue', kind: 'error' }] }).reset()
    expect((await issue()).code).toBe('SERVICE_UNAVAILABLE')
  })

  it.each(['during', 'after'])(
    'a flush %s a reset writes no token uses and bot calls of the previous state',
    async (when) => {
      const { store, tokenUses, botCalls } = server.deps
      const flush = () => Promise.all([tokenUses.flush(), botCalls.flush()])
      const { clear } = store.snapshots
      let flushed: Promise<unknown> | undefined
      const replaced = vi.spyOn(store.snapshots, 'clear').mockImplementation((plant) => {
        if (when === 'during') flushed = flush()
        return clear(plant)
      })
      onTestFinished(() => replaced.mockRestore())
      await bot(contract.bots.updates, {})
      await issue()
      await snapshots.reset()
      await (flushed ?? flush())
      const counted = await store.read(() => all('select * from bot_calls'))
      const used = await store.read(() => all('select last_used_at from tokens'))
      expect([counted, used.map((it) => ({ ...it }))]).toEqual([[], [{ last_used_at: null }]])
    },
  )
})

describe('borrowed webhook', () => {
  const listener = { botId: 'bot_coffee', port: 4000, secret_token: 'its-secret', holder: 'a listener' }
  const borrow = (leaseId: string) => operator(contract.platform.borrowWebhook, { ...listener, leaseId })
  const urlInEffect = async () => (await bot(contract.webhook.info, {})).data.url
  const BORROWED = 'http://127.0.0.1:4000/'
  const OWN = 'https://93.184.215.14/own'
  const setOwn = () => bot(contract.webhook.setByBot, { url: OWN, secret_token: 'own-secret' })

  it.each(['reset', 'restore'] as const)('the next renewal after a %s borrows the webhook again', async (how) => {
    await snapshots.save('before')
    await borrow('a')
    await (how === 'reset' ? snapshots.reset() : snapshots.restore('before'))
    expect(await urlInEffect()).toBeNull()
    expect((await borrow('a')).data).toMatchObject({ url: BORROWED, expires_in_seconds: 30 })
    expect(await urlInEffect()).toBe(BORROWED)
    await operator(contract.platform.returnWebhook, { botId: 'bot_coffee', leaseId: 'a' })
    expect(await urlInEffect()).toBeNull()
  })

  it('restore of a snapshot saved during a lease returns the settings of the owner with it', async () => {
    await setOwn()
    await borrow('a')
    await snapshots.save('during')
    await operator(contract.platform.returnWebhook, { botId: 'bot_coffee', leaseId: 'a' })
    await snapshots.restore('during')
    expect(await urlInEffect()).toBe(BORROWED)
    await operator(contract.platform.returnWebhook, { botId: 'bot_coffee', leaseId: 'a' })
    expect(await urlInEffect()).toBe(OWN)
  })
})

describe('restore', () => {
  it('restore returns vouchers and idempotency records to the snapshot, twice', { tags: 'snapshots/1' }, async () => {
    const { data: voucher } = await issue('kept')
    await snapshots.save('one')
    for (let time = 0; time < 2; time++) {
      expect((await till(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'same' })).status).toBe(200)
      await issue()
      expect(await snapshots.restore('one')).toMatchObject({ name: 'one', vouchers: 1 })
      expect((await issue('kept')).headers['idempotent-replayed']).toBe('true')
      expect(await vouchers()).toHaveLength(1)
    }
  })

  it('restore returns the test clock to the snapshot and starts due work', { tags: 'snapshots/1' }, async () => {
    server.clock.advance(DAY_MS)
    await snapshots.save('one')
    const moves: number[] = []
    server.clock.onMove(() => moves.push(server.clock.now()))
    server.clock.advance(31 * DAY_MS)
    await snapshots.restore('one')
    expect(moves).toEqual([START_MS + 32 * DAY_MS, START_MS + DAY_MS])
  })

  it('changes nothing for an unknown name, and resolves to missing', async () => {
    server.clock.advance(DAY_MS)
    await issue()
    expect(await snapshots.restore('one')).toBe('missing')
    expect([await vouchers(), server.clock.now()]).toEqual([[expect.anything()], START_MS + DAY_MS])
  })

  it.runIf(onPostgres)(
    'changes nothing for a snapshot of another schema version, and resolves to outdated',
    { tags: 'snapshots/3' },
    async () => {
      await snapshots.save('one')
      await issue()
      await server.deps.store.write(() => run('update snapshot_list set schema = 0'))
      expect(await snapshots.restore('one')).toBe('outdated')
      expect(await vouchers()).toHaveLength(1)
    },
  )

  it('restore writes pending token uses before it copies the state', async () => {
    await issue()
    await snapshots.save('one')
    await snapshots.reset()
    await snapshots.restore('one')
    const [used] = await server.deps.store.read(() => all('select last_used_at from tokens'))
    expect(used?.last_used_at).toBe(START_MS)
  })
})

describe('calls in flight', () => {
  it('reset ends the delay of a call, waits for the call and holds later calls', { tags: 'snapshots/2' }, async () => {
    await operator(contract.platform.addFault, {
      endpoint: 'vouchers.issue',
      kind: 'delay',
      times: 1,
      delay_ms: 60_000,
    })
    const order: string[] = []
    let issued = 0
    const countIssued = async () => {
      issued = (await vouchers()).length
    }
    snapshots.include({ pause: countIssued, resume: () => {} })
    const early = issue().then((response) => order.push(`early ${response.status}`))
    await waits.delayed
    const reset = snapshots.reset().then(() => order.push('reset'))
    const late = issue().then((response) => order.push(`late ${response.status}`))
    await Promise.all([early, reset, late])
    expect([order[0], [...order].sort()]).toEqual(['early 201', ['early 201', 'late 201', 'reset']])
    expect([issued, (await vouchers()).length]).toEqual([1, 1])
  })

  it('reset begins when the background work has paused, and ends before that work resumes', async () => {
    await issue()
    const order: string[] = []
    const note = async (text: string) => void order.push(`${text} with ${(await vouchers()).length}`)
    snapshots.include({ pause: () => note('paused'), resume: () => void order.push('resumed') })
    await snapshots.reset()
    await note('done')
    expect(order).toEqual(['paused with 1', 'resumed', 'done with 0'])
  })

  // The limit of the test is shorter than the poll, so it fails if the poll ends with its own time.
  it.each(['reset', 'restore'] as const)(
    'a %s ends a waiting poll with an empty result',
    { tags: 'snapshots/2', timeout: 45_000 },
    async (how) => {
      await snapshots.save('one')
      const poll = bot(contract.bots.updates, { timeout: 50 })
      await polls.waits(1)
      await (how === 'reset' ? snapshots.reset() : snapshots.restore('one'))
      expect((await poll).data.items).toEqual([])
    },
  )

  it('a call during a long restore gets 503, and a call after it succeeds', { tags: 'snapshots/2' }, async () => {
    const deps = testDeps({ gate: new Gate(0) })
    const slow = new Snapshots(deps, seed)
    const other = testApp({ ...deps, snapshots: slow })
    await slow.reset()
    await slow.save('one')
    let finish = () => {}
    const pausing = new Promise<void>((paused) => {
      slow.include({ pause: () => (paused(), new Promise((resolve) => (finish = resolve))), resume: () => {} })
    })
    const list = () => callerOf(other.send, seedToken)(contract.templates.list, {})
    const restore = slow.restore('one')
    await pausing
    const meanwhile = await list()
    expect([meanwhile.status, meanwhile.code, meanwhile.headers['retry-after']]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      '1',
    ])
    finish()
    await restore
    expect((await list()).status).toBe(200)
    await other.close()
    await deps.store.close()
  })

  it.each(['reset', 'restore'] as const)(
    'a %s ends encrypted sessions: a call in an old one is refused',
    { tags: 'snapshots/2' },
    async (how) => {
      await snapshots.save('one')
      const session = await wireSession(server.send, { origin: 'https://page.test' })
      const call = () => server.send(session.seal({ method: 'GET', path: contract.templates.list.path }))
      expect((await call()).status).toBe(200)
      await (how === 'reset' ? snapshots.reset() : snapshots.restore('one'))
      expect((await call()).code).toBe('SECURE_SESSION_EXPIRED')
    },
  )

  it('a call that waited for a reset is refused if its token is gone', async () => {
    const { data: token } = await callerOf(server.send, await jwt())(contract.tokens.create, {
      appId: 'app_coffee',
      name: 'extra',
      scopes: ['vouchers:verify'],
    })
    const call = callerOf(server.send, token.token)
    const reset = snapshots.reset()
    const late = call(contract.vouchers.verify, { credential: { type: 'redeem_code', value: 'AAAA-AAAA-AAAA-AAAA' } })
    await reset
    expect((await late).code).toBe('TOKEN_INVALID')
  })

  it('a client of the encrypted transport repeats a call after a reset ended its session', async () => {
    const transport = createInProcessTransport(server.app.respond)
    const options = { baseUrl: 'http://127.0.0.1', token: seedToken, transport, retry: { tries: 1 } }
    const client = createClient({ ...options, secure: { mode: 'required' } })
    await snapshots.save('one')
    const list = async () => (await client.templates.list()).ok
    expect(await list()).toBe(true)
    server.clock.advance(31 * DAY_MS)
    expect(await list()).toBe(true)
    await snapshots.restore('one')
    expect(await list()).toBe(true)
    await snapshots.reset()
    expect(await list()).toBe(true)
  })

  const jwt = async () => (await operator(contract.platform.issueAccountToken, { accountId: 'acme' })).data.jwt
})

it('server keeps the writes of 16 clients that begin after the last of six resets and restores', async () => {
  const { data: kept } = await issue()
  await snapshots.save('one')
  const acknowledged = new Map<string, number>()
  const refused: unknown[] = []
  let restores = 0
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const begun = restores
      const issued = await issue()
      if (issued.status !== 201) refused.push(issued.text)
      else {
        acknowledged.set(issued.data.id, begun)
        const redeemed = await till(contract.vouchers.redeem, { credential: codeOf(issued.data) })
        if (redeemed.status !== 200 && redeemed.code !== 'VOUCHER_NOT_FOUND') refused.push(redeemed.text)
      }
    }
  }
  const clients = Array.from({ length: 16 }, client)
  for (let round = 0; round < 6; round++) {
    await Promise.all([issue(), issue()])
    await snapshots.reset()
    await Promise.all([snapshots.restore('one'), issue()])
    restores += 1
  }
  const afterLast = restores
  await Promise.all([issue(), issue()])
  isOver = true
  await Promise.all(clients)
  const left = new Set((await vouchers()).map(({ id }) => id))
  expect(refused).toEqual([])
  expect(left.has(kept.id)).toBe(true)
  const lost = [...acknowledged].filter(([id, begun]) => begun === afterLast && !left.has(id))
  const returned = [...acknowledged].filter(([id, begun]) => begun < afterLast - 1 && left.has(id))
  expect([lost, returned]).toEqual([[], []])
})

describe('a running server', () => {
  const shared = { shared: true }
  let live: StandaloneServer
  let operate: Caller
  const start = async (options: ServerOptions = {}) => {
    live = await standaloneServer({ seed, ...options })
    operate = callerOf(live.send, live.operatorKey)
  }
  afterEach(() => live.close())

  it('saves, lists, restores and removes snapshots through the operator API', async () => {
    await start()
    const sell = callerOf(live.send, seedToken)
    const input = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
    const saved = await operate(contract.platform.saveSnapshot, { name: 'one' })
    expect([saved.status, saved.data]).toEqual([200, { ...saved.data, name: 'one', vouchers: 0 }])
    await sell(contract.vouchers.issue, input)
    await operate(contract.platform.advanceClock, { seconds: 86_400 })
    expect((await operate(contract.platform.restoreSnapshot, { name: 'one', ...shared })).data).toEqual(saved.data)
    expect((await sell(contract.vouchers.issue, input)).headers['idempotent-replayed']).toBeUndefined()
    expect((await operate(contract.platform.snapshots, {})).data.items).toEqual([saved.data])
    expect((await operate(contract.platform.removeSnapshot, { name: 'one' })).data).toEqual(saved.data)
    expect((await operate(contract.platform.restoreSnapshot, { name: 'one', ...shared })).code).toBe(
      'SNAPSHOT_NOT_FOUND',
    )
  })

  it('server resets itself to its seed while clients call it, and refuses none of them', async () => {
    await start()
    const sell = callerOf(live.send, seedToken)
    const calls = Array.from({ length: 20 }, (_, n) =>
      sell(contract.vouchers.issue, {
        template_id: 'tpl_coffee',
        external_issue_id: `order-${n}`,
        recipient_user_id: 'user-1',
      }),
    )
    const resets = Array.from({ length: 3 }, () => operate(contract.platform.reset, shared))
    expect((await Promise.all(resets)).map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 201))
    expect((await sell(contract.templates.list, {})).data.items).toHaveLength(2)
  })

  it.each(['..%2f', 'with space', '.hidden', 'x'.repeat(65)])(
    'server refuses %j as the name of a snapshot',
    async (name) => {
      await start()
      expect((await operate(contract.platform.saveSnapshot, { name })).code).toBe('VALIDATION_FAILED')
    },
  )

  it('server refuses resets and snapshots beyond loopback without --allow-reset', { tags: 'snapshots/6' }, async () => {
    await start({ host: '0.0.0.0', operator: true })
    const calls = () =>
      Promise.all([
        operate(contract.platform.snapshots, {}),
        operate(contract.platform.saveSnapshot, { name: 'one' }),
        operate(contract.platform.restoreSnapshot, { name: 'one', ...shared }),
        operate(contract.platform.removeSnapshot, { name: 'one' }),
        operate(contract.platform.reset, shared),
      ])
    expect((await calls()).map(({ code }) => code)).toEqual(Array(5).fill('RESET_NOT_ALLOWED'))
    await live.close()
    await start({ host: '0.0.0.0', operator: true, allowReset: true })
    expect((await operate(contract.platform.reset, shared)).status).toBe(200)
  })

  it('server replaces the state on PostgreSQL only with shared: true', { tags: 'snapshots/6' }, async () => {
    await start()
    await operate(contract.platform.saveSnapshot, { name: 'one' })
    const calls = [
      await operate(contract.platform.reset, {}),
      await operate(contract.platform.restoreSnapshot, { name: 'one', shared: false }),
    ]
    expect(calls.map(({ code }) => code)).toEqual(Array(2).fill(onPostgres ? 'DATABASE_SHARED' : null))
  })

  it('a delivery in flight writes nothing into a restored state', async () => {
    const receiver = await newReceiver()
    await start({ webhookLoopbackPorts: [receiver.port] })
    const botId = 'bot_coffee'
    const { jwt } = (await operate(contract.platform.issueAccountToken, { accountId: 'acme' })).data
    const owner = callerOf(live.send, jwt)
    const secret = { secret_token: 'a-secret-that-signs' }
    expect((await owner(contract.webhook.set, { botId, url: receiver.url, ...secret })).status).toBe(200)
    await operate(contract.platform.saveSnapshot, { name: 'one' })
    let respond = (_status: number) => {}
    receiver.respond = () =>
      new Promise((resolve) => {
        respond = resolve
      })
    await operate(contract.platform.addUpdate, { botId, type: 'ping' })
    await until(() => receiver.calls.length === 1)
    await operate(contract.platform.restoreSnapshot, { name: 'one', ...shared })
    receiver.respond = () => 200
    respond(500)
    const deliveries = async () => (await owner(contract.webhook.deliveries, { botId })).data.items
    expect(await deliveries()).toEqual([])
    await operate(contract.platform.addUpdate, { botId, type: 'ping' })
    await until(async () => (await deliveries())[0]?.status === 'delivered')
    expect((await deliveries()).map((it) => it.attempts.length)).toEqual([1])
    expect((await callerOf(live.send, seedBotToken)(contract.webhook.info, {})).data).toMatchObject({
      last_error_message: null,
    })
  })
})
