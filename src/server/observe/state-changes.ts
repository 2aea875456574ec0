import type { StateChange } from '../../contract/platform/activity.js'

const WINDOW_MS = 100

/** Joins changes of one kind: followers get a line for the first in a window, and one for all others. */
export class StateChanges {
  readonly #add: (what: StateChange) => void
  readonly #isFollowed: () => boolean
  /** Kinds of changes in the present window; true for a kind that has changed again. */
  readonly #changed = new Map<StateChange, boolean>()

  constructor(add: (what: StateChange) => void, isFollowed: () => boolean) {
    this.#add = add
    this.#isFollowed = isFollowed
  }

  add(what: StateChange): void {
    if (this.#changed.has(what)) {
      this.#changed.set(what, true)
      return
    }
    this.#add(what)
    if (!this.#isFollowed()) return
    this.#changed.set(what, false)
    setTimeout(() => {
      const again = this.#changed.get(what)
      this.#changed.delete(what)
      if (again) this.add(what)
    }, WINDOW_MS).unref()
  }
}
