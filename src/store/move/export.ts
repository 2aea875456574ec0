import { exportedTables } from '../tables.js'
import { type Checksums, Digest, endLine, FORMAT, type Header, headerLine, type KeyCheck, rowLines } from './format.js'
import { countOf, type MoveSource, type Table } from './session.js'

/** Yields pieces of an export with the number of rows in each; returns the checksums of the last line. */
type ExportText = AsyncGenerator<{ readonly text: string; readonly rows: number }, Checksums>

export async function filledTables(source: MoveSource): Promise<{ readonly table: Table; readonly rows: number }[]> {
  const found: { table: Table; rows: number }[] = []
  for (const name of exportedTables) {
    const table = await source.table(name)
    const rows = table === undefined ? 0 : await countOf(source, table)
    if (table !== undefined && rows > 0) found.push({ table, rows })
  }
  return found
}

export async function keyChecksOf(source: MoveSource): Promise<readonly KeyCheck[]> {
  const rows = await source.all('select key_id, key_check from credential_keys order by key_id')
  return rows.map((it) => ({ key_id: String(it.key_id), key_check: String(it.key_check) }))
}

/** Serialises a store: a header line, one line per row, and a last line whose checksums prove completeness. */
export async function* exportText(
  source: MoveSource,
  header: Pick<Header, 'version' | 'schema' | 'exported_at' | 'keys' | 'transport_keys'>,
  filled: readonly { readonly table: Table; readonly rows: number }[],
): ExportText {
  const digest = new Digest()
  const { version, schema, exported_at, keys, transport_keys } = header
  const rows = Object.fromEntries(filled.map((it) => [it.table.name, it.rows]))
  const about = { version, schema, dialect: source.dialect, exported_at, keys, transport_keys, rows }
  const first = headerLine({ voucherctl: 'export', format: FORMAT, ...about })
  digest.addHeader(first)
  yield { text: first, rows: 0 }
  for (const { table } of filled) {
    for await (const page of source.pages(table)) {
      const text = rowLines(table.name, page)
      digest.addRows(table.name, text, page.length)
      yield { text, rows: page.length }
    }
  }
  const sums = digest.end()
  yield { text: endLine(sums), rows: 0 }
  return sums
}

/** Computes the checksums that an export of this store would have. @param onPage called for each page */
export async function sumsOf(source: MoveSource, onPage: () => void = () => {}): Promise<Checksums> {
  const digest = new Digest()
  for (const { table } of await filledTables(source)) {
    for await (const page of source.pages(table)) {
      onPage()
      digest.addRows(table.name, rowLines(table.name, page), page.length)
    }
  }
  return digest.end()
}
