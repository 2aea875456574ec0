import * as ofNode from 'node:timers'

// In the bundle, each module that names a global timer gets this file's (build/bundle.js). So a server inside a test
// keeps running while the test fakes timers (rules/server.md#servers-inside-a-test).

// Destructured, so that fakes which replace members of the module change nothing either.
export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = ofNode
export const { queueMicrotask = (task: () => void) => void Promise.resolve().then(task) } = globalThis
/** So that the server's time does not follow a faked Date. */
export const { Date } = globalThis
export const { nextTick, hrtime } = globalThis.process
/** The global would load a module on its first use, which would delay each command by a millisecond. */
export const performance = { now: (): number => Number(hrtime.bigint()) / 1e6 }
