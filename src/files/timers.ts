import * as ofNode from 'node:timers'

// In the bundle, each module that names a global timer gets that of this file (build/bundle.js). So a server inside a test
// keeps running while the test fakes timers (RULES.md#servers-inside-a-test).

export let { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = ofNode
export let { queueMicrotask = (task: () => void) => void Promise.resolve().then(task), Date } = globalThis
const { hrtime } = globalThis.process
export let { nextTick } = globalThis.process
// The global would load a module on its first use, which would delay each command by a millisecond.
export let performance = { now: (): number => Number(hrtime.bigint()) / 1e6 }

/** Timers that were captured earlier than this file was loaded. */
export type Timers = Pick<
  typeof globalThis,
  | 'setTimeout'
  | 'clearTimeout'
  | 'setInterval'
  | 'clearInterval'
  | 'setImmediate'
  | 'clearImmediate'
  | 'queueMicrotask'
  | 'Date'
> & { readonly nextTick: typeof nextTick; readonly performance: typeof performance }

export function useTimers(from: Timers): void {
  ;({ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, queueMicrotask } = from)
  ;({ nextTick, performance, Date } = from)
}
