import { useState } from 'preact/hooks'
import type { IssuedVoucher, Redemption, Verification, Voucher } from '../../../contract/vouchers.js'
import { redeemVoucher, reverseRedemption, verifyVoucher } from '../model/app-calls.js'
import { dateTime } from '../model/format.js'
import { setClock, showCredentials } from '../model/operator-calls.js'
import { features, serverNow } from '../state.js'
import { ActionForm, Actions, Field, uniqueId } from './actions.js'
import { Credentials } from './credentials.js'
import { wordsOf } from './members.js'

interface OfVoucher {
  readonly voucher: Voucher
  readonly reload: () => void
}

/** What the operator can do with a voucher, as the application that issued it. */
export function VoucherActions({ voucher, reload }: OfVoucher) {
  const isOver = Date.parse(voucher.validUntil) <= serverNow()
  return (
    <Actions
      of={voucher.name}
      actions={[
        { label: 'Show the code', form: () => <ShowCode voucher={voucher} reload={reload} /> },
        { label: 'Verify', form: () => <Verify voucher={voucher} reload={reload} /> },
        { label: 'Redeem', form: () => <Redeem voucher={voucher} reload={reload} /> },
        {
          label: 'Reverse',
          refusal: !voucher.redemptionId && 'Nothing can be reversed: the voucher is not redeemed.',
          form: () => <Reverse voucher={voucher} reload={reload} />,
        },
        {
          label: 'Jump to its expiry',
          refusal: !features.value?.test_clock
            ? 'This server has no test clock: start one with voucherctl server start --test-clock.'
            : isOver && 'The voucher is past its expiry, and a test clock does not move backward.',
          form: () => (
            <ActionForm calls={[setClock(voucher.validUntil)]} label="Jump" done={reload} outcome={() => 'Done.'}>
              <p>
                Moves the clock of the whole server to {dateTime(voucher.validUntil)} (UTC). Other vouchers may expire
                too.
              </p>
            </ActionForm>
          ),
        },
      ]}
    />
  )
}

function ShowCode({ voucher, reload }: OfVoucher) {
  return (
    <ActionForm
      calls={[showCredentials(voucher.id)]}
      label="Show"
      done={reload}
      outcome={([it]: readonly Pick<IssuedVoucher, 'credentials'>[]) =>
        it && <Credentials credentials={it.credentials} />
      }
    >
      <p>
        Whoever has the code can redeem the voucher. The history of the voucher and the log will say that you saw it.
      </p>
    </ActionForm>
  )
}

function Verify({ voucher, reload }: OfVoucher) {
  return (
    <ActionForm
      calls={[verifyVoucher(voucher)]}
      label="Verify"
      done={reload}
      outcome={([it]: readonly Verification[]) =>
        it?.redeemable ? (
          <p class="good">It can be redeemed.</p>
        ) : (
          <p class="bad">It cannot be redeemed: {wordsOf(it?.reason ?? 'no reason')}.</p>
        )
      }
    />
  )
}

function Redeem({ voucher, reload }: OfVoucher) {
  const [reference, setReference] = useState(() => uniqueId('order'))
  const [key, setKey] = useState(() => crypto.randomUUID())
  const done = () => {
    setKey(crypto.randomUUID())
    reload()
  }
  return (
    <ActionForm
      calls={[redeemVoucher(voucher, reference, key)]}
      label="Redeem"
      done={done}
      outcome={([it]: readonly Redemption[]) => <p class="good">Redeemed as {it?.id}.</p>}
    >
      <Field label="Reference, such as an order number" value={reference} onValue={setReference} />
    </ActionForm>
  )
}

function Reverse({ voucher, reload }: OfVoucher) {
  const [reason, setReason] = useState('')
  const [key, setKey] = useState(() => crypto.randomUUID())
  const done = () => {
    setKey(crypto.randomUUID())
    reload()
  }
  return (
    <ActionForm
      calls={[reverseRedemption(voucher, reason, key)]}
      label="Reverse"
      done={done}
      outcome={([it]: readonly Redemption[]) => <p class="good">Reversed {it?.id}.</p>}
    >
      <Field label="Reason, not required" value={reason} onValue={setReason} placeholder="wrong article" />
    </ActionForm>
  )
}
