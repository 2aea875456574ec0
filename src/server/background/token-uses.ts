import type { Store } from '../../store/store.js'
import * as tokens from '../../store/tokens.js'
import { inTurn } from './in-turn.js'

/** Collects the last use of tokens in memory and writes it in batches, so that no request waits for a write. */
export class TokenUses {
  #uses = new Map<string, number>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  note(tokenId: string, now: number): void {
    this.#uses.set(tokenId, now)
  }

  /** Discards what is not written, because its state is replaced. */
  clear(): void {
    this.#uses = new Map()
  }

  /**
   * Writes the collected times, after a flush that still runs: a reader after `flush` sees every earlier use. After a
   * failure they stay in memory for the next flush.
   */
  readonly flush = inTurn(() => this.#write())

  async #write(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await this.#store.write(() => tokens.saveLastUses(uses))
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses])
      throw error
    }
  }
}
