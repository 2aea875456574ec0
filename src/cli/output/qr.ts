import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from '../failure.js'
import { isColoured } from './colour.js'
import type { Output } from './output.js'

/** Width of the white margin in modules (ISO/IEC 18004), which scanners need especially on a dark screen. */
const QUIET_ZONE = 4

/**
 * Draws a QR code in half blocks, two rows of modules per line; undefined if it is wider than the terminal. A QR token
 * of the reference server needs 33 columns.
 */
export async function drawQr(text: string, output: Output): Promise<string | undefined> {
  const { default: qrcode } = await import('qrcode')
  for (const errorCorrectionLevel of ['M', 'L'] as const) {
    const { size, data } = qrcode.create(text, { errorCorrectionLevel }).modules
    const width = size + 2 * QUIET_ZONE
    if (width > (output.width ?? Number.POSITIVE_INFINITY)) continue
    const isDark = (x: number, y: number) => {
      const [column, row] = [x - QUIET_ZONE, y - QUIET_ZONE]
      const isInside = column >= 0 && row >= 0 && column < size && row < size
      return isInside && data[row * size + column] === 1
    }
    const { isInk, paint } = screenOf(output)
    const lines = Array.from({ length: Math.ceil(width / 2) }, (_, line) =>
      Array.from({ length: width }, (_, x) => {
        const [upper, lower] = [isDark(x, 2 * line) === isInk, isDark(x, 2 * line + 1) === isInk]
        return upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
      }).join(''),
    )
    return lines.map(paint).join('\n')
  }
  return undefined
}

interface Screen {
  /** True if block characters draw the dark modules; false if they draw the light ones. */
  readonly isInk: boolean
  paint(line: string): string
}

/** With colours, black on white; without, block characters are assumed to be light on a dark background. */
function screenOf({ host: { env, stdout }, options }: Output): Screen {
  if (!isColoured(stdout, env, options.noColor === true)) {
    const isLight = /;(?:7|15)$/.test(env.COLORFGBG ?? '')
    return { isInk: stdout.isTTY !== true || isLight, paint: (line) => line }
  }
  // A theme can change the sixteen colours, even white to black; the colours of the 256-colour cube are fixed.
  const hasCube = Boolean(env.COLORTERM || env.WT_SESSION) || /256|kitty|alacritty|ghostty|wezterm/.test(env.TERM ?? '')
  const colours = hasCube ? '38;5;16;48;5;231' : '30;107'
  return { isInk: true, paint: (line) => `\u001b[${colours}m${line}\u001b[0m` }
}

/** Writes PNG or SVG by the extension, with mode 0600, because the code is a redemption credential. */
export async function writeQrFile(path: string, text: string): Promise<Failure | undefined> {
  const { default: qrcode } = await import('qrcode')
  const settings = { margin: 4, errorCorrectionLevel: 'M' } as const
  const content = path.toLowerCase().endsWith('.svg')
    ? await qrcode.toString(text, { ...settings, type: 'svg' })
    : await qrcode.toBuffer(text, { ...settings, type: 'png', scale: 8 })
  try {
    const { replaceFile } = await import('../../files/replace-file.js')
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

/** Checks that the file is writable, before a voucher is issued irrevocably. */
export async function checkQrFile(path: string): Promise<Failure | undefined> {
  const { rm, stat, writeFile } = await import('node:fs/promises')
  try {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return fail('FILE_UNWRITABLE', `${path} is a folder.`, 'Choose another path.')
    const { draftOf } = await import('../../files/replace-file.js')
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
