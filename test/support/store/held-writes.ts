import type { Store } from '../../../src/store/store.js'

/** A store of which some or all writes wait. */
interface HeldWrites {
  readonly store: Store
  /** Resolves when the first write waits. */
  readonly arrived: Promise<void>
  release(): void
}

/** Returns a view of a store whose write number n waits for `release` if `waits(n)` is true; by default every one. */
export function holdWrites(store: Store, waits: (write: number) => boolean = () => true): HeldWrites {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let writes = 0
  const write: Store['write'] = (op, group) => {
    if (!waits(++writes)) return store.write(op, group)
    arrive()
    return released.then(() => store.write(op, group))
  }
  return { store: { ...store, write }, arrived, release }
}
