/** What the work comes to, or undefined when the signal came first. The work itself goes on. */
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
