import { closeSync, openSync } from 'node:fs'
import { readAt, readLines } from '../../files/summed-lines.js'
import type { InboxFile } from './files.js'
import { listFiles, writerOf, writersIn } from './files.js'
import type { InboxRecord, InboxVerdict, LineSummary, RecordedDelivery, RecordedResponse } from './lines.js'
import { decodeLine, salvage, summaryOf } from './lines.js'

/** A recorded delivery without headers and bodies, which stay in its file. */
export interface Listed {
  /** `FILE-NUMBER`; ascending in each file. */
  readonly id: string
  readonly at: number
  readonly verdict: InboxVerdict
  readonly reason: string | null
  readonly update_id: string | null
  readonly type: string | null
  /** Size of the body. */
  readonly bytes: number
  /** Status of the last response; null if the sender got none, undefined if none was recorded. */
  readonly status: number | null | undefined
  /** URL to which it was forwarded on arrival; null without an application. */
  readonly to: string | null
}

export interface Stored extends RecordedDelivery {
  readonly id: string
  /** In the order in which they were recorded. */
  readonly responses: readonly RecordedResponse[]
}

export interface InboxFilter {
  readonly type?: string | undefined
  readonly verdicts?: readonly InboxVerdict[] | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
  /**
   * Verified, not answered 2xx by the application, neither itself nor a later repeat of the same bytes, and not on its
   * way there now.
   */
  readonly failed?: boolean | undefined
}

/** A line whose checksum fails. */
export interface DamagedLine {
  readonly path: string
  readonly line: number
}

interface Place {
  readonly path: string
  readonly offset: number
  readonly bytes: number
}

interface Entry extends Listed {
  status: number | null | undefined
  to: string | null
  /** Name of its file. */
  readonly file: string
  readonly place: Place
  readonly bodyCrc: number
  readonly responses: Place[]
}

/** The contents of an inbox folder. Opening reads all files once; headers and bodies are read again on demand. */
export class Inbox {
  readonly damage: readonly DamagedLine[]
  /** Oldest first. */
  readonly #entries: readonly Entry[]
  readonly #byId: ReadonlyMap<string, Entry>
  /** Files whose process is running: their last deliveries may be waiting for a response. */
  readonly #growing: ReadonlySet<string>

  private constructor(scan: Scan) {
    this.damage = scan.damage
    this.#byId = scan.entries
    this.#growing = scan.growing
    this.#entries = [...scan.entries.values()].sort((a, b) => a.at - b.at)
  }

  /**
   * Opens an inbox; a missing folder is an empty inbox.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  static open(dir: string): Inbox {
    return new Inbox(new Scan(dir))
  }

  get count(): number {
    return this.#entries.length
  }

  /** The newest `limit` that match, oldest first. */
  find({ type, verdicts, since, failed }: InboxFilter, limit = Number.POSITIVE_INFINITY): Listed[] {
    const found: Listed[] = []
    // From the newest back, so that a repeat is met before what it repeats.
    const settled = new Set<string>()
    for (let at = this.#entries.length - 1; at >= 0 && found.length < limit; at--) {
      const entry = this.#entries[at] as Entry
      if (failed) {
        if (entry.verdict === 'refused') continue
        const key = `${entry.update_id} ${entry.bodyCrc}`
        const isRepeated = settled.has(key)
        const isSettled = isSuccess(entry.status) || this.#isWaiting(entry)
        if (isSettled) settled.add(key)
        if (isRepeated || isSettled || entry.verdict === 'duplicate') continue
        settled.add(key)
      }
      if (verdicts !== undefined && !verdicts.includes(entry.verdict)) continue
      if (since !== undefined && entry.at < since) continue
      if (type !== undefined && entry.type !== type) continue
      found.push(entry)
    }
    return found.reverse()
  }

  /** By its id, or the newest verified delivery of an update_id (digits). */
  byId(id: string): Listed | undefined {
    return this.#byId.get(id) ?? this.#entries.findLast((it) => it.update_id === id)
  }

  /** Reads a delivery with its responses; undefined if it was cleared. */
  read(id: string): Stored | undefined {
    const entry = this.#byId.get(id)
    const delivery = entry === undefined ? undefined : recordAt(entry.place)
    // The file may have been cleared since the inbox was opened.
    if (entry === undefined || delivery?.kind !== 'delivery' || delivery.id !== id) return undefined
    const responses = entry.responses.flatMap((place) => {
      const response = recordAt(place)
      return response?.kind === 'response' && response.value.of === id ? [response.value] : []
    })
    return { ...delivery.value, id, responses }
  }

  #isWaiting({ status, file }: Entry): boolean {
    return status === undefined && this.#growing.has(file)
  }
}

/** Reads all files of an inbox once. */
class Scan {
  readonly entries = new Map<string, Entry>()
  readonly damage: DamagedLine[] = []
  readonly growing = new Set<string>()
  /** Applied after all files are read, because the response of a replay is in another file than its delivery. */
  readonly #responses: {
    readonly of: string
    readonly status: number | null
    /** URL of the forwarding; undefined for a replay. */
    readonly to: string | null | undefined
    readonly place: Place
  }[] = []

  constructor(dir: string) {
    // List writers before and after, so that a process that started or ended meanwhile counts.
    const before = writersIn(dir)
    const writers = new Map<string, string>()
    for (const file of listFiles(dir)) {
      const writer = this.#read(file)
      if (writer !== null) writers.set(file.name, writer)
    }
    const alive = new Set([...before, ...writersIn(dir)].map(({ name }) => name))
    for (const [name, writer] of writers) if (alive.has(writer)) this.growing.add(name)
    for (const { of, status, to, place } of this.#responses) {
      const entry = this.entries.get(of)
      if (entry === undefined) continue
      entry.responses.push(place)
      entry.status = status
      if (to !== undefined) entry.to ??= to
    }
  }

  /** Reads a file; returns the name of the process that wrote it. */
  #read(file: InboxFile): string | null {
    let descriptor: number
    try {
      descriptor = openSync(file.path, 'r')
    } catch (error) {
      // The file was cleared after it was listed.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
    const { path } = file
    try {
      const writer = writerOf(file, descriptor)
      for (const { number, offset, bytes, isTorn } of readLines(descriptor)) {
        const line = isTorn ? undefined : summaryOf(bytes)
        if (line !== undefined) {
          this.#add(file, line, { path, offset, bytes: bytes.length })
          continue
        }
        let saved = 0
        for (const piece of salvage(bytes)) {
          this.#add(file, piece.line, { path, offset: offset + piece.at, bytes: piece.bytes })
          saved += piece.bytes
        }
        // The process was killed while it wrote this line, before any acknowledgement.
        const isUnfinished = isTorn && (saved === 0 || saved === bytes.length)
        if (!isUnfinished) this.damage.push({ path, line: number })
      }
      return writer
    } finally {
      closeSync(descriptor)
    }
  }

  #add(file: InboxFile, line: LineSummary, place: Place): void {
    if (line.kind === 'response') {
      const { of, status, to, replay } = line
      this.#responses.push({ of, status, to: replay ? undefined : to, place })
    }
    if (line.kind !== 'delivery') return
    const { id, at, verdict, reason, update_id, type, body_bytes, body_crc } = line
    this.entries.set(id, {
      id,
      at,
      verdict,
      reason,
      update_id,
      type,
      bytes: body_bytes,
      bodyCrc: body_crc,
      status: undefined,
      to: null,
      file: file.name,
      place,
      responses: [],
    })
  }
}

function recordAt({ path, offset, bytes }: Place): InboxRecord | undefined {
  const file = openSync(path, 'r')
  try {
    return decodeLine(readAt(file, offset, bytes))
  } finally {
    closeSync(file)
  }
}

const isSuccess = (status: number | null | undefined) => typeof status === 'number' && status >= 200 && status < 300
