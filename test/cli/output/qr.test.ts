import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode as decodePng } from 'fast-png'
import decodeQr from 'qr/decode.js'
import { expect, test } from 'vitest'
import { cli, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { issuedVoucher, qrToken } from '../../support/cli/samples.js'

const issue = 'vouchers issue --template tpl_01 --external-id order-1 --recipient user-1'
const SCALE = 4

async function run(args: string, given: Parameters<typeof cli>[1] = {}) {
  const { baseUrl, received } = await stub(() => success(issuedVoucher))
  return {
    ...(await cli(`${issue} ${args} --base-url ${baseUrl}`, { ...given, env: { ...secrets, ...given.env } })),
    received,
  }
}

const light = [255, 255, 255]
const dark = [0, 0, 0]
type Colour = readonly number[]

/** Enlarges the pixels of an image and decodes its QR code. */
function decode(rows: readonly (readonly Colour[])[]): string {
  const [width, height] = [(rows[0]?.length ?? 0) * SCALE, rows.length * SCALE]
  const data = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      data.set([...(rows[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)] ?? light), 255], (y * width + x) * 4)
    }
  }
  return decodeQr({ width, height, data })
}

const colours: Readonly<Record<string, Colour>> = { '38;5;16': dark, '48;5;231': light, '30': dark, '107': light }

/** Renders terminal text with these default colours as an image and decodes the QR code. */
function decodeTerminal(text: string, ink: Colour, paper: Colour): string {
  const lines = text.split('\n')
  const rows: Colour[][] = []
  for (const line of lines) {
    const upper: Colour[] = []
    const lower: Colour[] = []
    let [front, back] = [ink, paper]
    for (const part of line.match(/\u001b\[[\d;]*m|./gu) ?? []) {
      if (part === '\u001b[0m') [front, back] = [ink, paper]
      else if (part.startsWith('\u001b')) {
        const [one, two] = /^(38;5;\d+|\d+);(.*)$/.exec(part.slice(2, -1))?.slice(1) ?? []
        ;[front, back] = [colours[one ?? ''] ?? ink, colours[two ?? ''] ?? paper]
      } else {
        upper.push('█▀'.includes(part) ? front : back)
        lower.push('█▄'.includes(part) ? front : back)
      }
    }
    for (const row of [upper, lower]) rows.push([...row, ...Array.from({ length: 80 - row.length }, () => paper)])
  }
  // This decoder also accepts inverted QR codes, but not every scanner does, so the margin must be light.
  const [zone, finder] = [[0, 3, 32].map((at) => rows[at]?.[at]), [4, 10].map((at) => rows[at]?.[at])]
  expect([zone, finder]).toEqual([
    [light, light, light],
    [dark, dark],
  ])
  return decode(rows)
}

/** The lines of the QR code, which follow the other output after an empty line. */
const drawingOf = (stdout: string) => stdout.slice(stdout.lastIndexOf('\n\n') + 2)

test.each([
  ['a dark terminal', { TERM: 'xterm-256color' }, light, dark],
  ['a light terminal', { TERM: 'xterm-256color' }, dark, light],
  ['a dark terminal of 16 colours', { TERM: 'linux' }, light, dark],
  ['a light terminal of 16 colours', { TERM: 'xterm' }, dark, light],
  ['a dark terminal without colour', { NO_COLOR: '1', TERM: 'xterm-256color' }, light, dark],
  ['a light terminal without colour but with COLORFGBG', { NO_COLOR: '1', COLORFGBG: '0;15' }, dark, light],
  ['a dumb terminal', { TERM: 'dumb' }, light, dark],
])('vouchers issue --qr draws a QR code that can be scanned on %s', async (_name, env, ink, paper) => {
  for (const how of ['--recipient user-1', '--chat chat_01']) {
    const { baseUrl } = await stub(() => success(issuedVoucher))
    const args = `vouchers issue --template tpl_01 --external-id order-1 ${how} --qr --base-url ${baseUrl}`
    const { exit, stdout } = await cli(args, { env: { ...secrets, ...env }, terminal: true, columns: 80 })
    expect(exit).toBe(0)
    const drawing = drawingOf(stdout)
    expect(decodeTerminal(drawing, ink, paper)).toBe(qrToken)
    if ('NO_COLOR' in env || env.TERM === 'dumb') expect(stdout).not.toContain('\u001b')
    // The QR code and a shell prompt must fit a terminal of 80 columns and 24 lines.
    const plain = drawing
      .replace(/\u001b\[[\d;]*m/g, '')
      .trimEnd()
      .split('\n')
    expect([plain.length <= 20, Math.max(...plain.map((line) => line.length))]).toEqual([true, 33])
  }
})

test('vouchers issue --qr draws a dark QR code without colour sequences in a pipe', async () => {
  const { stdout } = await run('--qr')
  expect(stdout).not.toContain('\u001b')
  expect(decodeTerminal(drawingOf(stdout), dark, light)).toBe(qrToken)
})

test('vouchers issue --qr suggests --qr-file if the QR code is wider than the terminal', async () => {
  const credentials = [{ type: 'qr_token', value: 'q'.repeat(300) }]
  const { baseUrl } = await stub(() => success({ ...issuedVoucher, credentials }))
  const given = { env: { ...secrets, NO_COLOR: '1' }, terminal: true }
  const narrow = await cli(`${issue} --qr --base-url ${baseUrl}`, { ...given, columns: 60 })
  expect([narrow.exit, /[█▀▄]/.test(narrow.stdout), narrow.stdout.includes('vch_01')]).toEqual([0, false, true])
  expect(narrow.stderr).toMatch(/wider than[^]*--qr-file/)
  expect((await cli(`${issue} --qr --base-url ${baseUrl}`, { ...given, columns: 100 })).stdout).toMatch(/[█▀▄]/)
})

test.each(['json', 'jsonl', 'yaml', 'csv'])(
  'vouchers issue --qr -o %s exits 2 and issues no voucher',
  async (format) => {
    for (const given of [
      { args: `--qr -o ${format}`, env: {} },
      { args: '--qr', env: { VOUCHERCTL_OUTPUT: format } },
    ]) {
      const { exit, stdout, stderr, received } = await run(given.args, { env: given.env })
      expect([exit, stdout, received]).toEqual([2, '', []])
      expect(stderr).toContain('--qr-file')
    }
  },
)

test('vouchers issue --qr-file out.png writes a readable QR code to a file with mode 0600', async () => {
  const path = join(temporaryDir(), 'out.png')
  const { exit, stdout } = await run(`--qr-file ${path}`)
  expect(exit).toBe(0)
  expect(stdout).toContain(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const { width, height, data } = decodePng(readFileSync(path))
  const rgba = Uint8Array.from({ length: width * height * 4 }, (_, i) => (i % 4 === 3 ? 255 : (data[i >> 2] as number)))
  expect(decodeQr({ width, height, data: rgba })).toBe(qrToken)
})

test('vouchers issue --qr-file out.svg writes a readable QR code', async () => {
  const path = join(temporaryDir(), 'out.svg')
  await run(`--qr-file ${path} --json`)
  const svg = readFileSync(path, 'utf8')
  const size = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
  const modules = Array.from({ length: size }, () => new Array<boolean>(size).fill(false))
  for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    modules[Number(y)]?.fill(true, Number(x), Number(x) + Number(length))
  }
  expect(svg).toContain(`<path fill="#ffffff" d="M0 0h${size}v${size}H0z"/>`)
  expect(decode(modules.map((row) => row.map((it) => (it ? dark : light))))).toBe(qrToken)
})

test('vouchers issue --qr-file replaces a file of mode 0644 with one of mode 0600', async () => {
  const path = join(temporaryDir(), 'out.svg')
  writeFileSync(path, 'old', { mode: 0o644 })
  expect((await run(`--qr-file ${path}`)).exit).toBe(0)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toContain('<svg')
})

test('vouchers issue --qr-file exits 1 for an unwritable path and issues no voucher', async () => {
  const dir = temporaryDir()
  mkdirSync(join(dir, 'folder.svg'))
  for (const path of [join(dir, 'nowhere', 'out.svg'), join(dir, 'folder.svg')]) {
    const { exit, stdout, received } = await run(`--qr-file ${path} --json`)
    expect([exit, stdout, received]).toEqual([1, '', []])
  }
  const { exit, stderr, received } = await run('--qr-file -')
  expect([exit, received]).toEqual([2, []])
  expect(stderr).toContain('must end in .png or .svg')
})

test.each([{ credentials: [null] }, { credentials: 'x' }, { credentials: null }])(
  'vouchers issue exits 9 for a voucher with %j, which cannot be redeemed',
  async (members) => {
    const { baseUrl } = await stub(() => success({ ...issuedVoucher, ...members }))
    const ran = await cli(`${issue} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stdout]).toEqual([9, ''])
  },
)

test('vouchers issue prints nothing on stdout if it cannot write the QR file after issuing', async () => {
  const dir = temporaryDir()
  const path = join(dir, 'out.svg')
  const { baseUrl } = await stub(() => {
    // The path passes the check before the request; a folder in its place makes the write fail.
    mkdirSync(path)
    return success(issuedVoucher)
  })
  const ran = await cli(`${issue} --qr-file ${path} --json --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  const { message, details } = JSON.parse(ran.stderr).error
  expect(message).toMatch(/was issued, but/)
  expect(details).toEqual({ voucher_id: issuedVoucher.id })
  expect(readdirSync(dir)).toEqual(['out.svg'])
})

test('vouchers issue prints times as 2026-11-21 10:00:00Z', async () => {
  const { stdout } = await run('')
  expect(stdout).toMatch(/^valid until  2026-12-21 10:00:00Z$/m)
})

test.each([2_331, 2_332])(
  'vouchers issue --qr draws a QR token of up to 2,331 bytes and exits 9 for more: %i bytes',
  async (bytes) => {
    const credentials = [{ type: 'qr_token', value: 'q'.repeat(bytes) }]
    const { baseUrl } = await stub(() => success({ ...issuedVoucher, credentials }))
    const path = join(temporaryDir(), 'out.svg')
    for (const how of ['--qr', `--qr-file ${path}`]) {
      const ran = await cli(`${issue} ${how} --base-url ${baseUrl}`, { env: secrets })
      expect(ran.exit).toBe(bytes > 2_331 ? 9 : 0)
      if (bytes > 2_331)
        expect(ran.stderr).toMatch(/The voucher was issued, but .*no QR data.*\n {2}voucher_id: vch_01/)
    }
  },
)
