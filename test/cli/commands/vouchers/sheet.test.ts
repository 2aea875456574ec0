import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodePDFRawStream, PDFArray, PDFDocument, PDFRawStream } from '@pdfme/pdf-lib'
import decodeQr from 'qr/decode.js'
import { expect, test } from 'vitest'
import { Bulk, issuer } from '../../../support/cli/bulk.js'
import { cli, redeemCode, temporaryDir } from '../../../support/cli/cli.js'
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

/** Reads the size, texts and QR codes of each page of a PDF sheet. */
async function pagesOf(bytes: Uint8Array) {
  const document = await PDFDocument.load(bytes)
  return document.getPages().map((page) => {
    const contents = page.node.Contents()
    const streams =
      contents instanceof PDFArray ? contents.asArray().map((it) => document.context.lookup(it)) : [contents]
    const drawing = streams
      .map((it) => (it instanceof PDFRawStream ? Buffer.from(decodePDFRawStream(it).decode()).toString('latin1') : ''))
      .join('\n')
    const texts = [...drawing.matchAll(/<([0-9A-F]+)> Tj/g)].map(([, hex = '']) =>
      Buffer.from(hex, 'hex').toString('latin1'),
    )
    const qrCodes = [...drawing.matchAll(/^((?:\d+ \d+ \d+ 1 re ?)+)$/gm)].map(([, path = '']) =>
      decodeRuns([...path.matchAll(/(\d+) (\d+) (\d+) 1 re/g)].map((it) => it.slice(1).map(Number))),
    )
    return { size: page.getSize(), texts, qrCodes }
  })
}

const elevenRows = Array.from({ length: 11 }, (_, i) => ({ token: `${qrToken}${i}` }))

test.each([
  ['a4', 595.28, 841.89],
  ['letter', 612, 792],
])('a PDF sheet on %s has ten vouchers on a page, each with its QR code and texts', async (paper, width, height) => {
  const { home, run } = folderWith(elevenRows)
  const { exit, stdout, stderr } = await run(`--out sheet.pdf --paper ${paper} --json`)
  expect([exit, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({ vouchers: 11, pages: 2, paper, out: 'sheet.pdf' })
  expect(statSync(join(home, 'sheet.pdf')).mode & 0o777).toBe(0o600)
  const pages = await pagesOf(readFileSync(join(home, 'sheet.pdf')))
  expect(pages.flatMap((it) => it.qrCodes)).toEqual(elevenRows.map((it) => it.token))
  for (const { size } of pages) {
    expect(size.width).toBeCloseTo(width, 1)
    expect(size.height).toBeCloseTo(height, 1)
  }
  const card = [
    'One free coffee',
    'Coffee shop',
    'Valid until 2026-12-21 10:00 UTC',
    'For user-1',
    'order-1',
    redeemCode,
  ]
  expect(pages[1]?.texts).toEqual([...card, 'Page 2 of 2'])
})

test('PDF sheet prints Western European letters, also decomposed, and wraps long texts', async () => {
  const name =
    'Ein großer Cafe\u0301 für 3 € mit einem Stück Kuchen nach Wahl nur montags bis donnerstags bis zwölf Uhr'
  const { home, run } = folderWith([{ name }])
  expect((await run('--out sheet.pdf')).exit).toBe(0)
  const [page] = await pagesOf(readFileSync(join(home, 'sheet.pdf')))
  const lines = page?.texts.slice(0, page.texts.indexOf('Coffee shop')) ?? []
  expect(lines.length).toBeGreaterThan(2)
  // The euro sign is byte 0x80 in Windows-1252.
  expect(lines.join(' ')).toBe(name.normalize('NFC').replace('€', '\u0080'))
})

test('a PDF sheet refuses Chinese, Arabic and emoji by row and character, and suggests HTML', async () => {
  const { home, run } = folderWith([{}, { name: '一杯' }, { issuer: 'مقهى' }, { name: 'Coffee ☕' }])
  const { exit, stderr } = await run('--out sheet.pdf --paper letter')
  expect(exit).toBe(2)
  expect(stderr).toContain('3 of 4 rows cannot be printed. Nothing was written.')
  expect(stderr).toContain('  line 3: a PDF sheet cannot print 一 (U+4E00), 杯 (U+676F)\n')
  expect(stderr).toContain('  line 4: a PDF sheet cannot print م (U+0645), ق (U+0642), ه (U+0647) and 1 more\n')
  expect(stderr).toContain('  line 5: a PDF sheet cannot print ☕ (U+2615)\n')
  expect(stderr).toContain('`voucherctl vouchers sheet --out sheet.html --paper letter codes.csv`')
  expect(readdirSync(home)).not.toContain('sheet.pdf')
})

test('an HTML sheet prints every script, escapes texts, runs no script and holds the QR codes', async () => {
  const { home, run, read } = folderWith([
    { name: '一杯 قهوة ☕' },
    { name: `<script>alert('&')</script>`, token: 'VQ1-2' },
  ])
  expect((await run('--out sheet.html')).exit).toBe(0)
  const html = read('sheet.html')
  expect(html).toContain('<h2 dir="auto">一杯 قهوة ☕</h2>')
  expect(html).toContain('<h2 dir="auto">&#60;script&#62;alert(&#39;&#38;&#39;)&#60;/script&#62;</h2>')
  expect(html).not.toMatch(/<script|https?:(?!\/\/www\.w3\.org\/2000\/svg")|url\(|\son\w+=|\sstyle=/)
  const style = /<style>([^]*)<\/style>/.exec(html)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  expect(html).toContain(`content="default-src 'none'; style-src 'sha256-${hash}'"`)
  const paths = [...html.matchAll(/<path d="([^"]+)"/g)].map(([, path = '']) =>
    decodeRuns([...path.matchAll(/M(\d+) (\d+)h(\d+)/g)].map((it) => it.slice(1).map(Number))),
  )
  expect(paths).toEqual([qrToken, 'VQ1-2'])
  expect(statSync(join(home, 'sheet.html')).mode & 0o777).toBe(0o600)
})

test('a sheet prints when a later validity starts, rounded up, and --title in place of the name', async () => {
  const { run, read } = folderWith([
    { from: '2026-11-22T00:00:05.000Z' },
    { from: '2026-11-20T00:00:05.000Z', token: 'VQ1-2' },
  ])
  expect((await run('--out sheet.html --title Tea')).exit).toBe(0)
  expect(read('sheet.html').match(/Valid from .* UTC/g)).toEqual(['Valid from 2026-11-22 00:01 UTC'])
  expect(read('sheet.html').match(/<h2.*<\/h2>/g)).toEqual(Array(2).fill('<h2 dir="auto">Tea</h2>'))
})

test('sheet prints the results of issue-many, in CSV and NDJSON', async () => {
  const { baseUrl } = await issuer()
  for (const out of ['codes.csv', 'codes.ndjson']) {
    const bulk = Bulk.of(['a', 'b'], { out })
    expect((await bulk.run(baseUrl)).exit).toBe(0)
    const { exit } = await cli(['vouchers', 'sheet', bulk.out, '--out', join(bulk.dir, 'sheet.html')])
    expect(exit).toBe(0)
    expect(bulk.read('sheet.html').match(/<code.*>CODE-[ab]<\/code>/g)).toHaveLength(2)
    expect(bulk.read('sheet.html')).toContain('<h2 dir="auto">Free coffee</h2>')
  }
})

test('sheet replaces an existing file only with --force, and the file is private then', async () => {
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

test('sheet leaves no file behind if the path cannot be written', async () => {
  const { home, run } = folderWith([{}])
  mkdirSync(join(home, 'folder.pdf'))
  for (const out of ['folder.pdf --force', 'missing/sheet.pdf']) {
    const { exit, stderr } = await run(`--out ${out}`)
    expect([exit, stderr]).toEqual([1, expect.stringContaining('cannot be written (E')])
  }
  expect(readdirSync(home).filter((it) => !it.startsWith('.'))).toEqual(['codes.csv', 'folder.pdf'])
})

test('sheet --dry-run writes nothing and prints no code', async () => {
  const { home, run } = folderWith([{}])
  const { exit, stdout, stderr } = await run('--out sheet.pdf --dry-run')
  expect(exit).toBe(0)
  expect(stdout + stderr).toContain('write 1 voucher to sheet.pdf')
  expect(stdout + stderr).not.toMatch(new RegExp(`${redeemCode}|${qrToken}`))
  expect(existsSync(join(home, 'sheet.pdf'))).toBe(false)
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
  ['results without tokens', `redemption_id\nrdm_1\n`, 'unknown column "redemption_id"'],
])('sheet refuses a file with %s, without printing a code', async (_fault, content, message) => {
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

test('sheet prints a start of the validity that it cannot read', async () => {
  const { run, read } = folderWith([{ from: 'Monday' }])
  expect((await run('--out sheet.html')).exit).toBe(0)
  expect(read('sheet.html')).toContain('Valid from Monday')
})

test.each(['-', 'sheet.txt', 'sheet'])('sheet refuses --out %s, which names no PDF or HTML file', async (out) => {
  const { exit, stderr } = await folderWith([{}]).run(`--out ${out}`)
  expect([exit, stderr]).toEqual([2, expect.stringContaining('must end in .pdf or .html')])
})

test('sheet writes nothing after Ctrl-C', async () => {
  const { home } = folderWith([{}])
  const signal = AbortSignal.abort()
  const { exit } = await cli('vouchers sheet codes.csv --out sheet.html', { home, cwd: home, signal })
  expect([exit, existsSync(join(home, 'sheet.html'))]).toEqual([130, false])
})
