import { botScopes, scopes } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import { templateBody } from '../../src/contract/openapi/template-body.js'
import { Random } from '../faults/random.js'
import type { ApiResponse } from '../support/server/client.js'
import {
  type Actor,
  Cashier,
  disableBot,
  manageWebhook,
  poll,
  produce,
  replaceToken,
  retryDelivery,
  type SimulatedBot,
} from './actors.js'
import { Scheduler } from './scheduler.js'
import { ACCOUNT_JWT, type Disturbance, SimulatedServer } from './simulated-server.js'
import { isPending, ofBot } from './stored-state.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Far more than a simulation needs, for a server that never gets done. */
const STEPS_MAX = 80_000

export interface SimulationResult {
  readonly violations: readonly string[]
  readonly steps: number
  readonly attempts: number
}

const CALM: Disturbance = {
  store: { latency: () => 1, fault: () => 'none' },
  receivers: { latency: () => 20, status: () => 200 },
}

/** Operations, receivers and commits that are slow or fail. */
function disturbed(random: Random): Disturbance {
  const store = random.of('store')
  const receivers = random.of('receivers')
  const failing = random.pick([0, 0.02, 0.08])
  const unreliable = random.pick([0, 0.1, 0.4, 0.95])
  return {
    store: {
      latency: () => (store.chance(0.03) ? store.below(4_000) : store.below(20)),
      fault: () => (store.chance(failing) ? (store.chance(0.5) ? 'failed' : 'lost') : 'none'),
    },
    receivers: {
      latency: () => (receivers.chance(0.2) ? receivers.below(20_000) : receivers.below(200)),
      status: () => (receivers.chance(unreliable) ? receivers.pick([500, 404, 301, null]) : 200),
    },
  }
}

/**
 * Runs one simulation. The same seed and number of actions give the same run.
 * @param actions of each frequent actor
 */
export async function simulate(seed: number, actions: number): Promise<SimulationResult> {
  const random = new Random(`simulation ${seed}`)
  const scheduler = new Scheduler(random.of('scheduler'))
  const server = new SimulatedServer(scheduler, random, CALM)
  try {
    await scheduler.run(() => act(server, random, actions), STEPS_MAX)
  } catch (error) {
    server.violations.push(`the simulation ended early: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    await server.closeDatabase()
  }
  return { violations: server.violations, steps: scheduler.steps, attempts: server.attempts }
}

/** Repeats a failed simulation with fewer actions; returns the smallest number that fails, and its violations. */
export async function smallestFailure(seed: number, actions: number) {
  for (let fewer = 1; fewer < actions; fewer = Math.ceil(fewer * 1.5)) {
    const { violations } = await simulate(seed, fewer)
    if (violations.length > 0) return { actions: fewer, violations }
  }
  return { actions, violations: (await simulate(seed, actions)).violations }
}

async function act(server: SimulatedServer, random: Random, actions: number): Promise<void> {
  await server.start()
  const { bots, token, templateIds } = await setUp(server)
  server.disturbance = disturbed(random)
  const isBroken = () => server.violations.length > 0
  const repeat = async (name: string, count: number, gapMs: number, act: (it: Actor) => Promise<void>) => {
    const actor = { server, random: random.of(name) }
    for (let n = 0; n < count && !isBroken(); n++) {
      await server.scheduler.sleep(actor.random.below(actor.random.chance(0.15) ? 20 * gapMs : gapMs))
      await act(actor)
    }
  }
  const some = Math.ceil(actions / 3)
  const few = Math.ceil(actions / 8)
  const ofBots = bots.flatMap((bot, index) => [
    repeat(`producer ${index}`, actions, 3_000, (it) => produce(it, bot)),
    repeat(`owner ${index}`, some, 12_000, (it) => manageWebhook(it, bot)),
    repeat(`retries ${index}`, few, 30_000, (it) => retryDelivery(it, bot)),
    repeat(`poller ${index}`, actions, 3_000, (it) => poll(it, bot)),
    repeat(`second poller ${index}`, few, 40_000, (it) => poll(it, bot)),
    repeat(`tokens ${index}`, few, 40_000, (it) => replaceToken(it, bot)),
    repeat(`disabling ${index}`, Math.ceil(actions / 20), 60_000, (it) => disableBot(it, bot)),
  ])
  const ofCashiers = ['first', 'second'].map((name) => {
    const cashier = new Cashier({ server, random: random.of(`cashier ${name}`) }, name, token, templateIds)
    return repeat(name, actions, 3_000, () => cashier.act())
  })
  const ofEnvironment = [
    repeat('restarts', random.below(4), 60_000, restart),
    repeat('clock', some, 15_000, (it) => advanceClock(it, bots)),
    repeat('keys', random.below(3), 60_000, rotateKeys),
  ]
  await Promise.all([...ofBots, ...ofCashiers, ...ofEnvironment])
  if (!isBroken()) await settle(server, bots, random.of('end'))
}

async function setUp(server: SimulatedServer) {
  const made = async <T>(call: Promise<ApiResponse<T> | null>): Promise<T> => {
    const response = await call
    if (response === null) throw new Error('the server is not running')
    return response.data
  }
  const console = ACCOUNT_JWT
  const { id: appId } = await made(server.call(console, contract.apps.create, { name: 'Shop' }))
  const tokenInput = { appId, name: 'till', scopes: [...scopes], expires_in_days: null }
  const { token } = await made(server.call(console, contract.tokens.create, tokenInput))
  const templateIds: string[] = []
  for (const [name, days] of [
    ['daily', 1],
    ['monthly', 30],
  ] as const) {
    const validity = { type: 'relative', duration_days: days } as const
    const input = { ...templateBody, external_template_id: name, name, validity, issue_limit: 8 }
    const { id } = await made(server.call(token, contract.templates.create, input))
    await made(server.call(token, contract.templates.submit, { templateId: id }))
    templateIds.push(id)
  }
  const bots: SimulatedBot[] = []
  for (const username of ['first_bot', 'second_bot']) {
    const input = { name: username, username, scopes: [...botScopes] }
    const { id } = await made(server.call(console, contract.bots.apply, input))
    const { one_time_token: botToken } = await made(server.call(console, contract.bots.get, { botId: id }))
    await made(server.call(console, contract.apps.linkBot, { appId, botId: id }))
    const chats: string[] = []
    for (const userId of ['user-1', 'user-2']) {
      const chat = { bot_id: id, user_id: userId }
      chats.push((await made(server.call(server.operatorKey, contract.platform.createChat, chat))).id)
    }
    bots.push({ id, token: botToken as string, chats, polls: new Set(), confirmedBelow: 0, webhooksSet: 0 })
  }
  return { bots, token, templateIds }
}

/** Ends the process with or without clean-up, and starts another one. */
async function restart({ server, random }: Actor): Promise<void> {
  if (random.chance(0.6)) server.crash()
  else await server.stop()
  await server.scheduler.sleep(random.pick([0, 100, 40_000]))
  await server.start()
}

/** Advances the clock, and polls before the expiry sweep has ended. */
async function advanceClock(actor: Actor, bots: readonly SimulatedBot[]): Promise<void> {
  const { server, random } = actor
  const seconds = random.pick([60, 300, 900, 3_600, 3_600, 86_400])
  await server.call(server.operatorKey, contract.platform.advanceClock, { seconds })
  if (random.chance(0.3)) await Promise.all(bots.map((it) => poll(actor, it)))
}

/** Rotates the keys of the encrypted transport. The replaced key is accepted for two minutes. */
async function rotateKeys({ server }: Actor): Promise<void> {
  const operator = server.operatorKey
  const before = await server.call(operator, contract.platform.secureKeys, {})
  const rotated = await server.call(operator, contract.platform.rotateSecureKeys, {})
  if (before?.status !== 200 || rotated?.status !== 200) return
  const kids = (items: readonly { kid: string; state: string }[], state: string) =>
    items.flatMap((it) => (it.state === state ? [it.kid] : []))
  const next = kids(before.data.items, 'next')
  const old = kids(before.data.items, 'current')
  const rotatedAt = server.clock.now()
  for (;;) {
    const now = await server.call(operator, contract.platform.secureKeys, {})
    const isOver = server.clock.now() >= rotatedAt + 120_000
    if (now?.status === 200) {
      const { items } = now.data
      if (kids(items, 'current').join() !== next.join()) server.violations.push('the next key becomes current')
      const isAccepted = server.isRunning && server.acceptsKey(old.join())
      if (server.isRunning && isAccepted === isOver)
        server.violations.push('a replaced key is accepted for two minutes')
      if (server.acceptsKey(kids(items, 'next').join())) server.violations.push('the next key is not accepted yet')
      if (isOver && kids(items, 'grace').includes(old.join())) server.violations.push('a replaced key is destroyed')
    }
    if (isOver) return
    await server.scheduler.sleep(30_000)
  }
}

/** Ends all disturbances and checks that everything that is due gets done. */
async function settle(server: SimulatedServer, bots: readonly SimulatedBot[], random: Random): Promise<void> {
  const { scheduler, violations } = server
  server.disturbance = CALM
  if (random.chance(0.5)) server.crash()
  if (!server.isRunning) await server.start()
  const operator = server.operatorKey
  await scheduler.sleep(120_000)
  server.checkResults(server.stoppedStep)
  for (let hours = 0; hours < 6; hours++) {
    await server.call(operator, contract.platform.advanceClock, { seconds: 3_700 })
    await scheduler.sleep(15_000)
  }
  await server.checkCounts()
  for (const bot of bots) {
    const { state } = server
    const rows = state.deliveries.filter((it) => it.bot_id === bot.id)
    const isCalled = ofBot(state.webhooks, bot.id) !== undefined
    const waiting = rows.filter((it) => ['delivering', ...(isCalled ? ['pending', 'failed'] : [])].includes(it.status))
    if (waiting.length > 0) violations.push(`every due delivery is sent: ${JSON.stringify(waiting[0])}`)
    const queue = ofBot(state.queues, bot.id)
    if ((queue?.confirmed_to ?? queue?.switched_to ?? null) !== null) violations.push(`a backlog ends: ${bot.id}`)
    const left = state.updates.filter((it) => it.bot_id === bot.id && isPending(state, it))
    const isAlive = left.filter((it) => it.created_at > server.clock.now() - DAY_MS)
    if (isCalled && isAlive.length > 0)
      violations.push(`every pending update is delivered: ${JSON.stringify(isAlive[0])}`)
    if (!isCalled) await poll({ server, random: new Random('settled') }, bot)
  }
  await server.call(operator, contract.platform.advanceClock, { seconds: 31 * 86_400 })
  await scheduler.sleep(130_000)
  await server.checkCounts()
  const { deliveries, updates, records } = server.state
  const old = server.clock.now() - 30 * DAY_MS
  const expired = {
    deliveries: deliveries.filter((it) => it.created_at < old).length,
    updates: updates.filter((it) => it.created_at < old).length,
    'idempotency records': records.filter((it) => it.expires_at !== null && it.expires_at < server.clock.now()).length,
  }
  for (const [what, count] of Object.entries(expired)) {
    if (count > 0) violations.push(`expired ${what} are deleted: ${count} are left`)
  }
}
