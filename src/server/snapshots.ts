import { plant } from '../store/seed.js'
import { STATE_REPLACED, STATE_RESTORED, type StoredSnapshot } from '../store/snapshots.js'
import { moveClock } from '../store/test-clock.js'
import { TestClock, trueTime } from './clock.js'
import type { Deps } from './deps.js'
import type { ServerSnapshots } from './options.js'
import { seedRows } from './seed/plant.js'
import type { Seed } from './seed/schema.js'

/** Background work that must not write data of a replaced state into the new state. */
interface BackgroundWork {
  /** Resolves when the work has stopped writing; it resumes with `resume`. */
  pause(): Promise<void>
  /** Discards data of the previous state from memory. */
  forget?(): void
  resume(): void
}

type SnapshotDeps = Omit<Deps, 'snapshots'>

export class Snapshots implements ServerSnapshots {
  readonly #deps: SnapshotDeps
  #seed: Seed | undefined
  readonly #background: BackgroundWork[] = []

  constructor(deps: SnapshotDeps, seed?: Seed) {
    this.#deps = deps
    this.#seed = seed
  }

  /** Adds work that pauses during a reset or restore. */
  include(work: BackgroundWork): void {
    this.#background.push(work)
  }

  /** Follows resets and restores by all processes of the store. Returns a function that stops following. */
  follow(): () => void {
    const { store, polls, faults } = this.#deps
    let change: 'reset' | 'restore' = 'reset'
    return store.listen((subject) => {
      if (subject === STATE_RESTORED) change = 'restore'
      if (subject !== STATE_REPLACED) return
      this.#forget(change)
      change = 'reset'
      faults.suspend()
      faults.resume()
      // End waiting polls; a poll that is not waiting yet reads again.
      polls.hold()
      polls.resume()
      polls.allChanged()
    })
  }

  /** @param seed the records from now on, also of later resets; after a failure the earlier ones stay */
  reset(seed = this.#seed): Promise<void> {
    const { store, clock, faults } = this.#deps
    return this.#replace(async () => {
      const now = trueTime(clock)
      const rows = seed && seedRows(seed, now, this.#deps)
      await store.snapshots.clear(function* () {
        if (rows !== undefined) yield* plant(rows)
      })
      this.#seed = seed
      faults.restart(seed?.faults)
      return {}
    }).then(() => {})
  }

  save(name: string): Promise<StoredSnapshot> {
    const { store, clock, gate, tokenUses, botCalls } = this.#deps
    return gate.queue(async () => {
      // After a failure, the next flush writes these counts.
      await Promise.allSettled([tokenUses.flush(), botCalls.flush()])
      return store.snapshots.save({ name, saved_at: Date.now(), clock: clock.now() })
    })
  }

  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'> {
    return this.#replace(() => this.#deps.store.snapshots.restore(name))
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#deps.store.snapshots.list()
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#deps.store.snapshots.remove(name)
  }

  /** Runs `work` without other calls and background work, then moves the test clock to its `clock` or the true time. */
  #replace<T extends { readonly clock?: number } | string>(work: () => Promise<T>): Promise<T> {
    const { store, gate, polls, faults, clock, tokenUses, botCalls } = this.#deps
    const endWaitingCalls = () => {
      polls.hold()
      faults.suspend()
    }
    return gate.runExclusive(async () => {
      try {
        await Promise.all(this.#background.map((it) => it.pause()))
        // Counts in memory belong to the state before; none may be written into the new one.
        const done = await tokenUses.hold(() => botCalls.hold(work))
        if (typeof done === 'object' && clock instanceof TestClock)
          clock.follow(await store.write(() => moveClock(() => (done.clock ? done.clock - clock.trueNow() : 0))))
        return done
      } finally {
        polls.resume()
        faults.resume()
        for (const it of this.#background) it.resume()
      }
    }, endWaitingCalls)
  }

  #forget(change: 'reset' | 'restore'): void {
    const { attempts, faults, limits, requestLog, activity, tokenUses, botCalls, secure } = this.#deps
    attempts.clear()
    faults.restart()
    limits.clear()
    requestLog.clear()
    activity.clear(change)
    tokenUses.clear()
    botCalls.clear()
    secure.sessions.clear()
    for (const it of this.#background) it.forget?.()
  }
}
