import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import decodeQr from 'qr/decode.js'
import { expect, test } from 'vitest'
import { cli, secrets, stub, success, temporaryDir } from '../support/cli.js'
import { issuedVoucher, qrToken } from '../support/cli-samples.js'

const issue = 'vouchers issue --template tpl_01 --external-id order-1 --recipient user-1'
const SCALE = 4

async function run(args: string, given: Parameters<typeof cli>[1] = {}) {
  const { baseUrl, received } = await stub(() => success(issuedVoucher))
  return {
    ...(await cli(`${issue} ${args} --base-url ${baseUrl}`, { ...given, env: { ...secrets, ...given.env } })),
    received,
  }
}

/** Reads modules, true for dark, as a camera would see them. */
function read(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length * SCALE
  const data = new Uint8Array(size * size * 4)
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const dark = modules[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)] ?? false
      data.set([dark ? 0 : 255, dark ? 0 : 255, dark ? 0 : 255, 255], (y * size + x) * 4)
    }
  }
  return decodeQr({ width: size, height: size, data })
}

test('the QR code in the terminal is the QR token of the voucher', async () => {
  const { stdout } = await run('--qr')
  const lines = stdout
    .split('\n')
    .slice(-17)
    .filter((line) => /^[ █▀▄]{29}$/.test(line))
  const modules = lines.flatMap((line) => [
    [...line].map((it) => '█▀'.includes(it)),
    [...line].map((it) => '█▄'.includes(it)),
  ])
  const quiet = (row: boolean[]) => [false, false, ...row, false, false]
  const padded = [[], [], ...modules.map(quiet), [], []]
  expect(read(padded)).toBe(qrToken)
})

test('--qr-file out.png holds the same, for its owner alone', async () => {
  const path = join(temporaryDir(), 'out.png')
  const { exit, stdout } = await run(`--qr-file ${path}`)
  expect(exit).toBe(0)
  expect(stdout).toContain(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const require = createRequire(createRequire(import.meta.url).resolve('qrcode'))
  const { PNG } = require('pngjs') as {
    PNG: { sync: { read(bytes: Buffer): { width: number; height: number; data: Uint8Array } } }
  }
  expect(decodeQr(PNG.sync.read(readFileSync(path)))).toBe(qrToken)
})

test('--qr-file out.svg holds the same', async () => {
  const path = join(temporaryDir(), 'out.svg')
  await run(`--qr-file ${path} --json`)
  const svg = readFileSync(path, 'utf8')
  const size = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
  const modules = Array.from({ length: size }, () => new Array<boolean>(size).fill(false))
  let [x, y] = [0, 0]
  for (const [, command, a = '', b = ''] of (/stroke="#000000" d="([^"]+)"/.exec(svg)?.[1] ?? '').matchAll(
    /([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?/g,
  )) {
    if (command === 'M') [x, y] = [Number(a), Number(b)]
    else if (command === 'm') [x, y] = [x + Number(a), y + Number(b)]
    else {
      modules[Math.floor(y)]?.fill(true, x, x + Number(a))
      x += Number(a)
    }
  }
  expect(read(modules)).toBe(qrToken)
})

test('an older QR file with wide permissions becomes one for its owner alone', async () => {
  const path = join(temporaryDir(), 'out.svg')
  writeFileSync(path, 'old', { mode: 0o644 })
  expect((await run(`--qr-file ${path}`)).exit).toBe(0)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toContain('<svg')
})

test('a QR file that cannot be written is refused before the voucher is issued', async () => {
  const dir = temporaryDir()
  mkdirSync(join(dir, 'folder.svg'))
  for (const path of [join(dir, 'nowhere', 'out.svg'), join(dir, 'folder.svg')]) {
    const { exit, stdout, received } = await run(`--qr-file ${path} --json`)
    expect([exit, stdout, received]).toEqual([1, '', []])
  }
  const { exit, stderr, received } = await run('--qr-file -')
  expect([exit, received]).toEqual([2, []])
  expect(stderr).toContain('takes a path')
})

test.each([{ credentials: [null] }, { credentials: 'x' }, { credentials: null }])(
  'an answer with %j is a voucher that was issued',
  async (members) => {
    const { baseUrl } = await stub(() => success({ ...issuedVoucher, ...members }))
    const ran = await cli(`${issue} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stdout.includes(issuedVoucher.id)]).toEqual([0, true])
  },
)

test('the QR file is there before anything is printed', async () => {
  const dir = temporaryDir()
  const path = join(dir, 'out.svg')
  const { baseUrl } = await stub(() => {
    // The path becomes a folder while the voucher is issued.
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

test('times of an issued voucher read as everywhere else', async () => {
  const { stdout } = await run('')
  expect(stdout).toMatch(/^valid until  2026-11-21 10:00:00Z$/m)
})

test.each([2_331, 2_332])(
  'QR data of %i bytes is shown, or said to be none, and never ends in an exception',
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
