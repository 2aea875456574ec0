import type { FaultKind } from '../../contract/platform/fault-kinds.js'
import type { WebhookRow } from '../../domain/bot/rows.js'
import { applyAttempt, DELIVERY_SLOTS, slotsFor } from '../../domain/delivery.js'
import { KeyMissing, type Keyring } from '../../domain/keyring.js'
import type { Attempt, EndedAttempt } from '../../store/delivery/attempt-results.js'
import { BACKLOG } from '../../store/delivery/backlog.js'
import {
  botsWithWork,
  runWorkerPass,
  type WorkerPass,
  type WorkerPassResult,
} from '../../store/delivery/worker-pass.js'
import { STATE_REPLACED } from '../../store/snapshots.js'
import type { Store } from '../../store/store.js'
import { type Clock, steadyNow } from '../clock.js'
import type { Faults } from '../faults.js'
import type { AttemptLog, MadeAttempt } from './attempt-log.js'
import type { Sender } from './sender.js'
import { deliveryHeaders, type OpenWebhook, openWebhook, signingSecrets } from './signing.js'

/** Result of an attempt in the metrics; `dead_letter` if it failed as the last one of its delivery. */
export type ResultLabel = 'delivered' | 'failed' | 'dead_letter'

interface DeliveryWorkerOptions {
  readonly store: Store
  /** Clock of schedules and of all stored times. */
  readonly clock: Clock
  readonly keys: Keyring
  readonly sender: Sender
  /** System time for leases and X-Platform-Timestamp. Default: Date.now; steadyNow for leases of a single process. */
  readonly trueNow?: (() => number) | undefined
  /** Maximum of concurrent attempts across all bots; default DELIVERY_SLOTS. */
  readonly slots?: number | undefined
  /** Faults of deliveries (rules/operator.md#faults-of-deliveries); absent without them. */
  readonly faults?: Pick<Faults, 'ofDelivery'> | undefined
  /** Stores the latest attempts; absent if nobody may read them. */
  readonly attempts?: Pick<AttemptLog, 'add'> | undefined
  /** Called for each ended attempt, after the store has its result. */
  readonly onAttempt?: ((result: ResultLabel) => void) | undefined
  /** Called with internal errors, which contain nothing from a webhook or its endpoint. */
  readonly onError: (error: unknown) => void
}

const LEASE_SWEEP_MS = 10_000
/** Delay before the worker repeats a pass whose transaction failed. */
const RETRY_MS = 1_000
/** Maximum delay of the timer for due deliveries: setTimeout is limited to 2^31 ms, and the system clock may change. */
const TIMER_MS_MAX = 60_000

const ALWAYS = Number.MAX_SAFE_INTEGER

interface ReportedAttempt extends EndedAttempt {
  /** What was sent: the attempt, and a second sending by a fault. */
  readonly made?: readonly MadeAttempt[]
}

/**
 * Delivers updates to webhooks (rules/webhooks.md#delivery-order). A crash loses no delivery, because the store holds
 * the claims with their leases. One pass at a time writes results and the next claims in one transaction.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions
  readonly #trueNow: () => number
  #leaseNow: () => number
  readonly #stops: (() => unknown)[] = []
  readonly #webhooks = new Map<string, OpenWebhook>()
  #botIds = new Set<string>()
  /** Bots with due deliveries that found no free slot, with their accounts if known. */
  readonly #waiting = new Map<string, string | null>()
  #ended: ReportedAttempt[] = []
  /** Claims that a fault postpones. */
  #postponed: Attempt[] = []
  #hasPostponed = false
  /** Claims whose commit has an unknown result, because the store failed before it reported the result. */
  #unconfirmed: readonly Attempt[] = []
  readonly #slots: number
  readonly #inFlight = new Set<Promise<void>>()
  readonly #held = new Map<string | null, number>()
  #expiresLeases = false
  #pass: Promise<void> | null = null
  /** Incremented when the state of the store is replaced (`forget`): results of earlier attempts are then dropped. */
  #generation = 0
  #isPaused = false
  #dueTimer: NodeJS.Timeout | undefined
  #claims = true

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options
    this.#trueNow = options.trueNow ?? Date.now
    this.#leaseNow = this.#trueNow
    this.#slots = options.slots ?? DELIVERY_SLOTS
  }

  /**
   * Starts deliveries.
   * @param alone true if no other process uses the store: all leases in the store then belong to exited processes
   */
  async start({ alone }: { readonly alone: boolean }): Promise<void> {
    const { store, clock } = this.#options
    // Steady clock: a forward step of the system clock cannot expire the leases of this process.
    if (alone) this.#leaseNow = this.#options.trueNow ?? steadyNow
    const rescan = () => this.#rescan()
    const isBot = (subject: string) => subject !== BACKLOG && subject !== STATE_REPLACED
    this.#stops.push(store.listen((subject) => isBot(subject) && this.#addBot(subject), rescan))
    this.#stops.push(clock.onMove(() => this.#wake()))
    const sweep = setInterval(() => {
      this.#expiresLeases = true
      // Also pick up deliveries that another process was notified of but did not send.
      if (alone) this.#wake()
      else rescan()
    }, LEASE_SWEEP_MS)
    sweep.unref()
    this.#stops.push(() => clearInterval(sweep))
    for (const botId of await store.read(botsWithWork)) this.#botIds.add(botId)
    await this.#commitPass(alone ? ALWAYS : this.#leaseNow())
    this.#wakeIfNeeded()
  }

  #rescan(): void {
    this.#options.store.read(botsWithWork).then((botIds) => {
      for (const botId of botIds) this.#botIds.add(botId)
      this.#wake()
    }, this.#options.onError)
  }

  /** Waits for the running pass and starts none until `resume`. Attempts in flight continue. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#pass
  }

  /** Discards all claims and results, because their rows are replaced. */
  forget(): void {
    this.#generation += 1
    this.#ended = []
    this.#postponed = []
    this.#unconfirmed = []
    this.#botIds.clear()
    this.#waiting.clear()
    this.#webhooks.clear()
    clearTimeout(this.#dueTimer)
  }

  resume(): void {
    this.#isPaused = false
    if (this.#claims) this.#rescan()
  }

  /** Stops claiming deliveries, waits at most `graceMs` for attempts in flight and writes their results. */
  async stop(graceMs: number): Promise<void> {
    this.#claims = false
    for (const stop of this.#stops.splice(0)) stop()
    clearTimeout(this.#dueTimer)
    await this.#pass
    await this.#options.sender.close(graceMs)
    await Promise.all(this.#inFlight)
    while (this.#ended.length + this.#postponed.length > 0) {
      try {
        await this.#commitPass(null)
      } catch (error) {
        // Drop the results: the leases of these attempts expire, and the next start records the attempts as failed.
        return this.#options.onError(error)
      }
    }
  }

  #addBot(botId: string): void {
    this.#botIds.add(botId)
    this.#wake()
  }

  #wake(): void {
    if (!this.#claims || this.#isPaused || this.#pass !== null) return
    this.#pass = this.#runPass()
  }

  #wakeIfNeeded(): void {
    const hasRoom = this.#inFlight.size < this.#slots
    if (this.#ended.length + this.#postponed.length > 0 || this.#expiresLeases || (this.#botIds.size > 0 && hasRoom))
      this.#wake()
  }

  async #runPass(): Promise<void> {
    // Let attempts share one transaction as long as each tick ends more of them.
    for (let ended = -1; ended < this.#ended.length; ) {
      ended = this.#ended.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    const lostBefore = this.#expiresLeases ? this.#leaseNow() : null
    this.#expiresLeases = false
    try {
      await this.#commitPass(lostBefore)
      this.#pass = null
      this.#wakeIfNeeded()
    } catch (error) {
      this.#options.onError(error)
      this.#pass = null
      this.#setTimer(RETRY_MS)
    }
  }

  async #commitPass(lostBefore: number | null): Promise<void> {
    const { store, clock } = this.#options
    const generation = this.#generation
    const ended = this.#ended
    const postponed = this.#postponed
    // A stopping process drops unconfirmed claims: their leases expire.
    const unconfirmed = this.#claims ? this.#unconfirmed : []
    const room = this.#claims ? this.#slots - this.#inFlight.size : 0
    const bots = this.#botsToServe(room)
    this.#ended = []
    this.#postponed = []
    this.#unconfirmed = []
    const times = { now: clock.now(), trueNow: this.#leaseNow() }
    const known = { hasPostponed: this.#hasPostponed, held: this.#held }
    const input: WorkerPass = { ended, postponed, unconfirmed, bots, lostBefore, room, ...known, ...times }
    let claimed: readonly Attempt[] = []
    let result: WorkerPassResult
    try {
      result = await store.write(function* () {
        claimed = []
        const done = yield* runWorkerPass(input)
        claimed = done.begun
        return done
      })
    } catch (error) {
      if (generation !== this.#generation) throw error
      // The commit may have succeeded: the next pass reads the rows to find out.
      this.#unconfirmed = [...unconfirmed, ...claimed]
      this.#ended.unshift(...ended.map((one) => ({ ...one, mayBeWritten: true as const })))
      this.#postponed.unshift(...postponed)
      for (const botId of bots.keys()) this.#botIds.add(botId)
      if (lostBefore !== null) this.#expiresLeases = true
      throw error
    }
    if (generation !== this.#generation) {
      // Another process has replaced the state: the next pass finds out which claims still exist.
      this.#unconfirmed = result.begun
      return
    }
    this.#report(ended)
    for (const botId of result.unfinished) this.#botIds.add(botId)
    for (const [botId, accountId] of result.waiting) this.#waiting.set(botId, accountId)
    if (result.moreLost) this.#expiresLeases = true
    this.#hasPostponed = result.hasPostponed
    for (const attempt of result.begun) this.#begin(attempt)
    if (this.#claims && result.nextDueAt !== null) this.#setTimer(result.nextDueAt - clock.now())
  }

  /** Bots that the next pass serves. Includes a bot that waits for a slot only if its account may take a free slot. */
  #botsToServe(room: number): ReadonlyMap<string, string | null> {
    const bots = new Map<string, string | null>()
    for (const [botId, accountId] of this.#waiting) {
      if (slotsFor(room, this.#held.get(accountId) ?? 0) > 0) bots.set(botId, accountId)
    }
    for (const botId of bots.keys()) this.#waiting.delete(botId)
    for (const botId of this.#botIds) if (!bots.has(botId)) bots.set(botId, this.#waiting.get(botId) ?? null)
    this.#botIds = new Set()
    return bots
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#dueTimer)
    if (!this.#claims) return
    this.#dueTimer = setTimeout(() => this.#wake(), Math.min(Math.max(ms, 0), TIMER_MS_MAX))
    this.#dueTimer.unref()
  }

  #begin(attempt: Attempt): void {
    const { accountId } = attempt
    const generation = this.#generation
    this.#held.set(accountId, (this.#held.get(accountId) ?? 0) + 1)
    const fault = this.#faultOf(attempt)
    const isPostponed = fault === 'late' && !attempt.wasPostponed
    const making = (isPostponed ? Promise.resolve(null) : this.#attempt(attempt, fault)).then((ended) => {
      this.#inFlight.delete(making)
      const left = (this.#held.get(accountId) ?? 0) - 1
      if (left > 0) this.#held.set(accountId, left)
      else this.#held.delete(accountId)
      if (generation === this.#generation) {
        if (ended === null) this.#postponed.push(attempt)
        else this.#ended.push(ended)
      }
      this.#wake()
    })
    this.#inFlight.add(making)
  }

  /** Finds the fault of an attempt; manual retries have none. */
  #faultOf({ manual, wasPostponed, botId, body }: Attempt): FaultKind | undefined {
    if (manual) return undefined
    return wasPostponed ? 'late' : this.#options.faults?.ofDelivery(botId, body)?.kind
  }

  async #attempt(attempt: Attempt, fault: FaultKind | undefined): Promise<ReportedAttempt> {
    const { clock, onError } = this.#options
    const startedAt = performance.now()
    const generation = this.#generation
    try {
      const first = await this.#send(attempt, fault)
      const { result } = first
      const made: MadeAttempt[] = [first]
      const ended = { attempt, fault, outcome: result, ipAddress: result.ipAddress, endedAt: clock.now(), made }
      const isRepeated = fault === 'duplicate' && result.statusCode !== null
      // Within the slot and the lease of the attempt, so that the limits of connections hold.
      if (isRepeated && generation === this.#generation && this.#claims)
        await this.#send(attempt, fault).then((again) => made.push({ ...again, attempt: null }), onError)
      return ended
    } catch (error) {
      onError(error)
      // Leave deliveries to the processes that have the key of this webhook.
      if (error instanceof KeyMissing) this.#claims = false
      const outcome = { statusCode: null, error: notMade, durationMs: Math.round(performance.now() - startedAt) }
      return { attempt, outcome, ipAddress: null, endedAt: clock.now() }
    }
  }

  async #send(attempt: Attempt, fault: FaultKind | undefined) {
    const { sender, clock } = this.#options
    const webhook = this.#webhookOf(attempt.webhook)
    const { url, allowedIps, isBorrowed } = webhook
    const body = Buffer.from(attempt.body)
    const secrets = signingSecrets(webhook, clock.now())
    const headers = deliveryHeaders(body, attempt.updateId, secrets, Math.floor(this.#trueNow() / 1000), fault)
    const result = fault === 'lost' ? lost : await sender.send({ url, body, headers, allowedIps, isBorrowed })
    const { deliveryId, updateId, botId, manual } = attempt
    return {
      ...{ deliveryId, updateId, botId, manual, url, headers, body, secrets, result, fault },
      startedAt: attempt.startedAt,
      endedAt: this.#trueNow(),
      attempt: manual ? null : attempt.claimed.attempt_count + 1,
      replay: false,
    }
  }

  /** Adds attempts to metrics and log after the store has their results, so that a reader of the log finds both. */
  #report(ended: readonly ReportedAttempt[]): void {
    const { attempts, onAttempt, onError } = this.#options
    for (const it of ended) onAttempt?.(resultLabel(it))
    if (attempts === undefined) return
    for (const made of ended.flatMap((it) => it.made ?? [])) {
      try {
        attempts.add(made)
      } catch (error) {
        onError(error)
      }
    }
  }

  /** Decrypted webhook, cached by bot until the webhook changes. */
  #webhookOf(row: WebhookRow): OpenWebhook {
    const cached = this.#webhooks.get(row.bot_id)
    if (cached !== undefined && cached.row.url === row.url && cached.row.secret === row.secret)
      return { ...cached, row }
    const opened = openWebhook(row, this.#options.keys)
    if (this.#webhooks.size >= 10_000) this.#webhooks.clear()
    this.#webhooks.set(row.bot_id, opened)
    return opened
  }
}

function resultLabel({ attempt, outcome, endedAt }: EndedAttempt): ResultLabel {
  if (outcome.error === null) return 'delivered'
  const isLast = !attempt.manual && applyAttempt(attempt.claimed, attempt, outcome, endedAt)?.status === 'dead_letter'
  return isLast ? 'dead_letter' : 'failed'
}

/** Result of an attempt that a fault lost. */
const lost = {
  statusCode: null,
  error: { code: 'planted_fault', message: 'A planted fault lost this attempt: it was not sent.' },
  durationMs: 0,
  ipAddress: null,
  response: null,
} as const

const notMade = { code: 'internal_error', message: 'The server could not make the attempt.' }
