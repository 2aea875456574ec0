import type { ValidationIssue } from '../contract/envelope.js'
import type { TemplateInput, Validity } from '../contract/templates.js'
import { DAY_MS } from '../values/duration.js'
import { formatInstant, parseInstant } from './time.js'

/** Validity of a template and the resulting window of a voucher (rules/vouchers.md#validity). */

type ReadValidity = { ok: true; validity: Validity } | { ok: false; issue: ValidationIssue }

/** Converts the validity of a validated input to the form of records. The window may be in the past. */
export function readValidity(input: TemplateInput['validity']): ReadValidity {
  if (input.type === 'fixed') {
    const starts = parseInstant(input.starts_at)
    if (starts === null) return noSuchInstant('starts_at')
    const ends = parseInstant(input.ends_at)
    if (ends === null) return noSuchInstant('ends_at')
    if (ends <= starts) return refused('ends_at', 'exclusiveMinimum', 'must be after starts_at')
    return { ok: true, validity: { type: 'fixed', startsAt: formatInstant(starts), endsAt: formatInstant(ends) } }
  }
  const notAfter = input.not_after === undefined ? undefined : parseInstant(input.not_after)
  if (notAfter === null) return noSuchInstant('not_after')
  return {
    ok: true,
    validity: {
      type: 'relative',
      durationDays: input.duration_days,
      delayDays: input.delay_days ?? 0,
      notAfter: notAfter === undefined ? null : formatInstant(notAfter),
    },
  }
}

/**
 * Computes the redemption window of a voucher: `validFrom` inclusive, `validUntil` exclusive (ms since the epoch). Null
 * if the window is over or empty, so that no voucher can be issued.
 */
export function windowOf(validity: Validity, issuedAtMs: number): { validFrom: number; validUntil: number } | null {
  if (validity.type === 'fixed') {
    const validFrom = Date.parse(validity.startsAt)
    const validUntil = Date.parse(validity.endsAt)
    return issuedAtMs < validUntil ? { validFrom, validUntil } : null
  }
  const validFrom = issuedAtMs + validity.delayDays * DAY_MS
  const uncut = validFrom + validity.durationDays * DAY_MS
  const validUntil = validity.notAfter === null ? uncut : Math.min(uncut, Date.parse(validity.notAfter))
  return validFrom < validUntil ? { validFrom, validUntil } : null
}

function noSuchInstant(member: string): ReadValidity {
  return refused(member, 'format', 'must be a date and time that exists, with an offset')
}

function refused(member: string, code: string, message: string): ReadValidity {
  return { ok: false, issue: { pointer: `/validity/${member}`, code, message } }
}
