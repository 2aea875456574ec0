import { type IdPrefix, newId } from '../../../../src/domain/ids.js'
import type { ServerSession } from '../../../../src/secure/server/session.js'
import { ExpirySweeper } from '../../../../src/server/background/expiry-sweeper.js'
import { TestClock } from '../../../../src/server/clock.js'
import { Faults } from '../../../../src/server/faults.js'
import { keyChecks } from '../../../../src/server/keys.js'
import { Snapshots } from '../../../../src/server/snapshots.js'
import type { Attempt } from '../../../../src/store/delivery/attempt-results.js'
import { applyBacklog } from '../../../../src/store/delivery/backlog.js'
import { botsWithWork, runWorkerPass } from '../../../../src/store/delivery/worker-pass.js'
import { registerKeys } from '../../../../src/store/keys.js'
import { memorySessions } from '../../../../src/store/sessions.js'
import type { Store } from '../../../../src/store/store.js'
import type { Random } from '../../../faults/random.js'
import { securely } from '../../../support/secure/send.js'
import { START_MS, type TestApp, testApp, testDeps } from '../../../support/server/app.js'
import type { Send } from '../../../support/server/client.js'
import { WatchedPolls } from '../../../support/server/watched-polls.js'
import { callRandom, drawingStore } from './call-random.js'

/** A server on one engine, whose clock and random bytes are injected. It works in the background only on request. */
export class EngineServer {
  readonly polls: WatchedPolls
  readonly server: TestApp
  /** Sends calls through an encrypted session. */
  readonly sealed: Send
  readonly #store: Store
  #inFlight: Attempt[] = []

  constructor(store: Store) {
    const across = store.name === 'postgres'
    this.#store = drawingStore(store)
    this.polls = new WatchedPolls({ across })
    const clock = new TestClock({ now: () => START_MS })
    const newTestId = (prefix: IdPrefix) => newId(prefix, clock.now(), callRandom)
    const usual = testDeps({ store: this.#store, clock, random: callRandom, newId: newTestId, polls: this.polls })
    const deps = {
      ...usual,
      leaseNow: () => clock.now(),
      faults: new Faults({ newId: newTestId, now: () => clock.now(), random: callRandom }),
      secure: across ? usual.secure : { ...usual.secure, sessions: memorySessions<ServerSession>() },
    }
    this.server = testApp({ ...deps, snapshots: new Snapshots(deps) })
    this.sealed = securely(this.server.send, { now: () => clock.now() })
  }

  async start(): Promise<void> {
    await this.#store.write(() => registerKeys(keyChecks(this.server.deps.keys), START_MS))
  }

  /** Writes counters, deletes expired rows, applies backlogs and makes deliveries; returns the deliveries as text. */
  async work(choices: Random): Promise<string> {
    const { tokenUses, botCalls, clock, newId: newDeliveryId } = this.server.deps
    const now = clock.now()
    const fail = (error: unknown) => {
      throw error
    }
    await tokenUses.flush()
    await botCalls.flush()
    if (choices.chance(0.5)) await new ExpirySweeper(this.#store, fail).start(now)
    const backlog = [(at: number) => applyBacklog({ now: at, newDeliveryId: () => newDeliveryId('dlv') })]
    if (choices.chance(0.7)) await new ExpirySweeper(this.#store, fail, backlog).start(now)
    return this.#deliver(now, choices)
  }

  async #deliver(now: number, choices: Random): Promise<string> {
    const bots = new Map((await this.#store.read(botsWithWork)).map((it) => [it, null]))
    const lostBefore = choices.chance(0.2) ? now : null
    const pass = { now, trueNow: now, room: 1_000 }
    const begun = await this.#store.write(() => runWorkerPass({ ...pass, ended: [], bots, lostBefore }))
    const attempts = [...this.#inFlight, ...begun.begun].sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1))
    this.#inFlight = []
    const ended = attempts.flatMap((attempt) => {
      const own = choices.of(attempt.deliveryId)
      if (own.chance(0.2)) {
        this.#inFlight.push(attempt)
        return []
      }
      const statusCode = own.chance(0.4) ? 200 : 500
      const error = statusCode === 200 ? null : { code: 'http_status', message: 'The endpoint responded with 500.' }
      const outcome = { statusCode, error, durationMs: own.below(1_000) }
      return [{ attempt, outcome, ipAddress: '93.184.215.14', endedAt: now }]
    })
    await this.#store.write(() => runWorkerPass({ ...pass, room: 0, ended, bots: new Map(), lostBefore: null }))
    return JSON.stringify({ attempts, nextDueAt: begun.nextDueAt })
  }
}
