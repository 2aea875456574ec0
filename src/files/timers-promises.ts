import * as promises from 'node:timers/promises'

// As timers.ts, in place of node:timers/promises.

export type TimersPromises = Pick<typeof promises, 'setTimeout' | 'setImmediate'>

export let { setTimeout, setImmediate }: TimersPromises = promises

export function useTimersPromises(from: TimersPromises): void {
  ;({ setTimeout, setImmediate } = from)
}
