import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type BulkFormat, formatOf, markDuplicates, readRows } from '../../../src/cli/bulk/input/read-rows.js'
import { isBad, type ReadRow } from '../../../src/cli/bulk/input/row.js'
import { credentialRows } from '../../../src/cli/commands/vouchers/credential-rows.js'
import { issuanceRows } from '../../../src/cli/commands/vouchers/issue-many.js'

async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function rowsOf(input: string | Buffer, format?: BulkFormat, size = 1_000_000): Promise<ReadRow[]> {
  const rows: ReadRow[] = []
  for await (const block of markDuplicates(
    readRows(inChunks(Buffer.from(input as string), size), format, issuanceRows),
    issuanceRows,
  ))
    for (const row of block) rows.push(row)
  return rows
}

/** An invalid row as `line code`, a valid row as `line id recipient`. */
const shortly = (rows: readonly ReadRow[]) =>
  rows.map((it) =>
    isBad(it)
      ? `${it.line} ${it.fault.code}`
      : `${it.line} ${it.values.external_issue_id} ${it.values.recipient_user_id}`,
  )

const head = 'external_issue_id,recipient_user_id'

test.each([
  ['LF', `${head}\na,u\nb,v\n`, ['2 a u', '3 b v']],
  ['CRLF', `${head}\r\na,u\r\nb,v\r\n`, ['2 a u', '3 b v']],
  ['lone CR', `${head}\ra,u\rb,v\r`, ['2 a u', '3 b v']],
  ['lone CR and none at the end', `${head}\ra,u\rb,v`, ['2 a u', '3 b v']],
  ['lone CR and a value in quotes with LF', `${head},metadata.a\ra,u,"x\ny"\rb,v,\r`, ['2 a u', '4 b v']],
  ['CR, then LF', `${head}\ra,u\nb,v\n`, ['2 a u', '3 b v']],
  ['LF, then CR and CRLF', `${head}\na,u\rb,v\r\nc,w\r`, ['2 a u', '3 b v', '4 c w']],
  ['CR and CRLF in quotes', `${head}\n"a\rb",u\n"c\r\nd\r\re",v\r\nf,w`, ['2 a\rb u', '4 c\r\nd\r\re v', '8 f w']],
  ['semicolons', 'external_issue_id;recipient_user_id;metadata.a,b\na;u;x\n', ['2 a u']],
  ['more semicolons than commas', 'metadata.a,b;external_issue_id;recipient_user_id\nx;a;u\n', ['2 a u']],
  ['a lone CR in quotes in the header', `"metadata.a\rb",${head}\nx,a,u\n`, ['3 a u']],
  ['tabs', 'external_issue_id\trecipient_user_id\na\tu\nb\t"v;w"\n', ['2 a u', '3 b v;w']],
  ['a header in quotes with semicolons', '"external_issue_id";"recipient_user_id"\n"a";"u"\n', ['2 a u']],
  ['the line sep=;', 'sep=;\r\nexternal_issue_id;recipient_user_id\r\na;u,v\r\n', ['3 a u,v']],
  ['the line sep=, with a mark', `\ufeffsep=,\n${head}\na,u\n`, ['3 a u']],
  ['the line "sep=;" in quotes', '"sep=;"\nexternal_issue_id;recipient_user_id\na;u\n', ['3 a u']],
  ['the line SEP= with a tab and lone CR', 'SEP=\t\rexternal_issue_id\trecipient_user_id\ra\tu\r', ['3 a u']],
  ['the line sep=; that was saved again with commas', `sep=;,\n${head}\na,u\n`, ['3 a u']],
  ['empty columns at the end', `${head},,\na,u,,\nb,v,, \n,,,\n`, ['2 a u', '3 b v']],
  ['a value in a column without a name', `${head},\na,u,x\nb,v,\n`, ['2 MALFORMED', '3 b v']],
  ['empty columns at the end of the header alone', `${head},\na,u\n`, ['2 MALFORMED']],
  ['no line feed at the end', `${head}\na,u`, ['2 a u']],
  ['a byte order mark', `\ufeff${head}\na,u\n`, ['2 a u']],
  ['columns in another order', 'recipient_user_id,external_issue_id\nu,a\n', ['2 a u']],
  ['a quoted header', '"external_issue_id","recipient_user_id"\n"a","u"\n', ['2 a u']],
  ['quoted quotes and commas', `${head}\n"a""b","u,v"\n`, ['2 a"b u,v']],
  [
    'quoted line feeds, and the lines after them',
    `${head}\n"a\nb",u\nc,"v\r\nw"\nd,x\n`,
    ['2 a\nb u', '4 c v\r\nw', '6 d x'],
  ],
  ['blank lines and empty cells below a table', `${head}\n\na,u\n\n,\n  \nb,v\n`, ['3 a u', '7 b v']],
  ['text beyond ASCII', `${head}\nä€😀,u\n`, ['2 ä€😀 u']],
  ['a header and no row', `${head}\n`, []],
])('readRows reads CSV with %s, in chunks of any size', { tags: 'bulk-commands/2' }, async (_what, input, expected) => {
  for (const size of [1, 2, 3, 7, 1_000_000]) expect(shortly(await rowsOf(input, 'csv', size))).toEqual(expected)
})

test.each([
  [
    'LF, CRLF and blank lines',
    '{"external_issue_id":"a","recipient_user_id":"u"}\r\n\n{"external_issue_id":"b","recipient_user_id":"v"}',
    ['1 a u', '3 b v'],
  ],
  ['a byte order mark', '\ufeff{"external_issue_id":"a","recipient_user_id":"u"}\n', ['1 a u']],
  ['no line', '', []],
])('readRows reads NDJSON with %s', async (_what, input, expected) => {
  for (const size of [1, 5, 1_000_000]) expect(shortly(await rowsOf(input, 'ndjson', size))).toEqual(expected)
})

test.each([
  ['lacks a value', `${head}\na,\n,u\nb,v\n`, ['2 VALUE_MISSING', '3 VALUE_MISSING', '4 b v']],
  ['repeats an id', `${head}\na,u\nb,v\na,w\n`, ['2 a u', '3 b v', '4 DUPLICATE']],
  ['has more or fewer values than columns', `${head}\na,u,x\nb\nc,w\n`, ['2 MALFORMED', '3 MALFORMED', '4 c w']],
  ['has a quote within a value', `${head}\na"b,u\nc,v\nd"e,w\nf,x\n`, ['2 MALFORMED', '3 c v', '4 MALFORMED', '5 f x']],
  ['has text after a quoted value', `${head}\n"a"b,u\nc,v\n`, ['2 MALFORMED', '3 c v']],
  ['has a quote without end', `${head}\na,"u\nb,v\nc,w\n`, ['2 MALFORMED', '3 b v', '4 c w']],
])('readRows marks only the CSV row that %s, with its line number', async (_what, input, expected) => {
  for (const size of [1, 5, 1_000_000]) expect(shortly(await rowsOf(input, 'csv', size))).toEqual(expected)
})

test.each([
  ['is not JSON', '{"external_issue_id":', 'MALFORMED'],
  ['is not an object', '["a","u"]', 'MALFORMED'],
  ['lacks a member', '{"external_issue_id":"a"}', 'VALUE_MISSING'],
  ['has a number for an id', '{"external_issue_id":7,"recipient_user_id":"u"}', 'VALUE_WRONG'],
  [
    'has metadata that is not an object',
    '{"external_issue_id":"a","recipient_user_id":"u","metadata":[]}',
    'VALUE_WRONG',
  ],
  ['has an unknown member', '{"external_issue_id":"a","recipient_user_id":"u","chat_id":"c"}', 'MEMBER_UNKNOWN'],
])('readRows marks only the NDJSON line that %s, with its line number', async (_what, line, code) => {
  const good = '{"external_issue_id":"z","recipient_user_id":"u"}'
  expect(shortly(await rowsOf(`${line}\n${good}\n`, 'ndjson'))).toEqual([`1 ${code}`, '2 z u'])
})

test('readRows suggests the member of NDJSON that an unknown member may mean', async () => {
  const [row] = await rowsOf('{"external_issue_id":"1","recipient":"2"}\n', 'ndjson')
  const message = '"recipient" is no member of a row, did you mean recipient_user_id?'
  expect(row).toMatchObject({ line: 1, fault: { code: 'MEMBER_UNKNOWN', message } })
})

test('readRows says of NDJSON with results of redeem-many that the code is missing', async () => {
  const results = inChunks(Buffer.from('{"redemption_id":"rdm_1"}\n'), 7)
  const { value } = await readRows(results, 'ndjson', credentialRows).next()
  expect(value?.[0]).toMatchObject({ fault: { code: 'VALUE_MISSING', message: 'redeem_code or qr_token is missing' } })
})

test('readRows marks lines that are not UTF-8, with their line numbers, in CSV and NDJSON', async () => {
  const latin1 = (text: string) => Buffer.from(text, 'latin1')
  const csv = latin1(`${head}\na,u\nbé,v\nc,w\n`)
  const json = latin1(
    '{"external_issue_id":"é","recipient_user_id":"u"}\n{"external_issue_id":"b","recipient_user_id":"v"}\n',
  )
  for (const size of [1, 4, 1_000_000]) {
    expect(shortly(await rowsOf(csv, 'csv', size))).toEqual(['2 a u', '3 NOT_UTF8', '4 c w'])
    expect(shortly(await rowsOf(json, 'ndjson', size))).toEqual(['1 NOT_UTF8', '2 b v'])
  }
})

test('readRows marks a line above the size limit and reads the next lines', { tags: 'bulk-commands/1' }, async () => {
  const long = 'x'.repeat(1_100_000)
  for (const end of ['\n', '\r', '\r\n']) {
    const lines = [head, 'a,u', `${long}${long},v`, 'b,w', ''].join(end)
    expect(shortly(await rowsOf(lines, 'csv', 65_536))).toEqual(['2 a u', '3 TOO_LARGE', '4 b w'])
  }
  const ids = Array.from({ length: 1_200 }, (_, n) => `b${'-'.repeat(1_000)}${n}`)
  const open = `${head}\na,"u\n${ids.map((id) => `${id},v\n`).join('')}`
  const rows = await rowsOf(open, 'csv', 65_536)
  expect(shortly(rows.slice(0, 2))).toEqual(['2 MALFORMED', `3 ${ids[0]} v`])
  expect(rows.filter(isBad)).toHaveLength(1)
  expect(rows).toHaveLength(1_201)
})

test('readRows reads metadata from metadata.NAME columns or a JSON column and skips empty cells', async () => {
  const metadataOf = async (input: string, format: BulkFormat) =>
    (await rowsOf(input, format)).map((it) => (isBad(it) ? it.fault.message : it.metadata))
  expect(await metadataOf(`${head},metadata.a,metadata.b\nx,u,1,\ny,u,,\n`, 'csv')).toEqual([{ a: '1' }, undefined])
  expect(await metadataOf(`${head},metadata\nx,u,"{""a"":""1""}"\ny,u,\nz,u,7\n`, 'csv')).toEqual([
    { a: '1' },
    undefined,
    'metadata must be a JSON object',
  ])
  const line = '{"external_issue_id":"x","recipient_user_id":"u","metadata":{"a":"1"}}'
  expect(await metadataOf(line, 'ndjson')).toEqual([{ a: '1' }])
})

test.each([
  ['no header', '', 'has no header line'],
  ['a code in place of the header', 'M9S3-46Q3-D25V-T4FJ\n', 'has no header line'],
  ['a missing column', 'external_issue_id\na\n', 'no column recipient_user_id'],
  ['an unknown column', `${head},email\n`, 'unknown column "email"'],
  ['a misspelt column', 'externalIssueId,recipient_user_id\n', 'unknown column "externalIssueId"'],
  ['a duplicate column', `${head},external_issue_id\n`, 'external_issue_id twice'],
  ['a header in one pair of quotes', `"${head}"\n`, 'not separated by commas, semicolons or tabs'],
  [
    'bars instead of commas',
    'external_issue_id|recipient_user_id\na|u\n',
    'not separated by commas, semicolons or tabs',
  ],
  ['a column without a name in between', 'external_issue_id,,recipient_user_id\n', 'unknown column ""'],
  ['a metadata column and a metadata.a column', `${head},metadata,metadata.a\n`, 'both as one column and as several'],
  [
    'a header that is not UTF-8',
    Buffer.from('external_issue_id,r\xe9\n', 'latin1'),
    'header on line 1 is not UTF-8: save',
  ],
  ['the line sep=; and commas', `sep=;\n${head}\na,u\n`, 'not separated by semicolons'],
  ['UTF-16 text', Buffer.from(`\ufeff${head}\n`, 'utf16le'), 'UTF-16'],
  ['UTF-16 text without a mark', Buffer.from(`${head}\n`, 'utf16le'), 'UTF-16'],
  ['UTF-16 text without a mark that begins in Cyrillic', Buffer.from(`код,${head}\n`, 'utf16le'), 'UTF-16'],
  ['big-endian UTF-16 text without a mark', Buffer.from(`${head}\n`, 'utf16le').swap16(), 'UTF-16'],
  ['a workbook', Buffer.from('PK\x03\x04\x14\0\x06\0\n\0\0'), 'a workbook, such as .xlsx'],
  ['a workbook of an old Excel', Buffer.from('d0cf11e0a1b11ae10000', 'hex'), 'an old Excel (.xls)'],
  ['gzip', gzipSync(`${head}\na,u\n`), 'compressed with gzip'],
])('readRows throws for CSV with %s', async (_what, input, message) => {
  await expect(rowsOf(input, 'csv')).rejects.toThrow(message)
})

test('issue-many takes the input format from the file extension or from a leading brace', async () => {
  expect(['a.csv', 'A.CSV', 'a.ndjson', 'a.jsonl', 'a.txt', '-'].map(formatOf)).toEqual([
    'csv',
    'csv',
    'ndjson',
    'ndjson',
    undefined,
    undefined,
  ])
  expect(shortly(await rowsOf('{"external_issue_id":"a","recipient_user_id":"u"}'))).toEqual(['1 a u'])
  expect(shortly(await rowsOf(`${head}\na,u\n`))).toEqual(['2 a u'])
  await expect(rowsOf('')).rejects.toThrow('empty')
})
