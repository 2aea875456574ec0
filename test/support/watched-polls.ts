import { type Poll, Polls } from '../../src/server/polls.js'

/** Polls that tell a test when one comes, begins to wait and has ended, and stop before a wait where it wants. */
export class WatchedPolls extends Polls {
  /** Runs before each wait begins: between what a poll has read and its wait. */
  beforeWait: () => Promise<void> = async () => {}
  #opens = 0
  #waits = 0
  #ends = 0
  readonly #listeners = new Set<() => void>()

  override open(botId: string): Poll {
    const poll = super.open(botId)
    this.#opens += 1
    this.#tell()
    return {
      get superseded() {
        return poll.superseded
      },
      wait: async (ms, gone) => {
        await this.beforeWait()
        const end = poll.wait(ms, gone)
        this.#waits += 1
        this.#tell()
        return end
      },
      end: () => {
        poll.end()
        this.#ends += 1
        this.#tell()
      },
    }
  }

  /** Resolves once so many calls have come, counted from the start. */
  async opens(count: number): Promise<void> {
    while (this.#opens < count) await this.#change()
  }

  /** Resolves once so many waits have begun, counted from the start. */
  async waits(count: number): Promise<void> {
    while (this.#waits < count) await this.#change()
  }

  /** Resolves once so many calls have ended, counted from the start. */
  async ends(count: number): Promise<void> {
    while (this.#ends < count) await this.#change()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      const once = () => {
        this.#listeners.delete(once)
        resolve()
      }
      this.#listeners.add(once)
    })
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
