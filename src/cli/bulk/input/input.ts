import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Failure, fail } from '../../failures/failure.js'
import { openFifo, unreadable } from '../../host/files.js'
import type { Host } from '../../host/host.js'
import { type BulkFormat, formatOf } from './read-rows.js'

/** The opened input of a bulk run. */
export interface BulkInput {
  /** Name of the input for messages. */
  readonly name: string
  /** File format; undefined if the first byte of the content decides. */
  readonly format: BulkFormat | undefined
  /** False for a pipe, which can be read only once: validation of its rows overlaps with the calls. */
  readonly isFile: boolean
  chunks(): AsyncIterable<Uint8Array | string>
  close(): Promise<void>
}

const CHUNK_BYTES = 64 * 1024

/** Opens a file, a FIFO or standard input (`-`). A file stays open, because the run reads it twice. */
export async function openInput(host: Host, path: string): Promise<{ ok: true; input: BulkInput } | Failure> {
  if (path === '-') {
    const input = { name: 'standard input', format: undefined, isFile: false }
    return { ok: true, input: { ...input, chunks: () => host.stdin, close: async () => {} } }
  }
  const absolute = resolve(host.cwd, path)
  try {
    const fifo = await openFifo(absolute)
    if (fifo !== undefined) {
      const input = { name: path, format: formatOf(path), isFile: false }
      return { ok: true, input: { ...input, chunks: () => fifo, close: async () => void fifo.destroy() } }
    }
    const file = await open(absolute)
    if ((await file.stat()).isDirectory()) {
      await file.close()
      return fail('FILE_UNREADABLE', `${path} is a folder.`, 'Name a CSV or NDJSON file.')
    }
    const chunks = () => file.createReadStream({ start: 0, autoClose: false, highWaterMark: CHUNK_BYTES })
    return { ok: true, input: { name: path, format: formatOf(path), isFile: true, chunks, close: () => file.close() } }
  } catch (error) {
    return unreadable(path, error)
  }
}
