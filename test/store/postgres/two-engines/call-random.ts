import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { RandomBytes } from '../../../../src/domain/ids.js'
import type { Op } from '../../../../src/store/operation.js'
import type { Store } from '../../../../src/store/store.js'

/** The random bytes of one call: equal names give equal bytes. */
class Draws {
  /** Number of blocks drawn so far. */
  position = 0
  constructor(readonly name: string) {}

  bytes(size: number): Uint8Array {
    const blocks: Buffer[] = []
    for (let have = 0; have < size; have += 32) {
      blocks.push(
        createHash('sha256')
          .update(`${this.name} ${this.position++}`)
          .digest(),
      )
    }
    return new Uint8Array(Buffer.concat(blocks).subarray(0, size))
  }
}

const draws = new AsyncLocalStorage<Draws>()

/** Runs a call whose random bytes depend on its name only, whatever runs concurrently. */
export const withRandomOf = <T>(name: string, call: () => T): T => draws.run(new Draws(name), call)

/** Random bytes of the current call. */
export const callRandom: RandomBytes = (size) => {
  const current = draws.getStore()
  if (current === undefined) throw new Error('random bytes were drawn outside a call')
  return current.bytes(size)
}

/** Makes an operation draw from its call, also in a shared transaction, and draw the same when it runs again. */
function drawingFromItsCall<T>(op: () => Op<T>): () => Op<T> {
  const own = draws.getStore()
  if (own === undefined) return op
  const { position } = own
  return function* () {
    own.position = position
    const steps = draws.run(own, op)
    let step = draws.run(own, () => steps.next())
    while (!step.done) {
      const result = yield step.value
      step = draws.run(own, () => steps.next(result))
    }
    return step.value
  }
}

/** A store whose operations draw from the calls that started them. */
export const drawingStore = (store: Store): Store => ({
  name: store.name,
  write: (op, group) => store.write(drawingFromItsCall(op), group),
  read: (op) => store.read(drawingFromItsCall(op)),
  listen: (listener, missed) => store.listen(listener, missed),
  snapshots: store.snapshots,
  close: () => store.close(),
})
