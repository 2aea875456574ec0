/** Why a getUpdates call stops waiting. */
type PollEnd = 'changed' | 'superseded' | 'closed' | 'timeout' | 'gone'

/** One open getUpdates call. */
export interface Poll {
  /** True when a newer poll of the same bot has replaced this poll. */
  readonly superseded: boolean
  /**
   * Waits until the bot changes, a newer poll replaces this poll, the server closes, the client disconnects, or `ms`
   * have passed. Returns immediately if the bot has changed since the last wait.
   */
  wait(ms: number, gone: AbortSignal): Promise<PollEnd>
  end(): void
}

interface PollState {
  superseded: boolean
  changed: boolean
  wake: ((end: PollEnd) => void) | undefined
}

/** The open polls, one per bot: a newer poll ends the older poll (rules/bots.md#polling). */
export class Polls {
  readonly #open = new Map<string, PollState>()
  #closed = false
  #held = false
  /** True if other processes may poll for the same bots; the store then records polls (store/bots/open-polls.ts). */
  readonly across: boolean

  constructor({ across = false }: { readonly across?: boolean } = {}) {
    this.across = across
  }

  open(botId: string): Poll {
    const older = this.#open.get(botId)
    if (older !== undefined) {
      older.superseded = true
      older.wake?.('superseded')
    }
    const held: PollState = { superseded: false, changed: false, wake: undefined }
    this.#open.set(botId, held)
    return {
      get superseded() {
        return held.superseded
      },
      wait: (ms, gone) => this.#wait(held, ms, gone),
      end: () => {
        if (this.#open.get(botId) === held) this.#open.delete(botId)
      },
    }
  }

  isOpen(botId: string): boolean {
    return this.#open.has(botId)
  }

  /** Wakes the poll of a bot after a change of its updates, token, webhook or status. */
  changed(botId: string): void {
    const held = this.#open.get(botId)
    if (held === undefined) return
    held.changed = true
    held.wake?.('changed')
  }

  /** Wakes all polls after a possible loss of store notices. */
  allChanged(): void {
    for (const botId of this.#open.keys()) this.changed(botId)
  }

  close(): void {
    this.#closed = true
    for (const held of this.#open.values()) held.wake?.('closed')
  }

  /** Ends all waits until `resume`, so that resets and restores need not wait for polls. */
  hold(): void {
    this.#held = true
    for (const held of this.#open.values()) held.wake?.('closed')
  }

  resume(): void {
    this.#held = false
  }

  async #wait(held: PollState, ms: number, gone: AbortSignal): Promise<PollEnd> {
    if (held.superseded) return 'superseded'
    if (this.#closed || this.#held) return 'closed'
    if (gone.aborted) return 'gone'
    if (held.changed) {
      held.changed = false
      return 'changed'
    }
    return new Promise((resolve) => {
      const leave = () => done('gone')
      const timer = setTimeout(() => done('timeout'), ms)
      const done = (end: PollEnd) => {
        clearTimeout(timer)
        gone.removeEventListener('abort', leave)
        held.wake = undefined
        if (end === 'changed') held.changed = false
        resolve(end)
      }
      held.wake = done
      gone.addEventListener('abort', leave, { once: true })
    })
  }
}
