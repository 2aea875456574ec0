import type { LimitName } from './endpoint.js'

export interface RateLimit {
  readonly calls: number
  readonly seconds: number
}

export type RateLimitName = LimitName | 'credential_failures' | 'auth_failures'

const MINUTE = 60

/** Default limits; a window of 60 s starts with its first call (rules/calls.md#rate-limits). */
export const defaultRateLimits: Readonly<Record<RateLimitName, RateLimit>> = {
  issue: { calls: 6000, seconds: MINUTE },
  verify: { calls: 6000, seconds: MINUTE },
  redeem: { calls: 6000, seconds: MINUTE },
  reverse: { calls: 1200, seconds: MINUTE },
  reads: { calls: 6000, seconds: MINUTE },
  template_writes: { calls: 120, seconds: MINUTE },
  bot_issue: { calls: 600, seconds: MINUTE },
  bot_calls: { calls: 1800, seconds: MINUTE },
  console: { calls: 600, seconds: MINUTE },
  secure_session: { calls: 30, seconds: MINUTE },
  credential_failures: { calls: 600, seconds: MINUTE },
  auth_failures: { calls: 600, seconds: MINUTE },
}

export const rateLimitNames = Object.keys(defaultRateLimits) as readonly RateLimitName[]

/** Form of `CALLS/SECONDS`, such as `5/60`. */
const rateLimitForm = /^(\d{1,9})\/(\d{1,6})$/

/** Parses `CALLS/SECONDS`, both at least 1. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, calls, seconds] = rateLimitForm.exec(text) ?? []
  const limit = { calls: Number(calls), seconds: Number(seconds) }
  return limit.calls >= 1 && limit.seconds >= 1 ? limit : undefined
}
