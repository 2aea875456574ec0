import { STATE_REPLACED } from '../store/snapshots.js'
import { type Store, StoreUnusable } from '../store/store.js'
import { CLOCK_MOVED, clockAhead } from '../store/test-clock.js'
import { DAY_MS, UNITS_MS } from '../values/duration.js'
import { type Clock, systemClock, TestClock } from './clock.js'

/** Describes a difference from the true time in ms, such as `31 days ahead`; undefined for none. */
export function aheadText(ms: number): string | undefined {
  const units = [['days', DAY_MS] as const, ['hours', UNITS_MS.h] as const, ['seconds', 1000] as const]
  const [unit, length] = units.find((it) => Math.abs(ms) >= 2 * it[1]) ?? ['ms', 1]
  return ms === 0 ? undefined : `${Math.round(Math.abs(ms) / length)} ${unit} ${ms > 0 ? 'ahead' : 'behind'}`
}

/**
 * Opens the clock of a server, which continues the clock of its store (rules/operator.md#test-clock) and follows moves by
 * other servers of a database.
 * @param isTest whether the clock can be moved
 * @param onError called if it cannot follow a move
 * @throws StoreUnusable if the store's clock was moved and the server has no test clock
 */
export async function openClock(store: Store, isTest: boolean, onError: (error: unknown) => void): Promise<Clock> {
  const clock = isTest ? new TestClock() : systemClock
  const load = async () => {
    const ahead = await store.read(clockAhead)
    if (clock instanceof TestClock) clock.follow(ahead)
    else if (ahead !== 0) throw new StoreUnusable('STORE_CLOCK_MOVED', movedText(ahead))
  }
  await load()
  if (store.database === undefined) return clock
  // One read after the other, so that the last one decides.
  let last = Promise.resolve()
  const follow = () => {
    last = last.then(load).catch(onError)
  }
  store.listen((subject) => void ([CLOCK_MOVED, STATE_REPLACED].includes(subject) && follow()), follow)
  return clock
}

const movedText = (ahead: number) =>
  `The test clock of this store is ${aheadText(ahead)}: at the true time its vouchers would not be valid yet, or valid again.`
