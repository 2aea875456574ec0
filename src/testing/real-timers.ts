import { type Timers, useTimers } from '../files/timers.js'
import { type TimersPromises, useTimersPromises } from '../files/timers-promises.js'

/** Makes the server use timers that were captured before a test could fake them. */
export function useRealTimers(timers: Timers, promises: TimersPromises): void {
  useTimers(timers)
  useTimersPromises(promises)
}
