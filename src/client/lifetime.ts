import { TransportError } from './transport.js'

/** The longest delay that a timer takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

interface Limits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** @throws TransportError when the caller has already aborted. */
export function throwIfAborted({ signal }: Limits): void {
  if (signal?.aborted) throw new TransportError('aborted', 'The call was aborted', { maybeProcessed: false })
}

/**
 * Calls `end` when the time is up or the caller aborts, whichever comes first.
 * The function that it returns ends the watch; call it once the exchange is over.
 */
export function watchLifetime(
  { signal, timeoutMs }: Limits,
  end: (kind: 'timeout' | 'aborted', message: string) => void,
): () => void {
  const onAbort = () => end('aborted', 'The call was aborted')
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => end('timeout', `No complete answer within ${Math.round(timeoutMs)} ms`),
          Math.min(timeoutMs, LONGEST_TIMER_MS),
        )
  return () => {
    signal?.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
