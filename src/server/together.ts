/** So many that have come wait for no more of them. */
const BATCH_MAX = 32

/**
 * Requests of several connections begin one after the other, when a tick brought no more of them: each step is made for
 * all before the next, while its code is in the processor's cache, and one wake-up of the peer serves several answers.
 */
export function together(): (begin: () => void) => void {
  let waiting: (() => void)[] = []
  let seen = 1
  const beginAll = () => {
    if (waiting.length > seen && waiting.length < BATCH_MAX) {
      seen = waiting.length
      setImmediate(beginAll)
      return
    }
    const batch = waiting
    waiting = []
    seen = 1
    for (const begin of batch) begin()
  }
  return (begin) => {
    if (waiting.push(begin) === 1) setImmediate(beginAll)
  }
}
