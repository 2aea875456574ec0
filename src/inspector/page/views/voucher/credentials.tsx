import type { IssuedVoucher } from '../../../../contract/vouchers.js'
import { Copied } from '../../components.js'
import { QrCode } from './qr.js'

/** QR code and redeem code of a voucher. */
export function Credentials({ credentials }: Pick<IssuedVoucher, 'credentials'>) {
  const valueOf = (type: string) => credentials.find((it) => it.type === type)?.value
  const [qr, code] = [valueOf('qr_token'), valueOf('redeem_code')]
  return (
    <div class="credentials">
      {qr && <QrCode text={qr} />}
      {code && (
        <p class="actions">
          <Copied text={code} />
        </p>
      )}
    </div>
  )
}
