// In the bundle, each module that names a global timer gets that of this file (build/bundle.js). So a server inside a test
// keeps running while the test fakes timers (RULES.md#servers-inside-a-test).

export let { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, queueMicrotask } =
  globalThis
export let { nextTick } = globalThis.process
/** So that the server's time does not follow a faked Date. */
export let { Date } = globalThis
// Only on the first call: reading this global loads a module, which would delay each command by a millisecond.
export let performance = { now: (): number => globalThis.performance.now() }

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
