import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit, RateLimitName, ServerOptions } from './options.js'

const MINUTE = 60

/** decisions.md 6: windows of 60 s that open with their first call. */
export const defaultRateLimits: Record<RateLimitName, RateLimit> = {
  issue: { calls: 6000, seconds: MINUTE },
  verify: { calls: 6000, seconds: MINUTE },
  redeem: { calls: 6000, seconds: MINUTE },
  reverse: { calls: 1200, seconds: MINUTE },
  reads: { calls: 6000, seconds: MINUTE },
  template_writes: { calls: 120, seconds: MINUTE },
  console: { calls: 600, seconds: MINUTE },
  credential_failures: { calls: 600, seconds: MINUTE },
  auth_failures: { calls: 600, seconds: MINUTE },
}

export interface LimitVerdict {
  readonly allowed: boolean
  /** Calls left in the window. */
  readonly remaining: number
  /** Whole seconds until the window ends. */
  readonly resetSeconds: number
  readonly policy: RateLimit
}

export interface Limits {
  /** Counts one call of `subject`; null when limits are off. */
  take(name: RateLimitName, subject: string): Promise<LimitVerdict | null>
}

const noLimits: Limits = { take: async () => null }

/** Counts in this process's memory; windows follow the machine's own clock, never the test clock. */
export function createLimits(settings: ServerOptions['rateLimits'] = {}): Limits {
  if (settings === 'off') return noLimits
  const policies = { ...defaultRateLimits, ...settings }
  const limiters = new Map<RateLimitName, RateLimiterMemory>()
  const limiterOf = (name: RateLimitName): RateLimiterMemory => {
    let limiter = limiters.get(name)
    if (limiter === undefined) {
      const { calls, seconds } = policies[name]
      limiter = new RateLimiterMemory({ keyPrefix: name, points: calls, duration: seconds })
      limiters.set(name, limiter)
    }
    return limiter
  }
  return {
    async take(name, subject) {
      const policy = policies[name]
      try {
        return verdict(true, await limiterOf(name).consume(subject), policy)
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return verdict(false, refusal, policy)
        throw refusal
      }
    },
  }
}

function verdict(allowed: boolean, state: RateLimiterRes, policy: RateLimit): LimitVerdict {
  const resetSeconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
  return { allowed, remaining: Math.max(0, state.remainingPoints), resetSeconds, policy }
}
