import type { LoadClock } from './open-loop.js'

export const monotonicClock: LoadClock = {
  nowMs: () => performance.now(),
  async sleep(ms, signal) {
    if (signal.aborted || ms <= 0) return new Promise((resolve) => void setImmediate(resolve))
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, Math.ceil(ms))
      signal.addEventListener('abort', end)
    })
  },
}
