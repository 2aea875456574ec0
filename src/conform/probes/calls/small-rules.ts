import { contract } from '../../../contract/index.js'
import { DAY_MS } from '../../../values/duration.js'
import { createdApplication, createTemplate, made } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anonymousRead, createdTemplate, createdToken, issued, redeemed } from './shared.js'

const timeProbe = probesOf('times', { needs: ['token'] })
const voucherProbe = timeProbe.with({ needs: ['token', 'template'] })

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Tests only members that the record has; another rule reports a missing one. */
function areInstants(run: ProbeContext, times: Readonly<Record<string, unknown>>): void {
  const present = Object.entries(times).filter(([, time]) => time !== undefined)
  if (present.length === 0) run.notApplicable('Needs a record with times.')
  const others = present.filter(([, time]) => typeof time !== 'string' || !INSTANT.test(time))
  run.equals('times in another form', Object.fromEntries(others), {})
}

const startingAt = (starts_at: string) => ({ type: 'fixed', starts_at, ends_at: '2090-01-01T00:00:00Z' })

export const times = [
  timeProbe(2, 'template', 'The times of a template are in UTC with milliseconds and Z.', async (run) => {
    const { createdAt, updatedAt } = run.needs(await createdTemplate(run), 'a template')
    areInstants(run, { createdAt, updatedAt })
  }),
  voucherProbe(2, 'voucher', 'The times of a voucher are in UTC with milliseconds and Z.', async (run) => {
    const { validFrom, validUntil, issuedAt, updatedAt } = run.needs(await issued(run), 'an issued voucher')
    areInstants(run, { validFrom, validUntil, issuedAt, updatedAt })
  }),
  voucherProbe(2, 'redemption', 'The time of a redemption is in UTC with milliseconds and Z.', async (run) => {
    const { redeemedAt } = run.needs((await redeemed(run)).response, 'a redemption')
    areInstants(run, { redeemedAt })
  }),
  timeProbe(2, 'offset', 'A time with another offset than Z is accepted and converted to UTC.', async (run) => {
    run.needs(
      await createTemplate(run, { validity: startingAt('2027-01-31T12:00:00Z') }),
      'a template with a fixed validity',
    )
    const created = await createTemplate(run, { validity: startingAt('2027-01-31T12:00:00+02:00') })
    run.succeeds(created)
    const { validity } = run.needs(created, 'a template')
    if (validity?.type !== 'fixed' || typeof validity.startsAt !== 'string') {
      return run.notApplicable('Needs startsAt in the validity of a template.')
    }
    run.equals('ms of startsAt', Date.parse(validity.startsAt), Date.parse('2027-01-31T10:00:00Z'))
  }),
  timeProbe(2, 'no-offset', 'A time without an offset is refused with 400.', async (run) =>
    run.refuses(await createTemplate(run, { validity: startingAt('2027-01-31T12:00:00') }), 400),
  ),
]

/** Defines a probe that tests a newly created id. */
const idOf = (
  prefix: string,
  what: string,
  needs: readonly Need[],
  read: (it: ProbeContext) => Promise<unknown>,
  options: { readonly reads?: true } = {},
) => {
  const run = async (run: ProbeContext) => {
    const id = await read(run)
    if (typeof id !== 'string') run.notApplicable('Needs a record with an id.')
    const isUlid = new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`).test(id)
    run.holds(isUlid, `${prefix}_ and a ULID`, id)
  }
  return probesOf('ids', { needs, ...options })(1, prefix, `The id of ${what} is ${prefix}_ and a ULID.`, run)
}

export const ids = [
  idOf('req', 'a request', [], async (it) => membersOrNone((await anonymousRead(it)).json).requestId, { reads: true }),
  idOf('app', 'an application', ['jwt'], async (it) => (await createdApplication(it)).data.id),
  idOf('tpl', 'a template', ['token'], async (it) => (await createdTemplate(it)).data.id),
  idOf('vch', 'a voucher', ['token', 'template'], async (it) => (await issued(it)).data.id),
  idOf('rdm', 'a redemption', ['token', 'template'], async (it) => (await redeemed(it)).response.data.id),
  idOf('tok', 'a token', ['jwt'], async (it) => made(it, await createdToken(it), 'a token').id),
]

const YEAR_MS = 365 * DAY_MS

/** Parses a Deprecation header (RFC 9745: `@` and Unix seconds) to ms since the epoch. */
const deprecatedAt = (value: string) => Number(/^@(\d+)$/.exec(value)?.[1]) * 1000

export const versions = [
  probesOf('versions', { needs: ['token'], reads: true })(
    1,
    'announced-removal',
    'An endpoint whose response announces its removal with Sunset was deprecated 12 months before.',
    async (run) => {
      const { headers } = await run.call(contract.templates.list, {})
      if (headers.sunset === undefined) return
      const notice = Date.parse(headers.sunset) - deprecatedAt(headers.deprecation ?? '')
      run.holds(notice >= YEAR_MS, 'Deprecation 12 months before Sunset', `${headers.deprecation}, ${headers.sunset}`)
    },
  ),
]
