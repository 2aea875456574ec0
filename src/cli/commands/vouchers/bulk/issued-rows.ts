import { createReadStream } from 'node:fs'
import { readCsv } from './input/csv-records.js'
import { readLines } from './input/lines.js'
import type { BulkFormat } from './input/read-rows.js'
import type { Row } from './input/row.js'
import { resultColumns } from './output-lines.js'

/** The rows in the first bytes of a results file, with the lines that they have in the input. */
export async function* readIssuedRows(path: string, bytes: number, format: BulkFormat): AsyncGenerator<Row> {
  if (bytes === 0) return
  const blocks = readLines(createReadStream(path, { end: bytes - 1 }))
  for await (const values of format === 'csv' ? csvValues(blocks) : jsonValues(blocks)) {
    const [line, external_issue_id, recipient_user_id] = values
    yield {
      line: Number(line),
      external_issue_id: String(external_issue_id),
      recipient_user_id: String(recipient_user_id),
    }
  }
}

async function* csvValues(blocks: ReturnType<typeof readLines>): AsyncGenerator<readonly unknown[]> {
  for await (const records of readCsv(blocks)) {
    for (const record of records) if ('values' in record && record.line > 1) yield record.values
  }
}

async function* jsonValues(blocks: ReturnType<typeof readLines>): AsyncGenerator<readonly unknown[]> {
  for await (const block of blocks) {
    for (const { text } of block) {
      if (text === undefined || text === '') continue
      const members: Record<string, unknown> = { ...JSON.parse(text) }
      yield resultColumns.map((name) => members[name])
    }
  }
}
