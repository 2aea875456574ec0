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
  const settings = { margin: 4, errorCorrectionLevel: 'M' } as const
  const content = path.toLowerCase().endsWith('.svg')
    ? await qrcode.toString(text, { ...settings, type: 'svg' })
    : await qrcode.toBuffer(text, { ...settings, type: 'png', scale: 8 })
  try {
    const { replaceFile } = await import('./replace-file.js')
    replaceFile(path, content)
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `The voucher was issued, but ${path} cannot be written (${codeOf(error)}).`,
      'Issue it again with the same ids to another path: the same voucher is answered.',
    )
  }
  return undefined
}

/** Why the file could not be written, asked before a voucher is issued that cannot be taken back. */
export async function checkQrFile(path: string): Promise<Failure | undefined> {
  const { rm, stat, writeFile } = await import('node:fs/promises')
  try {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return fail('FILE_UNWRITABLE', `${path} is a folder.`, 'Choose another path.')
    const draft = draftOf(path)
    await writeFile(draft, '', { flag: 'wx', mode: 0o600 })
    await rm(draft)
    return undefined
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `${path} cannot be written (${codeOf(error)}). No voucher was issued.`,
      'Check its folder and permissions.',
    )
  }
}

const draftOf = (path: string) => `${path}.${process.pid}.tmp`
