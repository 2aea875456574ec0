import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { readLines } from './lines.js'
import { Fingerprints } from './fingerprints.js'

/** What a run issues, and where: another run may go on only with the same. No secret is in it. */
export interface RunIdentity {
  readonly template: string
  /** Origin and path of the base URL. */
  readonly server: string
  /** SHA-256 of the input file; null for a pipe, whose rows are known by their keys alone. */
  readonly input_sha256: string | null
}

/** What a row got: a voucher, whose line in the results ends at byte `end`; or a failure. */
export type JournalEntry =
  | { readonly line: number; readonly key: string; readonly voucher_id: string | null; readonly end: number }
  | { readonly line: number; readonly key?: string; readonly code: string }

export const encodeHeader = (identity: RunIdentity) =>
  `${JSON.stringify({ journal: 'voucherctl vouchers issue-many', version: 1, ...identity })}\n`

export const encodeEntry = (entry: JournalEntry) => `${JSON.stringify(entry)}\n`

export interface LoadedJournal {
  /** Undefined when not even its first line is whole. */
  readonly identity: RunIdentity | undefined
  /** Rows that have their voucher. */
  readonly done: Fingerprints
  /** Bytes of the journal that are whole. */
  readonly end: number
  /** Bytes of the results that the journal knows. */
  readonly resultsEnd: number
}

/** The digest within an idempotency key of `keyOf`. */
export const digestOf = (key: string) => Buffer.from(key.slice(-43), 'base64url')

/**
 * Reads a journal as far as it is whole: what a kill or a power failure has torn is as if it had not been written, and
 * its rows are asked for again under their keys.
 * @throws what the file system throws
 */
export async function loadJournal(path: string): Promise<LoadedJournal> {
  const done = new Fingerprints()
  let identity: RunIdentity | undefined
  let [end, resultsEnd] = [0, 0]
  for await (const text of wholeLines(path)) {
    const value = parse(text)
    if (value === undefined) break
    identity ??= identityOf(value)
    if (identity === undefined) break
    if (typeof value.key === 'string' && typeof value.end === 'number') {
      done.add(digestOf(value.key), Number(value.line))
      resultsEnd = value.end
    }
    end += Buffer.byteLength(text) + 1
  }
  return { identity, done, end, resultsEnd }
}

/** Lines that end with a line feed, up to the first that is no text. */
async function* wholeLines(path: string): AsyncGenerator<string> {
  let last: string | undefined
  for await (const block of readLines(createReadStream(path, { highWaterMark: 256 * 1024 }))) {
    for (const { text } of block) {
      if (last !== undefined) yield last
      last = text
      if (text === undefined) return
    }
  }
  if (last !== undefined && (await endsWithLineFeed(path))) yield last
}

async function endsWithLineFeed(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
    return buffer[0] === 0x0a
  } finally {
    await file.close()
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function identityOf({ version, template, server, input_sha256 }: Record<string, unknown>): RunIdentity | undefined {
  if (version !== 1 || typeof template !== 'string' || typeof server !== 'string') return undefined
  return { template, server, input_sha256: typeof input_sha256 === 'string' ? input_sha256 : null }
}
