import { useEffect, useState } from 'preact/hooks'
import type { IssuedVoucher } from '../../../contract/vouchers.js'
import { Copy } from '../components.js'
import { loadFile } from '../trust.js'

type Drawing = typeof import('./qr.js')

/** QR code and redeem code of a voucher. The QR library is loaded when the first code is shown. */
export function Credentials({ credentials }: Pick<IssuedVoucher, 'credentials'>) {
  const [drawing, setDrawing] = useState<Drawing | null>(null)
  useEffect(() => {
    void loadFile(() => import('./qr.js')).then(setDrawing)
  }, [])
  const valueOf = (type: string) => credentials.find((it) => it.type === type)?.value
  const [qr, code] = [valueOf('qr_token'), valueOf('redeem_code')]
  return (
    <div class="credentials">
      {qr && (drawing ? <drawing.QrCode text={qr} /> : <div class="qr"></div>)}
      {code && (
        <p class="actions">
          <code>{code}</code> <Copy text={code} />
        </p>
      )}
    </div>
  )
}
