import { setImmediate } from 'node:timers/promises'
import { pause } from '../../../files/pause.js'
import type { LoadClock } from './open-loop.js'

export const monotonicClock: LoadClock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => (ms <= 0 ? setImmediate() : pause(Math.ceil(ms), signal)),
}
