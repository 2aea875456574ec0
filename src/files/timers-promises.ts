import * as promises from 'node:timers/promises'

// As timers.ts, in place of node:timers/promises.

export const { setTimeout, setImmediate } = promises
