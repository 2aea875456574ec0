import { type Refusal, refuse } from '../contract/errors.js'
import { defaultRateLimits, type RateLimit, type RateLimitName } from '../contract/rate-limits.js'
import type { ServerOptions } from './options.js'

/** Interval for deleting expired windows, so that subjects that make no further call use no memory. */
const SWEEP_INTERVAL_MS = 60_000

export interface LimitVerdict {
  readonly allowed: boolean
  readonly remaining: number
  /** Whole seconds until the window ends. */
  readonly resetSeconds: number
  readonly policy: RateLimit
}

export function rateLimited({ resetSeconds }: LimitVerdict): Refusal<'RATE_LIMITED'> {
  return { ...refuse('RATE_LIMITED'), retryAfterSeconds: resetSeconds }
}

export interface Limits {
  /** Counts one call of `subject` and returns the verdict; null when limits are off. */
  take(name: RateLimitName, subject: string): LimitVerdict | null
  /** Returns the window of `subject` without counting a call; null when limits are off. */
  peek(name: RateLimitName, subject: string): LimitVerdict | null
  /** Ends all windows. */
  clear(): void
}

const noLimits: Limits = { take: () => null, peek: () => null, clear: () => {} }

interface Window {
  calls: number
  endsAt: number
}

/**
 * Rate limits in the memory of this process. Windows follow a monotonic clock, never the test clock.
 * @param now monotonic ms
 */
export function createLimits(
  settings: ServerOptions['rateLimits'] = {},
  now: () => number = () => performance.now(),
): Limits {
  if (settings === 'off') return noLimits
  const policies = { ...defaultRateLimits, ...settings }
  const windows = new Map<string, Window>()
  let sweepAt = 0

  const sweep = (at: number): void => {
    for (const [key, { endsAt }] of windows) if (endsAt <= at) windows.delete(key)
    sweepAt = at + SWEEP_INTERVAL_MS
  }
  const verdictOf = (policy: RateLimit, window: Window, at: number): LimitVerdict => ({
    allowed: window.calls <= policy.calls,
    remaining: Math.max(0, policy.calls - window.calls),
    resetSeconds: Math.min(policy.seconds, Math.max(1, Math.ceil((window.endsAt - at) / 1000))),
    policy,
  })
  return {
    take(name, subject) {
      const policy = policies[name]
      const at = now()
      if (at >= sweepAt) sweep(at)
      const key = `${name} ${subject}`
      let window = windows.get(key)
      if (window === undefined || window.endsAt <= at) {
        window = { calls: 0, endsAt: at + policy.seconds * 1000 }
        windows.set(key, window)
      }
      window.calls += 1
      return verdictOf(policy, window, at)
    },

    peek(name, subject) {
      const policy = policies[name]
      const at = now()
      const window = windows.get(`${name} ${subject}`)
      const open = window !== undefined && window.endsAt > at
      return verdictOf(policy, open ? window : { calls: 0, endsAt: at + policy.seconds * 1000 }, at)
    },

    clear: () => windows.clear(),
  }
}
