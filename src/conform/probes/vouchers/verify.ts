import { credentialTypes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import type { Verification } from '../../../contract/vouchers.js'
import { credentialOf, made, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { ended, futureVerified, issued, redeemCall, redeemed, verify as verifyVoucher } from './shared.js'

const probe = probesOf('verify', { kind: 'money', needs: ['token', 'template'] })
const waiting = probe.with({ needs: ['token'], waitsMs: 3_000 })
const tokenProbe = probe.with({ needs: ['token'] })
const { redeem, verify } = contract.vouchers

function finds(run: ProbeContext, verified: Observed<Verification>, reason: Verification['reason']): void {
  const data = run.succeeds(verified)
  run.equals('redeemable and reason', [data.redeemable, data.reason], [reason === null, reason])
}

export const verifyProbes = [
  probe.with({ vouchers: 1 }).specified(1, 'changes-nothing', 'Verify does not change the voucher.', async (run) => {
    await redeemed(run)
    // A separate voucher: only its first verification may show a change.
    const one = await voucher(run)
    const states = []
    for (const type of [...credentialTypes, ...credentialTypes]) {
      const input = { credential: credentialOf(run, one, type) }
      const { checkedAt: _, ...state } = made(run, await run.call(verify, input), 'a verification')
      if (state.voucher === undefined) run.notApplicable('Needs the voucher in a verification.')
      run.equals('status', state.voucher.status, one.status)
      states.push(state)
    }
    for (const state of states) run.equals('verification', state, states[0])
    run.succeeds(await run.call(redeem, { credential: credentialOf(run, one) }))
  }),
  probe(2, 'members', 'The data of verify is redeemable, reason, voucher and checkedAt.', async (run) => {
    const one = await issued(run)
    const { reason, voucher, checkedAt } = run.succeeds(await verifyVoucher(run, one))
    const expected = 'reason, the voucher with its id, and checkedAt'
    const { id } = membersOrNone(voucher)
    const isComplete = reason !== undefined && id === one.id && typeof checkedAt === 'string'
    run.holds(isComplete, expected, { reason, voucher: voucher && { id }, checkedAt })
  }),
  probe(2, 'redeemable', 'A redeemable voucher has the reason null.', async (run) => {
    finds(run, await verifyVoucher(run, await issued(run)), null)
  }),
  probe(2, 'already-redeemed', 'A redeemed voucher has the reason already_redeemed.', async (run) => {
    await redeemed(run)
    finds(run, await verifyVoucher(run, (await redeemCall(run)).voucher), 'already_redeemed')
  }),
  waiting(2, 'expired', 'A voucher after its validUntil has the reason expired.', async (it) =>
    finds(it, (await ended(it)).verified, 'expired'),
  ),
  tokenProbe(2, 'not-yet-valid', 'A voucher before its validFrom has the reason not_yet_valid.', async (run) => {
    finds(run, await futureVerified(run), 'not_yet_valid')
  }),
  probe(2, 'recipient-mismatch', 'A voucher of another recipient has the reason recipient_mismatch.', async (run) => {
    const credential = credentialOf(run, await issued(run))
    finds(run, await run.call(verify, { credential, recipient_user_id: run.resources.name() }), 'recipient_mismatch')
  }),
]
