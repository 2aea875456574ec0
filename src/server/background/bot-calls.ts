import type { RequestLogEntry } from '../../contract/platform/activity.js'
import { minuteOf } from '../../domain/bot/metrics.js'
import * as botCalls from '../../store/bots/calls.js'
import type { Store } from '../../store/store.js'
import { inTurn } from './in-turn.js'

const PREFIX = '/api/v1/bots/'

/** Counts the calls of bots per minute in memory and writes them in batches, so that no call waits for a write. */
export class BotCalls {
  #buckets = new Map<string, botCalls.BotCallBucket>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  note(botId: string, { path, status, code }: Pick<RequestLogEntry, 'path' | 'status' | 'code'>, now: number): void {
    const method = (path ?? '').slice(PREFIX.length)
    this.#add({ bot_id: botId, minute: minuteOf(now), method, status, code: code ?? '', calls: 1 })
  }

  /** Discards what is not written, because its state is replaced. */
  clear(): void {
    this.#buckets = new Map()
  }

  /**
   * Writes the counters, after a flush that still runs: a reader after `flush` sees every earlier call. After a failure
   * they stay in memory for the next flush.
   */
  readonly flush = inTurn(() => this.#write())

  async #write(): Promise<void> {
    if (this.#buckets.size === 0) return
    const buckets = this.#buckets
    this.#buckets = new Map()
    try {
      await this.#store.write(() => botCalls.add(buckets))
    } catch (error) {
      for (const bucket of buckets.values()) this.#add(bucket)
      throw error
    }
  }

  #add(bucket: botCalls.BotCallBucket): void {
    const { bot_id, minute, method, status, code } = bucket
    const key = [bot_id, minute, method, status, code].join(' ')
    this.#buckets.set(key, { ...bucket, calls: bucket.calls + (this.#buckets.get(key)?.calls ?? 0) })
  }
}
