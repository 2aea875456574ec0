import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from '../failures/failure.js'
import { isColoured } from './colour.js'
import type { Output } from './output.js'

/** The dark (true) and light modules of a QR code, with a light margin of four modules (ISO/IEC 18004). */
export async function modulesOf(text: string, ecc: 'low' | 'medium'): Promise<boolean[][]> {
  const { encodeQR } = await import('qr')
  return encodeQR(text, 'raw', { ecc, border: 4 })
}

/**
 * Draws a QR code with half-block characters, two rows of modules per line; undefined if it is wider than the terminal.
 * A QR token of the reference server needs 33 columns.
 */
export async function drawQr(text: string, output: Output): Promise<string | undefined> {
  for (const ecc of ['medium', 'low'] as const) {
    const modules = await modulesOf(text, ecc)
    const width = modules.length
    if (width > (output.width ?? Number.POSITIVE_INFINITY)) continue
    const { isInk, paint } = screenOf(output)
    const lines = Array.from({ length: Math.ceil(width / 2) }, (_, line) =>
      Array.from({ length: width }, (_, x) => {
        const [upper, lower] = [2 * line, 2 * line + 1].map((y) => (modules[y]?.[x] ?? false) === isInk)
        return upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
      }).join(''),
    )
    return lines.map(paint).join('\n')
  }
  return undefined
}

/**
 * Draws black on white with colours; without colours it assumes light text on a dark background.
 * @returns isInk: true if block characters draw the dark modules; false if they draw the light ones
 */
function screenOf({ host: { env, stdout }, options }: Output) {
  if (!isColoured(stdout, env, options.noColor === true)) {
    const isLight = /;(?:7|15)$/.test(env.COLORFGBG ?? '')
    return { isInk: stdout.isTTY !== true || isLight, paint: (line: string) => line }
  }
  // A theme may change the 16 basic colours, even white to black, but not the 256-colour cube.
  const hasCube = Boolean(env.COLORTERM || env.WT_SESSION) || /256|kitty|alacritty|ghostty|wezterm/.test(env.TERM ?? '')
  const colours = hasCube ? '38;5;16;48;5;231' : '30;107'
  return { isInk: true, paint: (line: string) => `\u001b[${colours}m${line}\u001b[0m` }
}

/** Writes a QR code as PNG or SVG, by extension, with mode 0600: the code is enough to redeem the voucher. */
export async function writeQrFile(path: string, text: string): Promise<Failure | undefined> {
  const modules = await modulesOf(text, 'medium')
  const content = path.toLowerCase().endsWith('.svg') ? svgOf(modules) : await pngOf(modules)
  try {
    const { replaceFile } = await import('../../files/replace-file.js')
    replaceFile(path, content)
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `The voucher was issued, but ${path} cannot be written (${codeOf(error)}).`,
      'Issue it again with the same ids to another path: the same voucher is returned.',
    )
  }
  return undefined
}

/** Lists the runs of dark modules in the rows of a QR code. */
function* darkRuns(modules: readonly (readonly boolean[])[]) {
  for (const [y, row] of modules.entries()) {
    for (let x = row.indexOf(true); x >= 0; ) {
      const end = row.indexOf(false, x)
      yield { x, y, length: end - x }
      x = row.indexOf(true, end)
    }
  }
}

export function svgOf(modules: readonly (readonly boolean[])[]): string {
  const { length } = modules
  const dark = Array.from(darkRuns(modules), (run) => `M${run.x} ${run.y}h${run.length}v1h-${run.length}z`).join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${length} ${length}" shape-rendering="crispEdges"><path fill="#ffffff" d="M0 0h${length}v${length}H0z"/><path d="${dark}"/></svg>\n`
}

/** Encodes a QR code as PNG with eight pixels per module. */
async function pngOf(modules: readonly (readonly boolean[])[]): Promise<Uint8Array> {
  const { encode } = await import('fast-png')
  const scale = 8
  const width = modules.length * scale
  const data = new Uint8Array(width * width)
  modules.forEach((row, y) => {
    const line = Uint8Array.from({ length: width }, (_, x) => (row[Math.floor(x / scale)] ? 0 : 255))
    for (let copy = 0; copy < scale; copy += 1) data.set(line, (y * scale + copy) * width)
  })
  return encode({ width, height: width, data, channels: 1 })
}

/** Checks that the QR file is writable, before a voucher is issued, because issuing cannot be undone. */
export async function checkQrFile(path: string): Promise<Failure | undefined> {
  const { checkReplace } = await import('../../files/replace-file.js')
  try {
    checkReplace(path)
    return undefined
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `${path} cannot be written (${codeOf(error)}). No voucher was issued.`,
      'Check its folder, owner and permissions.',
    )
  }
}
