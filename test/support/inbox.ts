import { join } from 'node:path'
import type { RecordedDelivery, RecordedResponse } from '../../src/workbench/inbox.js'
import { InboxWriter } from '../../src/workbench/inbox-writer.js'

export const delivery = (id: number, more: Partial<RecordedDelivery> = {}): RecordedDelivery => ({
  at: 1_800_000_000_000 + id,
  method: 'POST',
  url: '/hook',
  headers: ['Host', 'localhost', 'X-Platform-Update-Id', String(id)],
  verdict: 'ok',
  reason: null,
  update_id: String(id),
  type: 'message',
  body: Buffer.from(`{"update_id":${id}}`),
  ...more,
})

export const response = (
  of: string,
  status: number | null,
  more: Partial<RecordedResponse> = {},
): RecordedResponse => ({
  of,
  at: 1_800_000_001_000,
  status,
  duration_ms: 3,
  to: 'http://localhost:3000/',
  error: null,
  replay: false,
  headers: ['Content-Type', 'text/plain'],
  body: Buffer.from('done'),
  ...more,
})

export const fileIn = (dir: string, number = 1) => join(dir, `${String(number).padStart(6, '0')}.ndjson`)

/** Writes an inbox with these deliveries, each with a response, and closes the writer. */
export async function writeInbox(dir: string, deliveries: readonly RecordedDelivery[], status: number | null = 200) {
  const writer = new InboxWriter(dir)
  for (const it of deliveries) {
    const id = await writer.recordDelivery(it)
    if (it.verdict !== 'refused') await writer.recordResponse(response(id, status))
  }
  await writer.close()
}

/** Byte offset of the start of each line. */
export function lineStarts(bytes: Buffer): number[] {
  const starts = [0]
  for (let at = bytes.indexOf(10); at !== -1 && at + 1 < bytes.length; at = bytes.indexOf(10, at + 1))
    starts.push(at + 1)
  return starts
}
