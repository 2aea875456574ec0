import type { RequestLogEntry } from '../../contract/platform/activity.js'
import { minuteOf } from '../../domain/bot/metrics.js'
import * as botCalls from '../../store/bots/calls.js'
import type { Op } from '../../store/operation.js'
import type { Store } from '../../store/store.js'
import * as tokens from '../../store/tokens.js'

/** Collects values in memory and writes them in batches, so that no call waits for a write. */
abstract class Batch<Value> {
  #waiting = new Map<string, Value>()
  #last: Promise<unknown> = Promise.resolve()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Merges two values of the same key into the value to write. */
  protected abstract merge(older: Value, newer: Value): Value
  protected abstract save(values: ReadonlyMap<string, Value>): Op<void>

  protected add(key: string, value: Value): void {
    const older = this.#waiting.get(key)
    this.#waiting.set(key, older === undefined ? value : this.merge(older, value))
  }

  /** Discards unwritten values, because the state that they belong to is replaced. */
  clear(): void {
    this.#waiting = new Map()
  }

  /**
   * Writes the collected values, after any running flush: a reader after `flush` sees every earlier call. After a
   * failure the values stay in memory for the next flush.
   */
  flush(): Promise<void> {
    return this.hold(() => this.#write())
  }

  /** Runs `work` while no flush runs; a flush that starts meanwhile waits for it. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = Promise.allSettled([done])
    return done
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0) return
    const values = this.#waiting
    this.#waiting = new Map()
    try {
      await this.#store.write(() => this.save(values))
    } catch (error) {
      const newer = this.#waiting
      this.#waiting = values
      for (const [key, value] of newer) this.add(key, value)
      throw error
    }
  }
}

export class TokenUses extends Batch<number> {
  note(tokenId: string, now: number): void {
    this.add(tokenId, now)
  }

  protected merge = (_older: number, newer: number) => newer
  protected save = tokens.saveLastUses
}

const PREFIX = '/api/v1/bots/'

export class BotCalls extends Batch<botCalls.BotCallBucket> {
  note(botId: string, { path, status, code }: Pick<RequestLogEntry, 'path' | 'status' | 'code'>, now: number): void {
    const minute = minuteOf(now)
    const method = (path ?? '').slice(PREFIX.length)
    const key = [botId, minute, method, status, code].join(' ')
    this.add(key, { bot_id: botId, minute, method, status, code: code ?? '', calls: 1 })
  }

  protected merge = (older: botCalls.BotCallBucket, newer: botCalls.BotCallBucket) => ({
    ...older,
    calls: older.calls + newer.calls,
  })
  protected save = botCalls.add
}
