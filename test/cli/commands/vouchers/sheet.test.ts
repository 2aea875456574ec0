import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import decodeQr from 'qr/decode.js'
import { expect, test, vi } from 'vitest'
import { Bulk, issuer } from '../../../support/cli/bulk.js'
import { cli, redeemCode, temporaryDir } from '../../../support/cli/cli.js'
import { fakeOpeners } from '../../../support/cli/fake-openers.js'
import { qrToken } from '../../../support/cli/samples.js'

const head = 'external_issue_id,recipient_user_id,redeem_code,qr_token,valid_from,valid_until,name,issuer_name'
const NOW = Date.parse('2026-11-21T10:00:00.000Z')

interface Row {
  readonly name?: string
  readonly issuer?: string
  readonly from?: string
  readonly until?: string
  readonly token?: string
}

const lineOf = ({ name = 'One free coffee', issuer = 'Coffee shop', from, until, token }: Row) =>
  `order-1,user-1,${redeemCode},${token},${from ?? ''},${until ?? '2026-12-21T10:00:59.000Z'},${name},${issuer}\n`

/** A folder with a file of these rows, and the command on it. */
function folderWith(rows: readonly Row[] | string) {
  const home = temporaryDir()
  const content =
    typeof rows === 'string'
      ? rows
      : `${head}\n${rows.map((row, i) => lineOf({ token: `${qrToken}${i || ''}`, ...row })).join('')}`
  writeFileSync(join(home, 'codes.csv'), content)
  const run = (args: string) => cli(`vouchers sheet codes.csv ${args}`, { home, cwd: home, now: NOW })
  const read = (name: string) => readFileSync(join(home, name), 'utf8')
  return { home, run, read }
}

/** Draws rectangles of QR modules, such as `4 4 7 1`, as an image and decodes the QR code. */
function decodeRuns(runs: readonly (readonly number[])[]): string {
  const pixels = 4
  const size = (Math.max(...runs.map(([x = 0, , length = 0]) => x + length)) + 4) * pixels
  const data = new Uint8Array(size * size * 4).fill(255)
  for (const [x = 0, y = 0, length = 0] of runs) {
    for (let row = y * pixels; row < (y + 1) * pixels; row += 1) {
      for (let column = x * pixels; column < (x + length) * pixels; column += 1) {
        data.fill(0, (row * size + column) * 4, (row * size + column) * 4 + 3)
      }
    }
  }
  return decodeQr({ width: size, height: size, data })
}

const qrCodesIn = (html: string) =>
  [...html.matchAll(/<path d="([^"]+)"/g)].map(([, path = '']) =>
    decodeRuns([...path.matchAll(/M(\d+) (\d+)h(\d+)/g)].map((it) => it.slice(1).map(Number))),
  )

const elevenRows = Array.from({ length: 11 }, (_, i) => ({ token: `${qrToken}${i}` }))

test.each([
  ['a4', '210mm 297mm'],
  ['letter', '215.9mm 279.4mm'],
])('a sheet on %s has ten vouchers on a page, each with its QR code and texts', async (paper, size) => {
  const { home, run, read } = folderWith(elevenRows)
  const { exit, stdout, stderr } = await run(`--out sheet.html --paper ${paper} --json`)
  expect([exit, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({ vouchers: 11, pages: 2, paper, out: 'sheet.html' })
  expect(statSync(join(home, 'sheet.html')).mode & 0o777).toBe(0o600)
  const html = read('sheet.html')
  expect(html).toContain(`@page { size: ${size}; margin: 0 }`)
  const pages = html.split('<section>').slice(1)
  expect(pages.map((it) => qrCodesIn(it).length)).toEqual([10, 1])
  expect(qrCodesIn(html)).toEqual(elevenRows.map((it) => it.token))
  const texts = [...(pages[1] ?? '').matchAll(/<(?:h2|p|small|code|footer)\b[^>]*>([^<]*)</g)].map(([, it]) => it)
  const details = ['Valid until 2026-12-21 10:00 UTC', 'For user-1', 'order-1']
  expect(texts).toEqual(['One free coffee', 'Coffee shop', ...details, redeemCode, 'Page 2 of 2'])
})

const opening = 'vouchers sheet codes.csv --out sheet.html --open'

test('sheet --open on a terminal starts the browser with the URL of the file it has written', async () => {
  const { home, read } = folderWith([{}])
  const { opened, path } = fakeOpeners()
  const { exit } = await cli(opening, { home, cwd: home, env: { PATH: path, DISPLAY: ':0' }, terminal: true })
  expect(exit).toBe(0)
  expect(read('sheet.html')).toContain(redeemCode)
  await vi.waitFor(() => expect(existsSync(opened)).toBe(true), 120_000)
  const url = pathToFileURL(join(home, 'sheet.html')).href
  expect(readFileSync(opened, 'utf8').split('\n').slice(0, 2)).toEqual(['1', url])
})

test.each([
  ['a program that opens a browser', { terminal: true, env: { DISPLAY: ':0', PATH: '/nowhere' } }],
  ['a terminal', { terminal: false, env: { DISPLAY: ':0' } }],
  ['a display', { terminal: true, env: {} }],
])('sheet --open without %s prints the path of the sheet', { tags: 'voucher-sheets/1' }, async (_what, given) => {
  const { home, read } = folderWith([{}])
  const { opened, path } = fakeOpeners()
  const env = { PATH: path, ...given.env }
  const { exit, stderr } = await cli(opening, { home, cwd: home, ...given, env })
  expect([exit, stderr]).toEqual([0, expect.stringContaining(`in one: ${join(home, 'sheet.html')}\n`)])
  expect(existsSync(opened)).toBe(false)
  expect(read('sheet.html')).toContain(redeemCode)
})

test('a sheet escapes texts, runs no script and loads nothing', { tags: 'voucher-sheets/1' }, async () => {
  const { home, run, read } = folderWith([
    { name: '一杯 قهوة ☕ Cafe\u0301' },
    { name: `<script>alert('&')</script>`, token: 'VQ1-2' },
  ])
  expect((await run('--out sheet.html')).exit).toBe(0)
  const html = read('sheet.html')
  expect(html).toContain('<h2 dir="auto">一杯 قهوة ☕ Café</h2>')
  expect(html).toContain('<h2 dir="auto">&#60;script&#62;alert(&#39;&#38;&#39;)&#60;/script&#62;</h2>')
  expect(html).not.toMatch(/<script|https?:(?!\/\/www\.w3\.org\/2000\/svg")|url\(|\son\w+=|\sstyle=/)
  const style = /<style>([^]*)<\/style>/.exec(html)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  expect(html).toContain(`content="default-src 'none'; style-src 'sha256-${hash}'"`)
  expect(qrCodesIn(html)).toEqual([qrToken, 'VQ1-2'])
  expect(statSync(join(home, 'sheet.html')).mode & 0o777).toBe(0o600)
})

test('a sheet prints a later or unreadable start of validity, and --title in place of the name', async () => {
  const { run, read } = folderWith([
    { from: '2026-11-22T00:00:05.000Z' },
    { from: '2026-11-20T00:00:05.000Z', token: 'VQ1-2' },
    { from: 'Monday' },
  ])
  expect((await run('--out sheet.html --title Tea')).exit).toBe(0)
  expect(read('sheet.html').match(/Valid from [^<]+/g)).toEqual([
    'Valid from 2026-11-22 00:01 UTC',
    'Valid from Monday',
  ])
  expect(read('sheet.html').match(/<h2.*<\/h2>/g)).toEqual(Array(3).fill('<h2 dir="auto">Tea</h2>'))
})

test('sheet prints the results of issue-many, in CSV and NDJSON', async () => {
  const { baseUrl } = await issuer()
  for (const out of ['codes.csv', 'codes.ndjson']) {
    const bulk = Bulk.of(['a', 'b'], { out })
    expect((await bulk.run(baseUrl)).exit).toBe(0)
    const { exit } = await cli(['vouchers', 'sheet', bulk.out, '--out', join(bulk.dir, 'sheet.html')])
    expect(exit).toBe(0)
    expect(bulk.read('sheet.html').match(/<code.*>CODE-[ab]<\/code>/g)).toHaveLength(2)
    expect(bulk.read('sheet.html')).toContain('<h2 dir="auto">One free coffee</h2>')
  }
})

test('sheet replaces a file only with --force, and the file is private', { tags: 'voucher-sheets/1' }, async () => {
  const { home, run, read } = folderWith([{}])
  writeFileSync(join(home, 'sheet.html'), 'mine')
  chmodSync(join(home, 'sheet.html'), 0o644)
  const { exit, stderr } = await run('--out sheet.html')
  expect([exit, stderr]).toEqual([1, expect.stringContaining('sheet.html exists and stays as it is.')])
  expect(read('sheet.html')).toBe('mine')
  expect((await run('--out sheet.html --force')).exit).toBe(0)
  expect(read('sheet.html')).toContain(redeemCode)
  expect(statSync(join(home, 'sheet.html')).mode & 0o777).toBe(0o600)
})

test('sheet that cannot write its path reads no voucher and leaves no file behind', async () => {
  const { home, run } = folderWith('no codes')
  mkdirSync(join(home, 'folder.html'))
  for (const out of ['folder.html --force', 'missing/sheet.html']) {
    const { exit, stderr } = await run(`--out ${out}`)
    expect([exit, stderr]).toEqual([1, expect.stringContaining('cannot be written (E')])
  }
  expect(readdirSync(home).filter((it) => !it.startsWith('.'))).toEqual(['codes.csv', 'folder.html'])
})

test('sheet --dry-run writes nothing and prints no code', async () => {
  const { home, run } = folderWith([{}])
  const { exit, stdout, stderr } = await run('--out sheet.html --open --dry-run')
  expect(exit).toBe(0)
  expect(stdout + stderr).toContain('write 1 voucher to sheet.html')
  expect(stdout + stderr).not.toMatch(new RegExp(`${redeemCode}|${qrToken}`))
  expect(existsSync(join(home, 'sheet.html'))).toBe(false)
})

test.each([
  ['a missing qr_token', `qr_token,name\n,Coffee\n`, 'line 2: qr_token is missing'],
  ['a duplicate', `qr_token\n${qrToken}\n${qrToken}\n`, 'line 3: has the qr_token of line 2'],
  ['a token that fits no QR code', `qr_token\n${'A'.repeat(2332)}\n`, 'line 2: qr_token is longer than 2,331 bytes'],
  ['more text than fits a card', `qr_token,name\nA,${'B'.repeat(701)}\n`, 'line 2: has more than 700 characters'],
  [
    'too many vouchers',
    `qr_token\n${Array.from({ length: 20_001 }, (_, i) => `A${i}\n`).join('')}`,
    'than 20,000 vouch',
  ],
  ['no voucher', 'qr_token\n', 'codes.csv has no vouchers.'],
  ['no header', `${redeemCode}\n${redeemCode}\n`, 'codes.csv: The input has no header line.'],
  ['results without tokens', `redemption_id\nrdm_1\n`, 'has no codes: its header has no column qr_token'],
])('sheet refuses a file with %s, shows no code', { tags: 'voucher-sheets/1' }, async (_fault, content, message) => {
  const { home, run } = folderWith(content)
  const { exit, stdout, stderr } = await run('--out sheet.html')
  expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)])
  expect(stderr).not.toMatch(new RegExp(`${redeemCode}|${qrToken}`))
  expect(existsSync(join(home, 'sheet.html'))).toBe(false)
})

test('sheet prints the name if --title has only spaces', async () => {
  const { home, read } = folderWith([{}])
  const args = ['vouchers', 'sheet', 'codes.csv', '--out', 'sheet.html', '--title', '  ']
  expect((await cli(args, { home, cwd: home })).exit).toBe(0)
  expect(read('sheet.html')).toContain('<h2 dir="auto">One free coffee</h2>')
})

test.each(['-', 'sheet.txt', 'sheet', 'sheet.pdf'])(
  'sheet refuses --out %s and says how to make a PDF',
  async (out) => {
    const { home, run } = folderWith([{}])
    const { exit, stderr } = await run(`--out ${out}`)
    expect([exit, stderr]).toEqual([
      2,
      expect.stringContaining('must end in .html. For a PDF, open the HTML file in a bro'),
    ])
    expect(readdirSync(home)).not.toContain(out)
  },
)

test('sheet writes nothing after Ctrl-C', async () => {
  const { home } = folderWith([{}])
  const signal = AbortSignal.abort()
  const { exit } = await cli('vouchers sheet codes.csv --out sheet.html', { home, cwd: home, signal })
  expect([exit, existsSync(join(home, 'sheet.html'))]).toEqual([130, false])
})
