import { setTimeout as wait } from 'node:timers/promises'

/** So many milliseconds, or until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
