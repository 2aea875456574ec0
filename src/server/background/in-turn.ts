/** Returns a function that runs the work after its earlier runs have ended; a failure does not stop later runs. */
export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let ended: Promise<void> = Promise.resolve()
  return () => {
    const running = ended.then(work)
    ended = running.catch(() => {})
    return running
  }
}
