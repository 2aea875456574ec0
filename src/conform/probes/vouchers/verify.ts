import { contract } from '../../../contract/index.js'
import type { Verification } from '../../../contract/vouchers.js'
import { credentialOf } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { ended, futureVerified, issued, redeemCall, redeemed, verify as verifyVoucher } from './shared.js'

const probe = probesOf('verify', { needs: ['token', 'template'], specified: ['changes-nothing'] })
const { verify } = contract.vouchers

function finds(it: ProbeContext, verified: Observed<Verification>, reason: Verification['reason']): void {
  const data = it.succeeds(verified)
  it.equals('redeemable and reason', [data.redeemable, data.reason], [reason === null, reason])
}

export const verifyProbes = [
  probe('changes-nothing', 'Verify does not change the voucher.', async (it) => {
    const first = it.needs(await verifyVoucher(it, await issued(it)), 'a verification')
    if (first.voucher === undefined) it.notApplicable('Needs the voucher in a verification.')
    it.equals('voucher', it.succeeds(await verifyVoucher(it, await issued(it))).voucher, first.voucher)
  }),
  probe('members', 'The data of verify is redeemable, reason, voucher and checkedAt.', async (it) => {
    const one = await issued(it)
    const { reason, voucher, checkedAt } = it.succeeds(await verifyVoucher(it, one))
    const expected = 'reason, the voucher with its id, and checkedAt'
    const { id } = membersOrNone(voucher)
    const isComplete = reason !== undefined && id === one.id && typeof checkedAt === 'string'
    it.holds(isComplete, expected, { reason, voucher: voucher && { id }, checkedAt })
  }),
  probe('redeemable', 'A redeemable voucher has the reason null.', async (it) => {
    finds(it, await verifyVoucher(it, await issued(it)), null)
  }),
  probe('already-redeemed', 'A redeemed voucher has the reason already_redeemed.', async (it) => {
    await redeemed(it)
    finds(it, await verifyVoucher(it, (await redeemCall(it)).voucher), 'already_redeemed')
  }),
  probe(
    'expired',
    'A voucher after its validUntil has the reason expired.',
    { needs: ['token'], waitsMs: 3_000 },
    async (it) => finds(it, (await ended(it)).verified, 'expired'),
  ),
  probe(
    'not-yet-valid',
    'A voucher before its validFrom has the reason not_yet_valid.',
    { needs: ['token'] },
    async (it) => {
      finds(it, await futureVerified(it), 'not_yet_valid')
    },
  ),
  probe('recipient-mismatch', 'A voucher of another recipient has the reason recipient_mismatch.', async (it) => {
    const credential = credentialOf(it, await issued(it))
    finds(it, await it.call(verify, { credential, recipient_user_id: it.resources.name() }), 'recipient_mismatch')
  }),
]
