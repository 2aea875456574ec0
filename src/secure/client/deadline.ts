/** Runs `run` once after `ms` milliseconds unless the function that it returns is called first. */
export type SetTimer = (run: () => void, ms: number) => () => void

/** The longest delay that a timer takes; above it, it would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemTimer: SetTimer = (run, ms) => {
  const timer = setTimeout(run, Math.min(ms, LONGEST_TIMER_MS))
  return () => clearTimeout(timer)
}

interface Deadline {
  readonly timeoutMs: number
  readonly setTimer: SetTimer
  /** Ends the work early. */
  readonly signal?: AbortSignal | undefined
}

type Ending<Value> = { readonly ended: 'done'; readonly value: Value } | { readonly ended: 'timeout' | 'aborted' }

/**
 * Waits for `work` until the time is up or the caller aborts; work that goes on is told by its signal, and its end is
 * ignored. Nothing is started for a caller that has already aborted.
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
    const cancel = setTimer(() => end('timeout'), timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
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
