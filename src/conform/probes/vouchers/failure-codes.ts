import { contract } from '../../../contract/index.js'
import { credentialOf } from '../../fixtures.js'
import type { Probe } from '../../probe.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { ended, future, futureVerified, issueBeyondLimit } from './shared.js'

const { redeem } = contract.vouchers

/** Codes of refusals whose rules name only the status. */
const hasCode = (
  name: string,
  what: string,
  code: string,
  call: (it: ProbeContext) => Promise<Observed>,
  options: Pick<Probe, 'vouchers' | 'waitsMs'> = {},
): Probe =>
  probesOf('failure-codes', { needs: ['token'] })(name, `${what} has the code ${code}.`, options, async (it) => {
    const response = await call(it)
    if (response.status !== 409) it.notApplicable(`Needs a refusal with status 409: status ${response.status}.`)
    it.refuses(response, 409, code)
  })

export const failureCodes = [
  hasCode('quota-exhausted', 'An issue beyond the issue_limit', 'TEMPLATE_QUOTA_EXHAUSTED', issueBeyondLimit),
  hasCode('not-yet-valid', 'A redemption before validFrom', 'VOUCHER_NOT_YET_VALID', async (it) => {
    const { voucher } = await future(it)
    await futureVerified(it)
    return it.call(redeem, { credential: credentialOf(it, voucher) })
  }),
  hasCode(
    'expired',
    'A redemption after validUntil',
    'VOUCHER_EXPIRED',
    async (it) => it.call(redeem, { credential: credentialOf(it, (await ended(it)).unused) }),
    { waitsMs: 3_000 },
  ),
]
