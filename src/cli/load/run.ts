import { setMaxListeners } from 'node:events'
import type { Call } from '../../client/call.js'
import type { CallFailure, CallResult } from '../../client/result.js'
import { type Credential, vouchers as contract } from '../../contract/vouchers.js'
import { seededRandom } from '../../values/seeded-random.js'
import { ConnectionQueue } from './connection-queue.js'
import type { Operation } from './mix.js'
import { type LoadClock, runOpenLoop } from './open-loop.js'
import { NO_VOUCHER, NOT_SENT } from './report.js'
import { type DueCall, dueCalls, type Schedule, totalsOf } from './schedule.js'
import { Series } from './series.js'
import { Statistics } from './statistics.js'
import type { Target } from './targets.js'

const VERIFIED_MAX = 10_000

export interface LoadOptions {
  readonly targets: readonly Pick<Target, 'call' | 'callWithRetries'>[]
  readonly connections: number
  readonly schedule: Schedule
  /** Calls due before this time of the run, in ms, are not counted. */
  readonly warmupMs: number
  readonly template: string
  /** Users to whom vouchers are issued, in turn. */
  readonly recipients: readonly string[]
  /** Prefix of external issue ids and idempotency keys, so that two runs share none. */
  readonly runId: string
  readonly timeoutMs: number
  readonly clock: LoadClock
  readonly signal: AbortSignal
}

/** Load on a platform: issues vouchers ahead, then sends the calls of the schedule. */
export class LoadRun {
  readonly statistics: Readonly<Record<Operation, Statistics>> = {
    issue: new Statistics(),
    verify: new Statistics(),
    redeem: new Statistics(),
  }
  /** Delay between the due time of each call and its start. */
  readonly lateness = new Statistics()
  readonly series = new Series()
  /** Number of vouchers that `prepare` issues. */
  readonly ahead: number
  readonly #options: LoadOptions
  readonly #queues: readonly ConnectionQueue[]
  readonly #vouchers: VoucherPool
  #issued = 0
  #keys = 0
  #turn = 0
  #issuedAhead = 0

  constructor(options: LoadOptions) {
    const { targets, connections, schedule, signal } = options
    // Each concurrent call adds a listener to the signal, so disable Node's leak warning.
    setMaxListeners(0, signal)
    this.#options = options
    this.#queues = targets.map(() => new ConnectionQueue(connections))
    // At least one per address, so that the trial calls find an address that does not respond.
    this.ahead = Math.max(totalsOf(schedule).ahead, targets.length)
    this.#vouchers = new VoucherPool(schedule.mix.redeem > 0, seededRandom(schedule.seed))
  }

  get issuedAhead(): number {
    return this.#issuedAhead
  }

  get waiting(): number {
    return this.#queues.reduce((sum, it) => sum + it.waiting, 0)
  }

  get waitingMax(): number {
    return Math.max(...this.#queues.map((it) => it.waitingMax))
  }

  /**
   * Issues vouchers before the run, at most `rate` a second, and tries each other operation once, so that a missing
   * server, template or scope ends the command before the load. Retries transient failures; returns the first other one.
   */
  async prepare(): Promise<CallFailure | undefined> {
    return (await this.#issueAhead(1)) ?? (await this.#issueAhead(this.ahead - 1)) ?? (await this.#tryOthers())
  }

  async #issueAhead(count: number): Promise<CallFailure | undefined> {
    const { schedule, connections, targets, clock, signal } = this.#options
    const startedAt = clock.nowMs()
    let failure: CallFailure | undefined
    let begun = 0
    const work = async () => {
      while (begun < count && failure === undefined && !signal.aborted) {
        const left = startedAt + (begun * 1000) / schedule.rate - clock.nowMs()
        begun += 1
        if (left > 0) await clock.sleep(left, signal)
        const { callWithRetries } = this.#nextTarget()
        const refused = await this.#issue(callWithRetries)
        if (refused === undefined) this.#issuedAhead += 1
        failure ??= refused
      }
    }
    await Promise.all(Array.from({ length: Math.min(connections * targets.length, count) }, work))
    return failure
  }

  async #tryOthers(): Promise<CallFailure | undefined> {
    const { mix } = this.#options.schedule
    for (const operation of ['verify', 'redeem'] as const) {
      if (mix[operation] === 0 || this.#options.signal.aborted) continue
      const refused = await this.#perform(operation, this.#nextTarget().callWithRetries)
      if (refused !== undefined && refused !== NO_VOUCHER) return refused
    }
    return undefined
  }

  /** Sends the calls of the schedule. Resolves when each call has a response or, after an abort, has ended. */
  async run(): Promise<void> {
    const { targets, schedule, warmupMs, clock, signal } = this.#options
    await runOpenLoop<DueCall>({
      calls: dueCalls(schedule),
      queues: this.#queues,
      clock,
      signal,
      send: async ({ operation, dueMs }, dueAt, address) => {
        const failure = await this.#perform(operation, (targets[address] as Target).call)
        const code = failure === undefined || failure === NO_VOUCHER ? failure : failure.code
        if (dueMs < warmupMs || (code === 'ABORTED' && signal.aborted)) return
        const latencyMs = clock.nowMs() - dueAt
        if (code === undefined) this.statistics[operation].addSuccess(latencyMs)
        else this.statistics[operation].addFailure(code)
        this.series.add(dueMs - warmupMs, code === undefined ? latencyMs : undefined)
      },
      onDue: ({ dueMs }, lateMs) => {
        if (dueMs >= warmupMs) this.lateness.addSuccess(lateMs)
      },
      onNotSent: ({ operation, dueMs }) => {
        if (dueMs < warmupMs) return
        this.statistics[operation].addFailure(NOT_SENT)
        this.series.add(dueMs - warmupMs, undefined)
      },
    })
  }

  /** Makes a call. Returns its failure, or NO_VOUCHER if there is no voucher for it. */
  async #perform(operation: Operation, call: Call): Promise<CallFailure | typeof NO_VOUCHER | undefined> {
    if (operation === 'issue') return this.#issue(call)
    const credential = operation === 'verify' ? this.#vouchers.pick() : this.#vouchers.takeUnredeemed()
    if (credential === undefined) return NO_VOUCHER
    if (operation === 'verify') return failureIn(await call(contract.verify, { credential }, this.#callOptions()))
    const failure = failureIn(await call(contract.redeem, { credential }, this.#callOptions()))
    if (failure !== undefined && wasNotProcessed(failure)) this.#vouchers.giveBack(credential)
    return failure
  }

  async #issue(call: Call): Promise<CallFailure | undefined> {
    const { template, recipients, runId } = this.#options
    this.#issued += 1
    const issued = await call(
      contract.issue,
      {
        template_id: template,
        external_issue_id: `load-${runId}-${this.#issued}`,
        recipient_user_id: recipients[this.#issued % recipients.length] as string,
      },
      this.#callOptions(),
    )
    if (!issued.ok) return issued
    const [credential] = issued.data.credentials
    if (credential !== undefined) this.#vouchers.add({ type: credential.type, value: credential.value })
    return undefined
  }

  #callOptions() {
    const { runId, timeoutMs, signal } = this.#options
    this.#keys += 1
    return { idempotencyKey: `load-${runId}-${this.#keys}`, timeoutMs, signal }
  }

  #nextTarget() {
    const { targets } = this.#options
    this.#turn += 1
    return targets[this.#turn % targets.length] as Target
  }
}

const failureIn = (result: CallResult<unknown>) => (result.ok ? undefined : result)

/** True if the platform certainly did not act on the call: no connection, 429 or 503. */
const wasNotProcessed = ({ status, outcomeUnknown }: CallFailure) =>
  !outcomeUnknown && (status === 0 || status === 429 || status === 503)

/** Vouchers that a run has issued, for its verify and redeem calls. */
class VoucherPool {
  readonly #keepsUnredeemed: boolean
  readonly #random: () => number
  readonly #unredeemed: Credential[] = []
  readonly #recent: Credential[] = []
  #added = 0

  /** @param keepsUnredeemed false for a run that redeems nothing @param random returns numbers from 0 to below 1 */
  constructor(keepsUnredeemed: boolean, random: () => number) {
    this.#keepsUnredeemed = keepsUnredeemed
    this.#random = random
  }

  add(credential: Credential): void {
    if (this.#keepsUnredeemed) this.#unredeemed.push(credential)
    this.#recent[this.#added % VERIFIED_MAX] = credential
    this.#added += 1
  }

  /** Takes a voucher that no call has redeemed; undefined if the pool has none. */
  takeUnredeemed(): Credential | undefined {
    return this.#unredeemed.pop()
  }

  /** Returns a voucher to the pool whose redemption certainly failed. */
  giveBack(credential: Credential): void {
    this.#unredeemed.push(credential)
  }

  /** Picks a random one of the latest vouchers, redeemed or not; undefined if none was issued. */
  pick(): Credential | undefined {
    return this.#recent[Math.floor(this.#random() * this.#recent.length)]
  }
}
