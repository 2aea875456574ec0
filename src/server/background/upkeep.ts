import { applyBacklog, BACKLOG } from '../../store/delivery/backlog.js'
import { endExpiredLeases } from '../../store/delivery/webhooks.js'
import type { Deps } from '../deps.js'
import { ExpirySweeper } from './expiry-sweeper.js'

const COUNTS_INTERVAL_MS = 60_000
const EXPIRY_INTERVAL_MS = 60_000
const LEASE_INTERVAL_MS = 5_000

/** Background work of a server except deliveries: removes expired rows, applies backlogs, writes counts. */
export class Upkeep {
  readonly #deps: Deps
  readonly #report: (error: unknown, what: string) => void
  readonly #sweeper: ExpirySweeper
  /** Ends leases of webhooks, and applies backlogs of changed webhooks and dropped updates (store/delivery). */
  readonly #backlogs: ExpirySweeper
  #triggers: readonly (() => void)[] = []

  constructor(deps: Deps, report: (error: unknown, what: string) => void) {
    this.#deps = deps
    this.#report = report
    this.#sweeper = new ExpirySweeper(deps.store, this.#failed('what has expired was not removed'))
    this.#backlogs = new ExpirySweeper(deps.store, this.#failed('a backlog was not settled'), [
      () => endExpiredLeases(deps.leaseNow()),
      (now) => applyBacklog({ now, newDeliveryId: () => deps.newId('dlv') }),
    ])
  }

  /** Starts pending work; notices, timers and clock moves start later work. */
  start(): void {
    const { store, clock } = this.#deps
    const sweep = () => this.#sweep()
    const applyBacklogs = () => this.#applyBacklogs()
    this.#triggers = [
      store.listen((subject) => subject === BACKLOG && applyBacklogs(), applyBacklogs),
      every(COUNTS_INTERVAL_MS, () => this.#writeCounts()),
      every(EXPIRY_INTERVAL_MS, sweep),
      every(LEASE_INTERVAL_MS, applyBacklogs),
      clock.onMove(sweep),
    ]
    applyBacklogs()
  }

  /** Pauses during a reset or restore of the state. */
  async pause(): Promise<void> {
    await Promise.all([this.#sweeper.pause(), this.#backlogs.pause()])
  }

  resume(): void {
    this.#sweeper.resume()
    this.#backlogs.resume()
    this.#applyBacklogs()
  }

  /** Stops starting work; running work continues until `finish`. */
  release(): void {
    for (const end of this.#triggers) end()
  }

  /** Ends running work after its current write, and writes the last counts. */
  async finish(): Promise<void> {
    await Promise.all([this.#sweeper.stop(), this.#backlogs.stop()])
    await this.#writeCounts()
  }

  #sweep(): void {
    const { clock, secure } = this.#deps
    const now = clock.now()
    void this.#sweeper.start(now)
    // Also apply backlogs that another process left when it exited or failed.
    this.#applyBacklogs()
    secure.sessions
      .deleteExpired(now)
      .then(() => secure.keys.destroyExpired(now))
      .catch(this.#failed('keys of the encrypted transport were not destroyed'))
  }

  #applyBacklogs(): void {
    void this.#backlogs.start(this.#deps.clock.now())
  }

  async #writeCounts(): Promise<void> {
    const { tokenUses, botCalls } = this.#deps
    await tokenUses.flush().catch(this.#failed('token uses were not written'))
    await botCalls.flush().catch(this.#failed('calls of bots were not written'))
  }

  #failed(what: string): (error: unknown) => void {
    return (error) => this.#report(error, what)
  }
}

/** Calls `work` repeatedly, without keeping the process alive. Returns a function that ends it. */
function every(ms: number, work: () => unknown): () => void {
  const timer = setInterval(work, ms)
  timer.unref()
  return () => clearInterval(timer)
}
