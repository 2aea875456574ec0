import type { IssuedVoucher, Redemption, Verification, Voucher } from '../../../../contract/vouchers.js'
import { features, serverNow } from '../../state.js'
import { type Action, uniqueId } from '../actions.js'
import { wordsOf } from '../members.js'
import { Credentials } from './credentials.js'

const done = (text: string) => <p class="good">{text}</p>

/** What the operator can do with a voucher, as the application that issued it. */
export function actionsOn({ id, applicationId, redemptionId, validUntil }: Voucher): readonly Action[] {
  const as = { kind: 'application', id: applicationId } as const
  const ofVoucher = { as, voucherId: id }
  return [
    {
      label: 'Show the code',
      note: 'Whoever has the code can redeem the voucher. Its history and the log will say that you saw it.',
      calls: () => [{ endpoint: 'platform.showCredentials', input: { voucherId: id } }],
      outcome: ([it]: readonly Pick<IssuedVoucher, 'credentials'>[]) => it && <Credentials {...it} />,
    },
    {
      label: 'Verify',
      calls: () => [{ endpoint: 'vouchers.verify', input: {}, ...ofVoucher }],
      outcome: ([it]: readonly Verification[]) =>
        it?.redeemable ? (
          done('It can be redeemed.')
        ) : (
          <p class="bad">It cannot be redeemed: {wordsOf(it?.reason ?? '')}.</p>
        ),
    },
    {
      label: 'Redeem',
      fields: { reference: { label: 'Reference', value: () => uniqueId('order'), optional: true } },
      calls: (input, idempotencyKey) => [{ endpoint: 'vouchers.redeem', input, idempotencyKey, ...ofVoucher }],
      outcome: ([it]: readonly Redemption[]) => done(`Redeemed as ${it?.id}.`),
    },
    {
      label: 'Reverse',
      refusal: !redemptionId && 'Nothing can be reversed: the voucher is not redeemed.',
      fields: { reason: { label: 'Reason (optional)', optional: true, placeholder: 'wrong article' } },
      calls: (values, idempotencyKey) => {
        const input = { redemptionId: redemptionId ?? '', ...values }
        return [{ endpoint: 'vouchers.reverse', input, idempotencyKey, as }]
      },
      outcome: ([it]: readonly Redemption[]) => done(`Reversed ${it?.id}.`),
    },
    {
      label: 'Jump to its expiry',
      refusal: features.value?.test_clock
        ? Date.parse(validUntil) <= serverNow() && 'It has expired, and a test clock does not move backward.'
        : 'This server has no test clock: stop it, then run voucherctl server start --test-clock.',
      asks: true,
      note: 'Moves the clock of the whole server: other vouchers may expire too.',
      calls: () => [{ endpoint: 'platform.setClock', input: { now: validUntil } }],
      outcome: () => done('The clock moved.'),
    },
  ]
}
