import { STATE_REPLACED } from '../store/snapshots.js'
import { type Store, StoreUnusable } from '../store/store.js'
import { CLOCK_MOVED, clockAhead } from '../store/test-clock.js'
import { durationWords } from '../values/duration.js'
import { type Clock, TestClock } from './clock.js'

/** Describes a difference from the true time in ms, such as `31 days ahead`; undefined for none. */
export const aheadText = (ms: number): string | undefined =>
  ms === 0 ? undefined : `${durationWords(Math.abs(ms))} ${ms > 0 ? 'ahead' : 'behind'}`

/**
 * Sets the clock of a starting server to the clock of its store (rules/operator.md#test-clock).
 * @throws StoreUnusable if the store's clock was moved and the server has no test clock
 */
export async function loadClock(store: Store, clock: Clock): Promise<void> {
  const ahead = await store.read(clockAhead)
  if (clock instanceof TestClock) return clock.follow(ahead)
  if (ahead === 0) return
  throw new StoreUnusable(
    'STORE_CLOCK_MOVED',
    `The test clock of this store is ${aheadText(ahead)}: by the true time, its vouchers would not be valid yet, or valid again.`,
  )
}

/** Follows moves by other servers of the store. @param onError called if the clock cannot follow */
export function followClock(store: Store, clock: Clock, onError: (error: unknown) => void): void {
  // One read after the other, so that the last one decides.
  let last = Promise.resolve()
  const follow = () => {
    last = last.then(() => loadClock(store, clock)).catch(onError)
  }
  store.listen((subject) => {
    if (subject === CLOCK_MOVED || subject === STATE_REPLACED) follow()
  }, follow)
}
