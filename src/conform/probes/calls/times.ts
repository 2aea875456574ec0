import { createTemplate } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { createdTemplate, issued, redeemed } from './shared.js'

const probe = probesOf('times', { needs: ['token'] })

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Observes the members that the record has: a missing one is no deviation of this rule. */
function areInstants(it: ProbeContext, times: Readonly<Record<string, unknown>>): void {
  const present = Object.entries(times).filter(([, time]) => time !== undefined)
  if (present.length === 0) it.notApplicable('Needs a record with times.')
  const others = present.filter(([, time]) => typeof time !== 'string' || !INSTANT.test(time))
  it.equals('times in another form', Object.fromEntries(others), {})
}

const startingAt = (starts_at: string) => ({ type: 'fixed', starts_at, ends_at: '2090-01-01T00:00:00Z' })

export const times = [
  probe('template', 'The times of a template are in UTC with milliseconds and Z.', async (it) => {
    const { createdAt, updatedAt } = it.needs(await createdTemplate(it), 'a template')
    areInstants(it, { createdAt, updatedAt })
  }),
  probe(
    'voucher',
    'The times of a voucher are in UTC with milliseconds and Z.',
    { needs: ['token', 'template'] },
    async (it) => {
      const { validFrom, validUntil, issuedAt, updatedAt } = it.needs(await issued(it), 'an issued voucher')
      areInstants(it, { validFrom, validUntil, issuedAt, updatedAt })
    },
  ),
  probe(
    'redemption',
    'The time of a redemption is in UTC with milliseconds and Z.',
    { needs: ['token', 'template'] },
    async (it) => {
      const { redeemedAt } = it.needs((await redeemed(it)).response, 'a redemption')
      areInstants(it, { redeemedAt })
    },
  ),
  probe('offset', 'A time with another offset than Z is accepted and converted to UTC.', async (it) => {
    it.needs(
      await createTemplate(it, { validity: startingAt('2027-01-31T12:00:00Z') }),
      'a template with a fixed validity',
    )
    const created = await createTemplate(it, { validity: startingAt('2027-01-31T12:00:00+02:00') })
    it.succeeds(created)
    const { validity } = it.needs(created, 'a template')
    if (validity?.type !== 'fixed' || typeof validity.startsAt !== 'string') {
      return it.notApplicable('Needs startsAt in the validity of a template.')
    }
    it.equals('ms of startsAt', Date.parse(validity.startsAt), Date.parse('2027-01-31T10:00:00Z'))
  }),
  probe('no-offset', 'A time without an offset is refused with 400.', async (it) =>
    it.refuses(await createTemplate(it, { validity: startingAt('2027-01-31T12:00:00') }), 400),
  ),
]
