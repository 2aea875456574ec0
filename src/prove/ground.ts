import { randomBytes } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { type Client, createClient, unwrap } from '../client/index.js'
import { updateTypes } from '../contract/updates.js'
import { type IdPrefix, newId } from '../domain/ids.js'
import { listenOnLoopback } from '../files/loopback-port.js'
import { TestClock } from '../server/clock.js'
import type { FaultedCall, Faults } from '../server/faults.js'
import { headerValues } from '../server/http/api-call.js'
import type { StartedServer } from '../server/listen.js'
import type { RequestItem } from '../server/observe/activity.js'
import { exampleSeed } from '../server/seed/example.js'
import type { Seed } from '../server/seed/schema.js'
import { asMembers, parseJson } from '../values/json.js'
import { CannotProve } from './cannot-prove.js'
import { canBeDisturbed } from './disturbances.js'
import { type Ledger, type Maker, mayBeRepeated, PLANTED_ID, type Sent } from './record.js'
import { WatchedFaults } from './watched-faults.js'

const SNAPSHOT = 'prove'
/** Marks the redemption by which another till comes first. */
const OTHER_TILL = 'another-till'
/** User to whom the voucher before the action is issued. */
const RECIPIENT = 'prove-user'
/** Longest wait for connections of a program that has ended, ms. */
const CLOSING_MS_MAX = 2_000

/** Time in which an app repeats a call whose outcome it does not know: longer than the Retry-After of a fault. */
const RETRY_MS = 1_500

/** A call from its arrival on. */
export interface Arrived {
  readonly requestId: string
  readonly endpoint: string
  readonly nth: number
  readonly maker: Maker
  readonly run: number
  readonly body: unknown
}

/** A webhook to set before each run: a bot by name or id, and the address of the relay. */
export interface Hook {
  readonly bot: string
  readonly url: string
  readonly secret: string
}

/** The platform under a program: a server in memory with a snapshot, its faults, and a record of the program's calls. */
export class Ground {
  /** Calls of the present variant that have ended, in this order. */
  calls: Sent[] = []
  /** Set by the runner: number of the action's run. */
  run = 0
  /** Called when the response of a call has been sent. */
  onEnd: (call: Sent) => void = () => {}
  readonly arrived = new Map<string, Arrived>()
  /** Variables of the programs, without the address. */
  readonly env: Record<string, string> = {}
  /** Secrets by their names. */
  readonly secrets: Record<string, string> = {}
  readonly #server: StartedServer
  readonly #operator: Client
  readonly #app: Client
  /** Connections of the action; an app may keep its own open. */
  readonly #sockets = new Set<Socket>()
  readonly #listeners: Server[] = []
  readonly #ports = new Map<string, Maker>()
  readonly #counts = new Map<string, number>()
  #running = 0
  #silences = 0
  /** When the last call arrived or ended. */
  #calledAt = 0
  #startedAt = 0

  private constructor(server: StartedServer, token: string) {
    this.#server = server
    const baseUrl = server.baseUrl ?? ''
    this.#operator = createClient({ baseUrl, token: server.operatorKey ?? '' })
    this.#app = createClient({ baseUrl, token })
    server.deps.activity.onRequest = (item) => this.#ended(item)
    server.deps.faults.onWaitEnd((_requestId, kind) => {
      if (kind === 'silence') this.#silences -= 1
    })
  }

  /** Starts the server, plants what is there before the action, and saves it. */
  static async open(seed: Seed | undefined, hook: Hook | undefined): Promise<Ground> {
    const clock = new TestClock()
    const id = (prefix: IdPrefix) => newId(prefix, clock.now(), randomBytes)
    const planted = seed ?? exampleSeed({ newId: id, random: randomBytes })
    const faults = new WatchedFaults({ newId: id, now: () => clock.now(), random: randomBytes })
    const { startInProcess } = await import('../server/listen.js')
    const server = await startInProcess({ clock, listens: true, rateLimits: 'off', seed: planted, parts: { faults } })
    const application = planted.applications?.find((it) => it.tokens?.length)
    const ground = new Ground(server, application?.tokens?.[0]?.token ?? '')
    faults.watch = (endpoint, call, work) => ground.#watch(endpoint, call, work)
    try {
      await ground.#prepare(planted, hook)
    } catch (error) {
      await ground.close()
      throw error
    }
    return ground
  }

  /** Environment of a program: its address, and what the seed holds. */
  envOf(maker: Maker): Record<string, string> {
    const port = [...this.#ports].find(([, it]) => it === maker)?.[0]
    return { ...this.env, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${port}` }
  }

  /** Returns to the state before the action, without planted faults. */
  async restore(): Promise<void> {
    const { deps } = this.#server
    await deps.snapshots.restore(SNAPSHOT)
    const clock = deps.clock as TestClock
    clock.advance(Math.max(0, clock.trueNow() - clock.now()))
    deps.faults.restart()
    deps.activity.clear('restore')
    this.#counts.clear()
    this.arrived.clear()
    this.calls = []
    this.run = 0
    this.onEnd = () => {}
    this.#startedAt = performance.now()
  }

  /** Ms since the last restore. */
  now(): number {
    return performance.now() - this.#startedAt
  }

  get faults(): Faults {
    return this.#server.deps.faults
  }

  /** True while a call of a program has no response because of its disturbance. */
  get isWaiting(): boolean {
    return this.#running > 0 || this.#silences > 0
  }

  /**
   * Resolves when no call is open, and no connection of an action that was a process.
   * @param quietMs time without a call of an app that works after the action
   */
  async settled(hasProcess: boolean, quietMs: number): Promise<void> {
    const startedAt = performance.now()
    const isOpen = () => this.#sockets.size > 0 && performance.now() < startedAt + (hasProcess ? CLOSING_MS_MAX : 0)
    const isQuiet = () => {
      const last = this.calls.findLast((it) => it.maker === 'app')
      const ms = last !== undefined && mayBeRepeated(last) ? RETRY_MS : quietMs
      return performance.now() - Math.max(startedAt, this.#calledAt) >= ms
    }
    while (this.isWaiting || isOpen() || !isQuiet()) await new Promise((resolve) => setTimeout(resolve, 2))
  }

  async ledger(): Promise<Ledger> {
    const vouchers: Ledger[number][] = []
    for await (const page of this.#operator.platform.vouchers.pages({ limit: 100 })) vouchers.push(...page.items)
    return vouchers
  }

  /** Redeems a voucher as another till would; returns its id, or undefined if it cannot be redeemed. */
  async takeVoucher(body: unknown): Promise<string | undefined> {
    const { credential } = body as Parameters<Client['vouchers']['redeem']>[0]
    const redeemed = await this.#app.vouchers.redeem({ credential, reference: OTHER_TILL })
    return redeemed.ok ? redeemed.data.voucherId : undefined
  }

  /** Ms from now until the next attempt of an open delivery; 0 for one that is due, undefined if none is open. */
  async nextAttemptMs(): Promise<number | undefined> {
    const now = this.#server.deps.clock.now()
    const due: number[] = []
    for (const status of ['pending', 'delivering', 'failed'] as const) {
      const { items } = await unwrap(this.#operator.platform.deliveries({ status, limit: 100 }))
      due.push(...items.map((it) => Math.max(0, Date.parse(it.next_attempt_at ?? '1970-01-01') - now)))
    }
    return due.length === 0 ? undefined : Math.min(...due)
  }

  async recording(): Promise<string | null> {
    return (await unwrap(this.#operator.platform.recordScenario({}))).text
  }

  advanceClock(ms: number): void {
    ;(this.#server.deps.clock as TestClock).advance(ms)
  }

  async close(): Promise<void> {
    for (const it of this.#listeners) it.close()
    await this.#server.close()
  }

  async #prepare({ account, applications = [], bots = [] }: Seed, hook: Hook | undefined): Promise<void> {
    const { env, secrets } = this
    for (const maker of ['action', 'app'] as const) this.#ports.set(await this.#listen(maker), maker)
    const application = applications.find((it) => it.tokens?.length)
    const template = application?.templates?.find(({ status = 'active' }) => status === 'active')
    const bot = hook === undefined ? bots[0] : bots.find((it) => [it.id, it.name, it.username].includes(hook.bot))
    if (hook !== undefined && bot === undefined) {
      const names = bots.map((it) => it.username ?? it.id)
      throw new CannotProve(
        `--webhook names no bot of the seed: ${hook.bot}.`,
        `Its bots: ${names.join(', ') || 'none'}.`,
      )
    }
    const set = (name: string, value: string | undefined) =>
      value !== undefined && Object.assign(env, { [name]: value })
    const setSecret = (name: string, value: string | undefined, what: string) =>
      set(name, value) && Object.assign(secrets, { [what]: value })
    setSecret('VOUCHERCTL_TOKEN', application?.tokens?.[0]?.token, 'the application token')
    setSecret('VOUCHERCTL_BOT_TOKEN', bot?.token, 'the bot token')
    set('VOUCHERCTL_TEMPLATE_ID', template?.id)
    set('VOUCHERCTL_PROVE', '1')
    if (template !== undefined) {
      const input = { template_id: template.id, external_issue_id: PLANTED_ID, recipient_user_id: RECIPIENT }
      const issued = await this.#app.vouchers.issue(input)
      const code = issued.ok && issued.data.credentials.find((it) => it.type === 'redeem_code')?.value
      if (code) setSecret('VOUCHERCTL_CODE', code, 'the code of the voucher')
      if (code) set('VOUCHERCTL_RECIPIENT', RECIPIENT)
    }
    if (bot?.token !== undefined && bot.review_status !== 'pending') {
      const chat = await this.#operator.platform.createChat({ bot_id: bot.id, user_id: RECIPIENT })
      if (chat.ok) set('VOUCHERCTL_CHAT_ID', chat.data.id)
    }
    if (hook !== undefined && bot !== undefined) await this.#setWebhook(bot.id, bot.account ?? account, hook)
    await this.#server.deps.snapshots.save(SNAPSHOT)
  }

  async #setWebhook(botId: string, accountId: string, { url, secret }: Hook): Promise<void> {
    const { jwt } = await unwrap(this.#operator.platform.issueAccountToken({ accountId }))
    const owner = createClient({ baseUrl: this.#server.baseUrl ?? '', token: jwt })
    const types = { allowed_updates: [...updateTypes], drop_pending_updates: true }
    await unwrap(owner.webhook.set({ botId, url, secret_token: secret, ...types }))
    this.env.VOUCHERCTL_WEBHOOK_SECRET = secret
    this.secrets['the webhook secret'] = secret
  }

  /** Opens a port of the same server, by which calls of the action and of the app differ. */
  async #listen(maker: Maker): Promise<string> {
    const listener = createServer((socket) => {
      if (maker === 'action') this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      this.#server.app.server.emit('connection', socket)
    })
    const port = await listenOnLoopback(listener)
    this.#listeners.push(listener)
    return String(port)
  }

  async #watch<T>(endpoint: string, call: FaultedCall, work: () => Promise<T>): Promise<T> {
    const maker = this.#ports.get(call.host.split(':').at(-1) ?? '')
    if (maker === undefined || !canBeDisturbed(endpoint)) return work()
    const nth = (this.#counts.get(endpoint) ?? 0) + 1
    this.#counts.set(endpoint, nth)
    const arrived = { requestId: call.requestId, endpoint, nth, maker, run: this.run, body: call.body }
    this.arrived.set(call.requestId, arrived)
    this.#running += 1
    this.#calledAt = performance.now()
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#calledAt = performance.now()
    }
  }

  #ended({ entry, captured }: RequestItem): void {
    const arrived = this.arrived.get(entry.request_id)
    const call = captured !== null && 'rawHeaders' in captured ? captured : undefined
    const header = (name: string) => call && headerValues(call, name)[0]
    const maker = arrived?.maker ?? this.#ports.get(header('host')?.split(':').at(-1) ?? '')
    if (call === undefined || maker === undefined) return
    const endedAt = this.now()
    const retryAfter = call.status === null ? undefined : call.responseHeaders['retry-after']
    const { body } = call
    const sent: Sent = {
      requestId: entry.request_id,
      endpoint: entry.endpoint,
      nth: arrived?.nth ?? 0,
      maker,
      run: arrived?.run ?? this.run,
      path: call.url,
      body: body === null ? undefined : 'json' in body ? body.json : parseJson(body.toString()),
      key: header('idempotency-key'),
      startedAt: endedAt - entry.duration_ms,
      endedAt,
      status: entry.status,
      code: entry.code,
      fault: entry.fault,
      retryAfterMs: retryAfter === undefined ? undefined : Number(retryAfter) * 1000,
      replayed: entry.replayed,
      data: asMembers(parseJson(call.responseBody ?? ''))?.data,
    }
    if (entry.fault === 'silence') this.#silences += 1
    this.calls.push(sent)
    this.onEnd(sent)
  }
}
