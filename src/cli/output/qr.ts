import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from '../failure.js'
import { isColoured } from './colour.js'
import type { Output } from './output.js'

/** Modules of white around the code (ISO/IEC 18004); scanners need them on a dark screen above all. */
const QUIET_ZONE = 4

/**
 * A QR code in half blocks, two modules on a line, dark on light; undefined where it is wider than the terminal. A QR
 * token of the reference server takes 33 columns.
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
  /** Whether dark modules are drawn as ink: else the light ones are, since ink is light. */
  readonly isInk: boolean
  paint(line: string): string
}

/** With colours, black on white whatever the terminal's are; without, the ink of a terminal is light unless it says so. */
function screenOf({ host: { env, stdout }, options }: Output): Screen {
  if (!isColoured(stdout, env, options.noColor === true)) {
    const isLight = /;(?:7|15)$/.test(env.COLORFGBG ?? '')
    return { isInk: stdout.isTTY !== true || isLight, paint: (line) => line }
  }
  // The sixteen colours are the theme's, and some make black of white; those of the cube are fixed.
  const hasCube = Boolean(env.COLORTERM || env.WT_SESSION) || /256|kitty|alacritty|ghostty|wezterm/.test(env.TERM ?? '')
  const colours = hasCube ? '38;5;16;48;5;231' : '30;107'
  return { isInk: true, paint: (line) => `\u001b[${colours}m${line}\u001b[0m` }
}

/** As PNG or SVG by the ending; readable by its owner alone, since it is a redemption credential. */
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

/** Why the file could not be written, asked before a voucher is issued that cannot be taken back. */
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
