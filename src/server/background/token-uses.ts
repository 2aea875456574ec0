import type { Store } from '../../store/store.js'
import * as tokens from '../../store/tokens.js'

/** When tokens were last used: collected in memory, written together, so that no request pays for a write. */
export class TokenUses {
  #uses = new Map<string, number>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  note(tokenId: string, now: number): void {
    this.#uses.set(tokenId, now)
  }

  /** Writes what was collected; what could not be written is kept for the next time. */
  async flush(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await this.#store.write(() => tokens.touch(uses))
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses])
      throw error
    }
  }
}
