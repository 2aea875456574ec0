import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ExportUnusable, headerLine } from '../../../src/store/move/format.js'
import { readExport } from '../../../src/store/move/read.js'
import type { MoveSource, Table } from '../../../src/store/move/session.js'
import type { ExportedTable } from '../../../src/store/tables.js'
import { exportOf, inPieces } from '../../support/store/move.js'

/** A source of an export that holds its rows in memory instead of a database. */
function sourceOf(
  content: Partial<Record<ExportedTable, readonly Record<string, string | number | null>[]>>,
): MoveSource {
  const rowsOf = ({ name }: { name: ExportedTable }) => content[name] ?? []
  return {
    dialect: 'sqlite',
    name: 'a store',
    schema: async () => 1,
    async table(name): Promise<Table | undefined> {
      return { name, columns: [], key: [] }
    },
    async all(sql) {
      const counted = /^select count.* from (\w+)$/.exec(sql)?.[1] as ExportedTable | undefined
      return counted === undefined ? [] : [{ n: rowsOf({ name: counted }).length }]
    },
    async *pages(table) {
      for (const row of rowsOf(table)) yield [row]
    },
    close: async () => {},
  }
}

const rows = (...ids: string[]) =>
  ids.map((id, n) => ({ id, note: n % 2 === 0 ? `caf\u00e9 ${id}` : null, updated_at: n }))
const content = { applications: rows('a', 'b', 'c'), tokens: rows('d'), vouchers: rows('e', 'f') } as const
const whole = await exportOf(sourceOf(content))
const lines = whole.split('\n').slice(0, -1)

async function read(text: string | Buffer, bytes?: number): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {}
  const { rows: read } = await readExport(inPieces(text, bytes))
  for await (const { table, rows } of read) found[table] = [...(found[table] ?? []), ...rows]
  return found
}

/** The message with which an export file is refused, or a fixed text if the file is accepted. */
async function refusalOf(text: string | Buffer): Promise<string> {
  try {
    await read(text)
  } catch (error) {
    if (error instanceof ExportUnusable) return error.message
    throw error
  }
  return 'it was accepted'
}

const withLines = (change: (all: string[]) => string[]) => `${change([...lines]).join('\n')}\n`

describe('export file', () => {
  it('export file read in chunks of any size gives the rows that were written', async () => {
    for (const bytes of [1, 7, 100, 64 * 1024]) expect(await read(whole, bytes)).toEqual(content)
  })

  it('export of an empty store consists of the header line and the end line', async () => {
    const empty = await exportOf(sourceOf({}))
    expect(empty.split('\n').length).toBe(3)
    expect(await read(empty)).toEqual({})
  })

  it('end line of an export has the row counts and SHA-256 hashes of its lines', async () => {
    const { createHash } = await import('node:crypto')
    const hash = (text: readonly string[]) =>
      createHash('sha256')
        .update(text.map((it) => `${it}\n`).join(''))
        .digest('hex')
    const { end } = JSON.parse(lines.at(-1) as string)
    expect(end.total_sha256).toBe(hash(lines.slice(0, -1)))
    expect(end.sha256.vouchers).toBe(hash(lines.filter((it) => it.startsWith('{"table":"vouchers",'))))
    expect(end.rows).toEqual({ applications: 3, tokens: 1, vouchers: 2 })
  })
})

describe('refusal of an export file', () => {
  it('export truncated by any number of bytes, except the last line feed, is refused', async () => {
    const bytes = Buffer.from(whole)
    for (let length = 0; length < bytes.length - 1; length++)
      expect([length, await refusalOf(bytes.subarray(0, length))]).not.toEqual([length, 'it was accepted'])
    expect(await refusalOf(bytes.subarray(0, -1))).toBe('it was accepted')
    expect(await refusalOf(withLines((all) => all.slice(0, 4)))).toBe('it was cut off after line 4')
  })

  it('export with a flipped bit in any byte is refused', async () => {
    const bytes = Buffer.from(whole)
    for (let at = 0; at < bytes.length - 1; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ (1 << (at % 8))
      expect([at, await refusalOf(changed)]).not.toEqual([at, 'it was accepted'])
    }
  })

  it.each(lines.map((_, n) => n))(
    'export in which line %i (from 0) is missing, duplicated or moved is refused',
    async (n) => {
      const twice = withLines((all) => all.toSpliced(n, 0, all[n] as string))
      expect(await refusalOf(withLines((all) => all.toSpliced(n, 1)))).not.toBe('it was accepted')
      expect(await refusalOf(twice)).toMatch(n === 0 ? /line 2 is no row/ : new RegExp(`line ${n + 2}`))
      const moved = withLines((all) => [...all.toSpliced(n, 1), all[n] as string])
      if (n < lines.length - 1) expect(await refusalOf(moved)).not.toBe('it was accepted')
    },
  )

  it('export with two swapped lines is refused with the name of the table', async () => {
    const swapped = withLines(([head, a, b, ...rest]) => [head, b, a, ...rest] as string[])
    expect(await refusalOf(swapped)).toBe('the rows of applications (lines 2 to 4) are not those that were written')
    const apart = withLines((all) => all.with(4, all[6] as string).with(6, all[4] as string))
    expect(await refusalOf(apart)).toMatch(/^line \d is not where it was written$/)
  })

  it('export with missing or additional rows is refused with both row counts', async () => {
    expect(await refusalOf(withLines((all) => all.toSpliced(2, 1)))).toBe(
      'applications has 2 rows (lines 2 to 3), and had 3',
    )
    const more = withLines((all) => all.toSpliced(2, 0, (all[2] as string).replace('"b"', '"bb"')))
    expect(await refusalOf(more)).toBe('applications has 4 rows (lines 2 to 5), and had 3')
  })

  it.each([
    ['empty', '', /^it is empty$/],
    ['CSV', 'id,name\n1,a\n', /^line 1 is not the first line of an export/],
    ['other JSON', '{"a":1}\n', /^line 1 is not the first line of an export/],
    ['followed by another line', `${whole}${lines[1]}\n`, /^line 9 comes after the end$/],
    ['followed by an empty line', `${whole}\n`, /^line 9 comes after the end$/],
    ['converted to CRLF line ends', whole.replaceAll('\n', '\r\n'), /CRLF/],
    ['compressed', gzipSync(whole), /^it is compressed.*gunzip/],
    [
      'not UTF-8',
      Buffer.concat([Buffer.from(`${lines[0]}\n`), Buffer.from([0x22, 0xff, 0x0a])]),
      /^line 2 is not UTF-8$/,
    ],
    [
      'naming an unknown table',
      withLines((all) => all.with(1, '{"table":"cats","row":{"id":"a"}}')),
      /^line 2 is no row/,
    ],
    [
      'holding an array as a value',
      withLines((all) => all.with(1, '{"table":"tokens","row":{"id":[1]}}')),
      /^line 2 is no row/,
    ],
    ['holding a fraction', withLines((all) => all.with(1, '{"table":"tokens","row":{"id":1.5}}')), /^line 2 is no row/],
  ])('export that is %s is refused', async (_name, text, message) => {
    expect(await refusalOf(text)).toMatch(message)
  })

  it.each([
    [{ format: 2, version: '9.0.0' }, /newer voucherctl \(9\.0\.0, format 2\)/],
    [{ schema: 99, version: '9.0.0' }, /newer voucherctl \(9\.0\.0, schema 99; this one knows \d+\)/],
    [{ schema: 0 }, /^line 1 is not as it was written$/],
    [{ rows: { cats: 1 } }, /^line 1 is not as it was written$/],
    [{ keys: [{}] }, /^line 1 is not as it was written$/],
  ])('export whose header contains %j is refused', { tags: 'export-and-import/2' }, async (changed, message) => {
    const header = headerLine({ ...JSON.parse(lines[0] as string), ...changed })
    expect(await refusalOf(header + lines.slice(1).join('\n'))).toMatch(message)
  })

  it('export with an endless line is refused before it fills the memory', async () => {
    async function* endless() {
      yield Buffer.from(`${lines[0]}\n{"table":"`)
      for (;;) yield Buffer.alloc(1024 * 1024, 0x61)
    }
    const { rows } = await readExport(endless())
    await expect(rows.next()).rejects.toThrow('line 2 is longer than any that an export has')
  })
})
