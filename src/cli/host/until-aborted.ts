/** Resolves to the result of the work, or to undefined if the signal aborts first. It does not stop the work. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work
  if (signal.aborted) return undefined
  const ended = new AbortController()
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: ended.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    ended.abort()
  }
}
