import { readFileSync, statSync } from 'node:fs'
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

test('a file that cannot be written is exit 1, and says that the voucher was issued', async () => {
  const { exit, stderr } = await run('--qr-file /nowhere/out.png')
  expect(exit).toBe(1)
  expect(stderr).toMatch(/was issued, but/)
})
