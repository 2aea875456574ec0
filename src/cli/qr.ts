import type { Paint } from './colour.js'
import { codeOf } from './config.js'
import type { Failure } from './failure.js'
import { fail } from './failure.js'

/** A QR code in half blocks. A QR token takes 29 columns with its margin. */
export async function qrForTerminal(text: string, paint: Paint): Promise<string> {
  const { default: qrcode } = await import('qrcode')
  const drawing = await qrcode.toString(text, { type: 'utf8', margin: 2, errorCorrectionLevel: 'M' })
  return drawing
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => paint.paper(line))
    .join('\n')
}

/** As PNG or SVG by the ending; readable by its owner alone, since it is a redemption credential. */
export async function writeQrFile(path: string, text: string): Promise<Failure | undefined> {
  const { default: qrcode } = await import('qrcode')
  const { writeFile } = await import('node:fs/promises')
  const settings = { margin: 4, errorCorrectionLevel: 'M' } as const
  const content = path.toLowerCase().endsWith('.svg')
    ? await qrcode.toString(text, { ...settings, type: 'svg' })
    : await qrcode.toBuffer(text, { ...settings, type: 'png', scale: 8 })
  try {
    await writeFile(path, content, { mode: 0o600 })
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `The voucher was issued, but ${path} cannot be written (${codeOf(error)}).`,
      'Issue it again with the same ids to another path: the same voucher is answered.',
    )
  }
  return undefined
}
