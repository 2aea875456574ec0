import type { DeliveryAttemptRow, DeliveryRow, UpdateRow, WebhookRow } from '../../../src/domain/bot/rows.js'
import type { AttemptOutcome } from '../../../src/domain/delivery.js'
import type { Attempt, EndedAttempt } from '../../../src/store/delivery/attempt-results.js'
import { INSERT_DELIVERY } from '../../../src/store/delivery/backlog.js'
import { runWorkerPass, type WorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { all, type Op, run, type Step } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import { plantBot, plantUpdates, plantWebhook } from '../server/webhooks.js'
import { stepsOf } from '../store/store-steps.js'

/** Time of the server clock. */
export const NOW = 1_000_000_000
/** Time of the system clock, for leases. */
export const SYSTEM_NOW = 5_000_000

export const success: AttemptOutcome = { statusCode: 200, error: null, durationMs: 5 }
export const failure: AttemptOutcome = {
  statusCode: 503,
  error: { code: 'http_status', message: 'The endpoint responded with 503 instead of 2xx.' },
  durationMs: 7,
}

export const ended = (
  attempt: Attempt,
  outcome: AttemptOutcome,
  change: Partial<Pick<EndedAttempt, 'ipAddress' | 'endedAt' | 'mayBeWritten'>> = {},
): EndedAttempt => ({ attempt, outcome, ipAddress: '192.0.2.1', endedAt: NOW + 50, ...change })

/** Passes of the delivery worker on a store, without a server. */
export class WorkerPasses {
  constructor(readonly store: Store) {}

  /** Creates a bot of the account `acc` with a webhook and one update with a ready delivery for each chat. */
  plant(botId: string, chats: readonly string[]): Promise<void> {
    return this.store.write(function* (): Op<void> {
      yield* plantBot(botId)
      yield* plantUpdates(botId, chats.length, NOW)
      yield* plantWebhook(botId)
      for (const [index, chat] of chats.entries()) {
        yield* run(INSERT_DELIVERY, [`${botId} ${index + 1}`, botId, index + 1, 'ping', chat, NOW])
      }
    })
  }

  /** Runs a pass that serves `bot_1`. */
  run(change: Partial<WorkerPass> = {}) {
    return this.store.write(() => runWorkerPass(passOf(change)))
  }

  steps(change: Partial<WorkerPass> = {}): Promise<readonly Step[]> {
    return stepsOf(this.store, () => runWorkerPass(passOf(change)))
  }

  /** Runs a pass that claims one delivery and returns its attempt. */
  async claim(change: Partial<WorkerPass> = {}): Promise<Attempt> {
    const { begun } = await this.run({ room: 1, ...change })
    if (begun[0] === undefined) throw new Error('the pass claimed no delivery')
    return begun[0]
  }

  sql(statement: string): Promise<number> {
    return this.store.write(() => run(statement))
  }

  deliveries = () => this.#rows<DeliveryRow>('deliveries order by bot_id, update_id')
  attempts = () => this.#rows<DeliveryAttemptRow>('delivery_attempts order by delivery_id, number')
  updates = () => this.#rows<UpdateRow>('updates order by bot_id, update_id')
  webhooks = () => this.#rows<WebhookRow>('webhooks order by bot_id')

  #rows<R>(from: string): Promise<R[]> {
    return this.store.read(() => all<R>(`select * from ${from}`))
  }
}

const passOf = (change: Partial<WorkerPass>): WorkerPass => ({
  ended: [],
  bots: new Map([['bot_1', null]]),
  lostBefore: null,
  room: 1_000,
  now: NOW,
  trueNow: SYSTEM_NOW,
  ...change,
})
