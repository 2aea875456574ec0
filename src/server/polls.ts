/** Why a held poll ends before its time. */
type PollEnd = 'changed' | 'superseded' | 'closed' | 'timeout' | 'gone'

/** One getUpdates call, from its admission to its answer. */
export interface Poll {
  /** True when a newer poll of the same bot has taken over. */
  readonly superseded: boolean
  /**
   * Waits until something of the bot has changed, another poll takes over, the server closes, the caller leaves, or
   * `ms` are over. A change since the last wait ends it at once.
   */
  wait(ms: number, gone: AbortSignal): Promise<PollEnd>
  end(): void
}

interface Held {
  superseded: boolean
  changed: boolean
  wake: ((end: PollEnd) => void) | undefined
}

/** The open polls, one for each bot: a newer one ends the older (DECISIONS.md#polling). */
export class Polls {
  readonly #open = new Map<string, Held>()
  #closed = false
  /** True where other processes have polls of the same bots: the store tells of those (store/bots/open-polls.ts). */
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
    const held: Held = { superseded: false, changed: false, wake: undefined }
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

  /** Something of the bot has changed: an update, its token, its webhook, its status. */
  changed(botId: string): void {
    const held = this.#open.get(botId)
    if (held === undefined) return
    held.changed = true
    held.wake?.('changed')
  }

  /** Something may have changed that nobody told of. */
  allChanged(): void {
    for (const botId of this.#open.keys()) this.changed(botId)
  }

  /** Ends every wait, those to come too. */
  close(): void {
    this.#closed = true
    for (const held of this.#open.values()) held.wake?.('closed')
  }

  async #wait(held: Held, ms: number, gone: AbortSignal): Promise<PollEnd> {
    if (held.superseded) return 'superseded'
    if (this.#closed) return 'closed'
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
