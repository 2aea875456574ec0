import type { Endpoint, InputOf, OutputOf } from '../../src/contract/endpoint.js'
import { refuse } from '../../src/contract/errors.js'
import type { DeliveryRow } from '../../src/domain/bot/rows.js'
import { makeToken } from '../../src/domain/tokens.js'
import { steadyNow, TestClock } from '../../src/server/clock.js'
import type { AttemptResult, Delivery } from '../../src/server/delivery/sender.js'
import { type OpenWebhook, openWebhook } from '../../src/server/delivery/signing.js'
import { type StartedServer, start } from '../../src/server/listen.js'
import type { ServerPlace } from '../../src/server/place.js'
import { keyFileInMemory, lazyKeys, SecureKeys } from '../../src/server/transport/keys.js'
import type { Op } from '../../src/store/operation.js'
import { openSqliteStore } from '../../src/store/sqlite/store.js'
import { signWebhook } from '../../src/webhook/signature.js'
// Loaded here, because the server loads it with the first call, at an unknown moment.
import '../../src/server/http/endpoint-codec.js'
import type { Random } from '../faults/random.js'
import { type ApiResponse, callerOf, injectInto, type Send } from '../support/server/client.js'
import { wrongCounts } from '../support/store/bot-counts.js'
import { type ReceiverBehaviour, simulatedSender } from './receivers.js'
import type { Owner, Scheduler } from './scheduler.js'
import { type StoreBehaviour, simulatedStore, type WriteCheck } from './simulated-store.js'
import { byId, EMPTY, isDeliverable, isPending, ofBot, StateReader, type StoredState } from './stored-state.js'
import { type Claim, reviewWrite, type Write } from './write-rules.js'

/** A stop waits 9 s for calls and deliveries, and then writes their results to a slow store. */
const STOP_SECONDS_MAX = 30

/** The worker looks for due deliveries at least once a minute; a slow or failing store delays it. */
const WAITING_MS_MAX = 90_000

export const ACCOUNT_JWT = 'account.owner.simulated'

/** The running process of the server. */
interface Process extends Owner {
  readonly started: StartedServer
  readonly send: Send
  /** Resolves to null when the process has ended. */
  readonly over: Promise<null>
  end(): void
}

/** When an update was committed, and when it stopped being pending. */
interface UpdateLife {
  readonly body: string
  readonly step: number
  readonly at: number
  endedStep: number
}

/** How much the environment disturbs the server. */
export interface Disturbance {
  readonly store: Pick<StoreBehaviour, 'latency' | 'fault'>
  readonly receivers: ReceiverBehaviour
}

const bytes = (random: Random) => (size: number) => Uint8Array.from({ length: size }, () => random.below(256))

/**
 * The server with all its background work in virtual time. Its processes start, stop and crash; the database, the keys
 * and the clock outlive them. Checks every committed write and every delivery attempt.
 */
export class SimulatedServer {
  readonly violations: string[] = []
  state: StoredState = EMPTY
  /** Step at which a process began to stop or crashed for the last time. */
  stoppedStep = 0
  readonly confirmedBelow = new Map<string, number>()
  readonly dropping = new Set<string>()
  readonly updates = new Map<string, UpdateLife>()
  /** Steps at which the bots with a webhook got one. */
  readonly calledSince = new Map<string, number>()
  readonly clock: TestClock
  readonly operatorKey: string
  /** Bots by the URLs of their webhooks. */
  readonly botOfUrl = new Map<string, string>()
  attempts = 0
  readonly scheduler: Scheduler
  disturbance: Disturbance
  readonly #random: (size: number) => Uint8Array
  readonly #database = openSqliteStore(':memory:')
  readonly #place: ServerPlace
  readonly #reader = new StateReader()
  readonly #claims = new Map<string, Claim>()
  readonly #results = new Map<string, AttemptResult & { readonly step: number }>()
  readonly #waitingSince = new Map<string, number>()
  readonly #claimedFor = new Map<string, number>()
  /** Attempts of the present process without a result. */
  readonly #inFlight = new Set<string>()
  readonly #keys
  #process: Process | null = null

  constructor(scheduler: Scheduler, random: Random, disturbance: Disturbance) {
    this.scheduler = scheduler
    this.disturbance = disturbance
    this.#random = bytes(random.of('server'))
    this.clock = new TestClock({ now: () => scheduler.now })
    this.operatorKey = makeToken('opk_', this.#random)
    const key = { id: 'key_simulated', derive: this.#random(32), index: this.#random(32) }
    this.#keys = { current: key, all: [key] }
    const transportKeys = keyFileInMemory()
    this.#place = {
      database: ':memory:',
      dataDir: null,
      operatorKeyFile: null,
      loadKeys: () => ({ credentials: this.#keys, account: this.#random(32) }),
      loadOperatorKey: () => this.operatorKey,
      openTransportKeys: (source, clock) => lazyKeys(() => new SecureKeys(transportKeys, source, clock.now())),
      announce: () => () => {},
      remove: () => {},
    }
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  async start(): Promise<void> {
    const { scheduler } = this
    const owner: Owner = { ended: false }
    let end = () => {}
    const over = new Promise<null>((resolve) => {
      end = () => resolve(null)
    })
    const behaviour: StoreBehaviour = {
      latency: () => this.disturbance.store.latency(),
      fault: () => (this.#process === null ? 'none' : this.disturbance.store.fault()),
      check: () => this.#check(),
    }
    const receivers: ReceiverBehaviour = {
      latency: () => this.disturbance.receivers.latency(),
      status: () => this.disturbance.receivers.status(),
    }
    const parts = {
      store: simulatedStore(this.#database, owner, scheduler, behaviour),
      random: this.#random,
      sender: simulatedSender(
        scheduler,
        receivers,
        (delivery) => this.#onSend(delivery),
        ({ url }) => this.violations.push(`a stopping process begins no attempt: ${url}`),
      ),
      webhooks: { loopbackPorts: new Set<number>(), egressIps: [], lookup: async () => ['93.184.215.14'] },
      accounts: {
        verify: async (jwt: string) =>
          jwt === ACCOUNT_JWT ? ({ ok: true, accountId: 'owner' } as const) : refuse('TOKEN_INVALID'),
        sign: null,
      },
    }
    const { clock } = this
    const options = { clock, parts, listens: false, logLevel: 'silent', autoApprove: true, rateLimits: 'off' } as const
    const leased = this.state.deliveries.filter((it) => it.lease_until !== null)
    const started = await scheduler.as(owner, () => start(options, this.#place))
    const isLeft = (it: DeliveryRow) => it.lease_until === byId(this.state.deliveries, it.id)?.lease_until
    if (leased.length > 0 && leased.every(isLeft)) this.violations.push('a start ends leases of earlier processes')
    this.#waitingSince.clear()
    this.#process = Object.assign(owner, { started, send: injectInto(started.app), over, end })
  }

  /** Ends the process without any clean-up. */
  crash(): void {
    if (this.#process === null) return
    this.stoppedStep = this.scheduler.steps
    this.#process.ended = true
    this.#process.end()
    this.#process = null
    this.#forgetAttempts()
  }

  /** Stops the process as SIGTERM does. */
  async stop(): Promise<void> {
    const stopping = this.#process
    if (stopping === null) return
    this.stoppedStep = this.scheduler.steps
    this.#process = null
    const startedAt = this.scheduler.now
    await this.scheduler.as(stopping, () => stopping.started.close())
    this.checkResults(this.stoppedStep)
    for (const attempt of this.#inFlight) this.violations.push(`a stop ends attempts in flight: ${attempt}`)
    const seconds = (this.scheduler.now - startedAt) / 1000
    if (seconds > STOP_SECONDS_MAX) this.violations.push(`a stop ends in time: ${seconds} s`)
    stopping.ended = true
    stopping.end()
    this.#forgetAttempts()
  }

  /** Checks the counts that triggers keep. */
  async checkCounts(): Promise<void> {
    const wrong = JSON.stringify(await this.#database.read(wrongCounts))
    if (wrong !== '{}') this.violations.push(`counts equal their rows: ${wrong}`)
  }

  /** Releases the memory of the database. */
  closeDatabase(): Promise<void> {
    return this.#database.close()
  }

  /** Checks that the store has the results of all attempts that ended at `step` or later. */
  checkResults(step: number): void {
    const recorded = new Set(this.state.attempts.map((it) => `${it.delivery_id} ${it.started_at}`))
    for (const [attempt, result] of this.#results) {
      if (result.step >= step && !recorded.has(attempt)) this.violations.push(`a result is recorded: ${attempt}`)
    }
  }

  /** Returns the webhook of a bot with its URL and secrets. */
  webhookOf(botId: string): OpenWebhook | null {
    const row = ofBot(this.state.webhooks, botId)
    return row === undefined ? null : openWebhook(row, this.#keys)
  }

  /** True if the running process accepts a key of the encrypted transport. */
  acceptsKey(kid: string): boolean {
    return this.#process?.started.deps.secure.keys.keyFor(kid, this.clock.now()) !== undefined
  }

  #forgetAttempts(): void {
    this.#claims.clear()
    this.#inFlight.clear()
    this.#waitingSince.clear()
  }

  /** Makes an API call; resolves to null if the server is not running or crashes before the response. */
  async call<E extends Endpoint>(
    credential: string,
    endpoint: E,
    input: InputOf<E>,
    key?: string,
  ): Promise<ApiResponse<OutputOf<E>> | null> {
    const process = this.#process
    if (process === null) return null
    const call = callerOf(process.send, credential)
    const received = this.scheduler.as(process, () => call(endpoint, input, key === undefined ? {} : { key }))
    const response = await Promise.race([received, process.over])
    if (response !== null && response.status === 500) this.violations.push(`${endpoint.id} responded ${response.text}`)
    return response
  }

  #check(): WriteCheck {
    const queuedAt = this.clock.now()
    const { clock, confirmedBelow, dropping } = this
    const claimedFor = this.#claimedFor
    const reader = this.#reader
    let write: Write | undefined
    let runs = 0
    const review = function* <T>(op: () => Op<T>): Op<T> {
      // A second run means that the transaction of the first one was rolled back.
      if (runs++ > 0) reader.clear()
      let before: StoredState | undefined
      const steps = op()
      let step = steps.next()
      while (!step.done) {
        const { value } = step
        const statements = value.kind === 'several' ? value.statements : 'sql' in value ? [value] : []
        const writing = statements.filter((it) => it.kind === 'run' || it.changes)
        if (writing.length > 0) before ??= yield* reader.read()
        for (const { sql } of writing) reader.written(sql)
        step = steps.next(yield value)
      }
      write = undefined
      if (before !== undefined) {
        const after = yield* reader.read()
        write = { before, after, queuedAt, ranAt: clock.now(), confirmedBelow, dropping, claimedFor }
      }
      return step.value
    }
    return {
      review,
      committed: () => {
        if (write !== undefined) this.#noteWrite(write)
        this.#noteWaiting()
      },
      failed: () => reader.clear(),
    }
  }

  #noteWrite(write: Write): void {
    const { violations, claims } = reviewWrite(write)
    this.violations.push(...violations)
    for (const claim of claims) {
      const { id, bot_id: botId, update_id: updateId, last_attempt_at: startedAt } = claim.delivery
      this.#claims.set(`${botId} ${updateId}`, claim)
      this.#claimedFor.set(`${id} ${startedAt}`, claim.webhook.set_at)
    }
    this.#noteState(write.after)
  }

  /** Checks that no delivery waits long although its bot has none in flight. */
  #noteWaiting(): void {
    const { state } = this
    const now = this.scheduler.now
    for (const row of state.deliveries) {
      const isDue = row.ready === 1 || (row.status === 'failed' && (row.next_attempt_at ?? 0) <= this.clock.now())
      const maySend =
        isDue &&
        isDeliverable(state, row) &&
        ofBot(state.webhooks, row.bot_id) !== undefined &&
        byId(state.bots, row.bot_id)?.status === 'active' &&
        !state.deliveries.some((it) => it.bot_id === row.bot_id && it.lease_until !== null)
      const since = this.#waitingSince.get(row.id)
      if (!maySend) this.#waitingSince.delete(row.id)
      else if (since === undefined) this.#waitingSince.set(row.id, now)
      else if (now > since + WAITING_MS_MAX) {
        this.violations.push(`a due delivery is sent within a minute: update ${row.update_id} of ${row.bot_id}`)
      }
    }
  }

  /** Notes which updates and webhooks the committed state has, and compares recorded attempts with real ones. */
  #noteState(state: StoredState): void {
    const { steps: step, now: at } = this.scheduler
    const attempts = state.attempts === this.state.attempts ? [] : state.attempts
    for (const attempt of attempts) {
      const key = `${attempt.delivery_id} ${attempt.started_at}`
      if (attempt.error_code === 'lease_expired') {
        if (this.#inFlight.has(key)) this.violations.push(`a lease outlives its attempt: ${key}`)
        continue
      }
      const result = this.#results.get(key)
      const isTrue = result?.statusCode === attempt.status_code && (result.error?.code ?? null) === attempt.error_code
      if (!isTrue) this.violations.push(`an attempt is recorded with its own result: ${JSON.stringify(attempt)}`)
    }
    const pending = new Set<string>()
    for (const update of state.updates) {
      const key = `${update.bot_id} ${update.update_id}`
      if (isPending(state, update)) pending.add(key)
      if (!this.updates.has(key)) {
        this.updates.set(key, { body: update.body, step, at, endedStep: Number.POSITIVE_INFINITY })
      }
    }
    for (const [key, life] of this.updates) if (!pending.has(key)) life.endedStep = Math.min(life.endedStep, step)
    const called = new Set(state.webhooks.map((it) => it.bot_id))
    for (const botId of this.calledSince.keys()) if (!called.has(botId)) this.calledSince.delete(botId)
    for (const botId of called) if (!this.calledSince.has(botId)) this.calledSince.set(botId, step)
    this.state = state
  }

  /** Checks an attempt when it begins; the returned function notes its result. */
  #onSend({ url, headers, body }: Delivery): (result: AttemptResult) => void {
    this.attempts += 1
    const updateId = headers['X-Platform-Update-Id'] as string
    const key = `${this.botOfUrl.get(url)} ${updateId}`
    const claim = this.#claims.get(key)
    this.#claims.delete(key)
    if (claim === undefined) {
      this.violations.push(`an attempt needs a claim of its own: ${url}, update ${updateId}`)
      return () => {}
    }
    const webhook = openWebhook(claim.webhook, this.#keys)
    const withOld = (claim.webhook.old_secret_until ?? 0) > this.clock.now()
    const secrets = [webhook.secret, ...(withOld && webhook.oldSecret !== null ? [webhook.oldSecret] : [])]
    const timestamp = Math.floor(this.scheduler.now / 1000)
    const signed = signWebhook({ rawBody: body, secrets, timestamp, updateId })
    const rules = {
      'an attempt goes to the webhook of its claim': webhook.url === url,
      'an attempt is signed with the present secrets': Object.entries(signed).every(
        ([name, it]) => headers[name] === it,
      ),
      'an attempt sends the stored bytes': Buffer.from(body).toString() === claim.body,
      'an attempt begins during its lease': (claim.delivery.lease_until ?? 0) > steadyNow(),
    }
    for (const [rule, holds] of Object.entries(rules)) {
      if (!holds) this.violations.push(`${rule}: ${url}, update ${updateId}`)
    }
    const { id, last_attempt_at: startedAt } = claim.delivery
    const attempt = `${id} ${startedAt}`
    this.#inFlight.add(attempt)
    return (result) => {
      this.#inFlight.delete(attempt)
      this.#results.set(attempt, { ...result, step: this.scheduler.steps })
    }
  }
}
