import { EventEmitter, once } from 'node:events'
import { type Poll, Polls } from '../../../src/server/polls.js'

/** The open polls of a server, with which a test can await that polls open, wait and end. */
export class WatchedPolls extends Polls {
  /** Runs after a poll has read the updates and before it waits for new ones. */
  beforeWait: () => Promise<void> = async () => {}
  #opens = 0
  #waits = 0
  #ends = 0
  readonly #events = new EventEmitter()

  override open(botId: string): Poll {
    const poll = super.open(botId)
    this.#opens += 1
    this.#events.emit('change')
    return {
      get superseded() {
        return poll.superseded
      },
      wait: async (ms, gone) => {
        await this.beforeWait()
        const end = poll.wait(ms, gone)
        this.#waits += 1
        this.#events.emit('change')
        return end
      },
      end: () => {
        poll.end()
        this.#ends += 1
        this.#events.emit('change')
      },
    }
  }

  /** Resolves when `count` polls in total have opened. */
  async opens(count: number): Promise<void> {
    while (this.#opens < count) await once(this.#events, 'change')
  }

  /** Resolves when `count` polls in total have begun to wait. */
  async waits(count: number): Promise<void> {
    while (this.#waits < count) await once(this.#events, 'change')
  }

  /** Resolves when `count` polls in total have ended. */
  async ends(count: number): Promise<void> {
    while (this.#ends < count) await once(this.#events, 'change')
  }
}
