import { contract } from '../../../contract/index.js'
import { DAY_MS } from '../../../values/duration.js'
import { activate, credentialOf, templateInput, tryIssue } from '../../fixtures.js'
import { type Probe, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { secondRedemption } from './redemptions.js'
import { secondReversal } from './reversal.js'
import {
  create,
  ended,
  ending,
  future,
  futureVerified,
  issueBeyondLimit,
  keep,
  limited,
  platformTime,
  reversal,
  timeOf,
  verify,
} from './shared.js'

const probe = probesOf('validity', { kind: 'money', needs: ['token'] })
const waiting = probe.with({ waitsMs: 3_000 })
const { redeem } = contract.vouchers
/** Tolerance in ms: a platform may read its clock twice during an issue. */
const TOLERANCE_MS = 1_000

const relative = (changes: object) => ({ type: 'relative', duration_days: 1, ...changes })

const isAccepted = (name: string, title: string, validity: (it: ProbeContext) => Promise<object>) =>
  probe(2, name, title, async (run) => {
    run.succeeds(await create(run, { ...templateInput(run), validity: await validity(run) }))
  })

const isRefused = (name: string, title: string, validity: object) =>
  probe(2, name, title, async (run) => {
    run.refuses(await create(run, { ...templateInput(run), validity }), 400)
  })

/** Creates a template whose validity ended an hour ago. */
const endedTemplate = (run: ProbeContext) =>
  keep(run, 'ended template', async () => {
    const starts_at = await platformTime(run, -2 * 3_600_000)
    const ends_at = await platformTime(run, -3_600_000)
    return create(run, templateInput(run, { validity: { type: 'fixed', starts_at, ends_at } }))
  })

export const validity = [
  isAccepted('fixed', 'A validity can be fixed, with starts_at and ends_at.', async (run) => {
    return { type: 'fixed', starts_at: await platformTime(run, DAY_MS), ends_at: await platformTime(run, 2 * DAY_MS) }
  }),
  isAccepted('relative', 'A validity can be relative, with duration_days, delay_days and not_after.', async (run) =>
    relative({ delay_days: 1, not_after: await platformTime(run, 9 * DAY_MS) }),
  ),
  isRefused('other-type', 'A validity of another type is refused with 400.', { type: 'conform', duration_days: 1 }),
  isAccepted('duration-of-1095', 'A duration of 1,095 days is accepted.', async () =>
    relative({ duration_days: 1095 }),
  ),
  isRefused('duration-of-0', 'A duration of 0 days is refused with 400.', relative({ duration_days: 0 })),
  isRefused('duration-of-1096', 'A duration of 1,096 days is refused with 400.', relative({ duration_days: 1096 })),
  isAccepted('delay-of-30', 'A delay of 30 days is accepted.', async () => relative({ delay_days: 30 })),
  isRefused('delay-of-31', 'A delay of 31 days is refused with 400.', relative({ delay_days: 31 })),
  probe(2, 'day-of-86400-seconds', 'A voucher with a duration of one day is valid for 86,400 s.', async (run) => {
    const { validFrom, validUntil } = (await limited(run)).voucher
    run.equals('ms from validFrom to validUntil', timeOf(run, validUntil) - timeOf(run, validFrom), DAY_MS)
  }),
  ...[0, 1].map((days) =>
    probe(2, `delay-of-${days}-from-the-issue`, `A delay of ${days} days is counted from the issue.`, async (run) => {
      const { validFrom, issuedAt } = (await (days === 0 ? limited(run) : future(run))).voucher
      const ms = timeOf(run, validFrom) - timeOf(run, issuedAt)
      const expected = `validFrom ${days * DAY_MS} ms after issuedAt`
      run.holds(Math.abs(ms - days * DAY_MS) <= TOLERANCE_MS, expected, `validFrom ${ms} ms after issuedAt`)
    }),
  ),
  probe(3, 'fixed-window', 'A voucher with a fixed validity has the times of its template.', async (run) => {
    const { unused, starts_at, ends_at } = await ending(run)
    const observed = [timeOf(run, unused.validFrom), timeOf(run, unused.validUntil)]
    run.equals('validFrom and validUntil', observed, [Date.parse(starts_at), Date.parse(ends_at)])
  }),
  probe.with({ needs: ['token', 'template'] })(
    3,
    'times-never-change',
    'validFrom and validUntil of a voucher are the same after a redemption and its reversal.',
    async (run) => {
      const { voucher: first, response } = await reversal(run)
      run.needs(response, 'a reversal')
      const { voucher: last } = run.needs(await verify(run, first), 'a verification')
      run.equals('times', [last.validFrom, last.validUntil], [first.validFrom, first.validUntil])
    },
  ),
  probe.partly(1, 'before-valid-from', 'A redemption before validFrom is refused with 409.', async (run) => {
    const { voucher } = await future(run)
    await futureVerified(run)
    run.refuses(await run.call(redeem, { credential: credentialOf(run, voucher) }), 409)
  }),
  probe(3, 'create-after-the-end', 'A template can be created with a validity that has ended.', async (run) => {
    run.succeeds(await endedTemplate(run))
  }),
  probe.with({ vouchers: 1 })(
    3,
    'issue-after-the-end',
    'An issue from a template whose validity has ended is 409 TEMPLATE_VALIDITY_ENDED.',
    async (run) => {
      const template_id = await activate(run, run.needs(await endedTemplate(run), 'a template'))
      run.refuses(await tryIssue(run, { template_id }), 409, 'TEMPLATE_VALIDITY_ENDED')
    },
  ),
]

/** Waits for the end of a voucher that a probe of `validity` issued. */
export const validityAfterTheEnd = [
  waiting.partly(1, 'at-valid-until', 'A redemption after validUntil is refused with 409.', async (run) => {
    const { unused } = await ended(run)
    for (const type of ['redeem_code', 'qr_token'] as const)
      run.refuses(await run.call(redeem, { credential: credentialOf(run, unused, type) }), 409)
  }),
]

/** Defines probes for codes of refusals whose rules name only the status. */
const hasCode = (
  name: string,
  what: string,
  code: string,
  call: (it: ProbeContext) => Promise<Observed>,
  options: Pick<Probe, 'vouchers' | 'waitsMs'> = {},
): Probe =>
  probesOf('failure-codes', { needs: ['token'], ...options })(3, name, `${what} has the code ${code}.`, async (run) => {
    const response = await call(run)
    run.needsRefusal(response, 409)
    run.refuses(response, 409, code)
  })

export const failureCodes = [
  hasCode('quota-exhausted', 'An issue beyond the issue_limit', 'TEMPLATE_QUOTA_EXHAUSTED', issueBeyondLimit),
  hasCode('already-redeemed', 'A second redemption', 'VOUCHER_ALREADY_REDEEMED', async (run) => {
    return (await secondRedemption(run)).response
  }),
  hasCode('already-reversed', 'A second reversal', 'REDEMPTION_ALREADY_REVERSED', secondReversal),
  hasCode('not-yet-valid', 'A redemption before validFrom', 'VOUCHER_NOT_YET_VALID', async (run) => {
    const { voucher } = await future(run)
    await futureVerified(run)
    return run.call(redeem, { credential: credentialOf(run, voucher) })
  }),
  hasCode(
    'expired',
    'A redemption after validUntil',
    'VOUCHER_EXPIRED',
    async (it) => it.call(redeem, { credential: credentialOf(it, (await ended(it)).unused) }),
    { waitsMs: 3_000 },
  ),
]
