import { encodeQR } from 'qr'

/** A QR code, drawn as one row of rectangles after the other, dark on white in both themes. */
export function QrCode({ text }: { readonly text: string }) {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const size = rows.length
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges" role="img" aria-label="QR code">
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={dark.join('')} />
    </svg>
  )
}
