import { lock, notify, type Op, one, run } from './operation.js'
import { selecting } from './select.js'

/** Subject of the notice that the test clock of the store was moved. */
export const CLOCK_MOVED = 'test clock'

/** Returns the ms by which the store's clock is ahead of the true time; negative after a restore of an older state. */
export function* clockAhead(): Op<number> {
  const row = yield* one(selecting<{ ahead_ms: number }>()('select ahead_ms from test_clock'))
  return Number(row?.ahead_ms ?? 0)
}

/** Moves the store's clock. @param next returns the new difference from the true time for the stored one, in ms */
export function* moveClock(next: (ahead: number) => number): Op<number> {
  yield* lock(CLOCK_MOVED)
  const ahead = Math.round(next(yield* clockAhead()))
  yield* run(
    'insert into test_clock (place, ahead_ms) values (1, $1) on conflict (place) do update set ahead_ms = excluded.ahead_ms',
    [ahead],
  )
  yield* notify(CLOCK_MOVED)
  return ahead
}
