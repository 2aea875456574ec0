/** Calls `run` once after `ms` milliseconds, unless the returned function is called first. */
export type SetTimer = (run: () => void, ms: number) => () => void

/** Maximum delay of a Node timer, about 25 days; a timer with a longer delay would fire immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemTimer: SetTimer = (run, ms) => {
  const timer = setTimeout(run, Math.min(ms, LONGEST_TIMER_MS))
  return () => clearTimeout(timer)
}

interface Deadline {
  readonly timeoutMs: number
  readonly setTimer: SetTimer
  /** The caller's abort signal. */
  readonly signal?: AbortSignal | undefined
}

type Ending<Value> = { readonly ended: 'done'; readonly value: Value } | { readonly ended: 'timeout' | 'aborted' }

/**
 * Waits for `work` until the timeout or the caller's abort, then aborts the signal of `work` and ignores its result.
 * Does not start `work` if the caller has already aborted.
 */
export function within<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  { timeoutMs, setTimer, signal }: Deadline,
): Promise<Ending<Value>> {
  if (signal?.aborted) return Promise.resolve({ ended: 'aborted' })
  const abort = new AbortController()
  return new Promise((resolve, reject) => {
    const stop = () => {
      cancel()
      signal?.removeEventListener('abort', onAbort)
    }
    const end = (ended: 'timeout' | 'aborted') => {
      stop()
      resolve({ ended })
      abort.abort()
    }
    const onAbort = () => end('aborted')
    signal?.addEventListener('abort', onAbort, { once: true })
    const cancel = setTimer(() => end('timeout'), timeoutMs)
    work(abort.signal).then(
      (value) => {
        stop()
        resolve({ ended: 'done', value })
      },
      (error: unknown) => {
        stop()
        reject(error)
      },
    )
  })
}
