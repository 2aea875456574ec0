import { LONGEST_TIMER_MS } from '../secure/client/deadline.js'
import { TransportError } from './transport.js'

interface CallLimits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** @throws TransportError if the caller has already aborted */
export function throwIfAborted({ signal }: CallLimits): void {
  if (signal?.aborted) throw new TransportError('aborted', 'The call was aborted', { maybeProcessed: false })
}

/**
 * Calls `end` on a timeout or when the caller aborts. Returns a function that removes the timer and the abort
 * listener; call it after the exchange.
 */
export function watchLifetime(
  { signal, timeoutMs }: CallLimits,
  end: (kind: 'timeout' | 'aborted', message: string) => void,
): () => void {
  const onAbort = () => end('aborted', 'The call was aborted')
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => end('timeout', `No complete response within ${Math.round(timeoutMs)} ms`),
          Math.min(timeoutMs, LONGEST_TIMER_MS),
        )
  return () => {
    signal?.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
