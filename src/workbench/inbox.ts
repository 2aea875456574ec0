// An inbox folder (DECISIONS.md#inbox-files). For each process it has `000001.ndjson` with the accepted deliveries,
// `000001.refused.ndjson` with the refused ones, and, while the process runs, `000001-PID-START.writer`.
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, startTicks } from '../files/process-alive.js'
import { replaceFile } from '../files/replace-file.js'
import { parseLine, readAt, readLines, SUM, withSum } from '../files/summed-lines.js'

export type InboxVerdict = 'ok' | 'duplicate' | 'refused'

interface InboxMessage {
  /** Time of arrival in milliseconds since 1970. */
  readonly at: number
  /** Header names and values in turn, as received; each character stands for one byte. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** A delivery as received, accepted or refused. */
export interface RecordedDelivery extends InboxMessage {
  readonly method: string
  /** Path and query of the request. */
  readonly url: string
  readonly verdict: InboxVerdict
  /** Why the delivery was refused, or `id_reused`. */
  readonly reason: string | null
  /** update_id as decimal digits; null if the delivery is not verified. */
  readonly update_id: string | null
  readonly type: string | null
}

/** The response to a delivery or to its replay. */
export interface RecordedResponse extends InboxMessage {
  /** Inbox id of the delivery. */
  readonly of: string
  /** HTTP status; null if the sender got no response, for example with `--respond timeout`. */
  readonly status: number | null
  readonly duration_ms: number
  /** URL of the application that got the delivery; null if no application is configured. */
  readonly to: string | null
  /** Message about a failure of the application, for the user. */
  readonly error: string | null
  /** True if the response is to a replay by the user. */
  readonly replay: boolean
}

interface DeliveryLine extends RecordedDelivery {
  readonly kind: 'delivery'
  readonly id: string
  readonly body_bytes: number
  /** CRC-32 of the body, to find repeated deliveries without reading bodies. */
  readonly body_crc: number
}

interface ResponseLine extends RecordedResponse {
  readonly kind: 'response'
  /** Size of the complete body; `body` contains only its first 64 KiB. */
  readonly body_bytes: number
}

type InboxLine = DeliveryLine | ResponseLine
/** A line of an inbox file without headers and body, which make up most of its size. */
type LineSummary = Omit<DeliveryLine, 'headers' | 'body'> | Omit<ResponseLine, 'headers' | 'body'>

/** A recorded delivery without headers and body, which are read from its file on demand. */
export interface DeliverySummary extends Omit<DeliveryLine, 'headers' | 'body'> {
  /** Status of the last response; null if the sender got none, undefined if none was recorded. */
  readonly status: number | null | undefined
  /** URL of the application that got the delivery on arrival; null if none was configured. */
  readonly to: string | null
}

export interface StoredDelivery extends DeliveryLine {
  /** Responses in the order in which they were recorded. */
  readonly responses: readonly ResponseLine[]
}

interface InboxFilter {
  readonly type?: string | undefined
  readonly verdicts?: readonly InboxVerdict[] | undefined
  /** Only deliveries that arrived at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined
  /** True: only verified deliveries without a 2xx to them or to a later repeat, and without a pending response. */
  readonly failed?: boolean | undefined
}

interface IndexEntry extends DeliverySummary {
  status: number | null | undefined
  to: string | null
  /** File positions of the delivery and its responses. */
  readonly places: LineLocation[]
  /** True while the process that received the delivery runs: it may still record a response. */
  readonly isGrowing: boolean
}

interface LineLocation {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** Reads an inbox folder. It reads all files once to index the deliveries, and headers and bodies again on demand. */
export class Inbox {
  /** Lines whose checksum does not match. */
  readonly damage: { readonly path: string; readonly line: number }[] = []
  readonly #byId = new Map<string, IndexEntry>()
  /** Index of all deliveries, oldest first. */
  readonly #entries: readonly IndexEntry[]

  /**
   * Indexes all deliveries of a folder; a missing folder is an empty inbox.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string) {
    const files = listFiles(dir)
    const growing = new Set(writersIn(dir).map(({ number }) => number))
    for (const file of files) {
      for (const { number, offset, bytes, line } of linesOf(file.path)) {
        const place = { path: file.path, offset, length: bytes.length }
        if (line === undefined) this.damage.push({ path: file.path, line: number })
        else if (line.kind === 'response') this.#addResponse(line, place)
        else {
          const isGrowing = growing.has(file.number)
          this.#byId.set(line.id, { ...line, status: undefined, to: null, places: [place], isGrowing })
        }
      }
    }
    this.#entries = [...this.#byId.values()].sort((a, b) => a.at - b.at)
  }

  /** Adds a response to its delivery, which an earlier line of this file or a file with a lower number contains. */
  #addResponse({ of, status, to, replay }: LineSummary & { kind: 'response' }, place: LineLocation): void {
    const entry = this.#byId.get(of)
    if (entry === undefined) return
    entry.places.push(place)
    entry.status = status
    if (!replay) entry.to ??= to
  }

  get count(): number {
    return this.#entries.length
  }

  /** Finds the newest `limit` deliveries that match the filter, oldest first. */
  find({ type, verdicts, since, failed }: InboxFilter, limit = Number.POSITIVE_INFINITY): DeliverySummary[] {
    const failures = failed ? this.#failures() : undefined
    const found = this.#entries.filter(
      (it) =>
        (failures === undefined || failures.has(it)) &&
        (verdicts === undefined || verdicts.includes(it.verdict)) &&
        (since === undefined || it.at >= since) &&
        (type === undefined || it.type === type),
    )
    return found.slice(-limit)
  }

  #failures(): ReadonlySet<DeliverySummary> {
    const failures = new Set<DeliverySummary>()
    const decided = new Set<string>()
    // Go from the newest to the oldest: of repeated deliveries the last one decides whether the delivery failed.
    for (const entry of this.#entries.toReversed()) {
      const { verdict, status, update_id, body_crc } = entry
      const isDone = status === undefined ? entry.isGrowing : status !== null && status >= 200 && status < 300
      const content = `${update_id} ${body_crc}`
      if (verdict === 'refused' || decided.has(content) || (verdict === 'duplicate' && !isDone)) continue
      decided.add(content)
      if (!isDone) failures.add(entry)
    }
    return failures
  }

  /** Finds a delivery by its inbox id, or the newest verified one by its update_id (digits). */
  byId(id: string): DeliverySummary | undefined {
    return this.#byId.get(id) ?? this.#entries.findLast((it) => it.update_id === id)
  }

  /** Reads a delivery with its responses; undefined if `inbox clear` removed it after the inbox was opened. */
  read(id: string): StoredDelivery | undefined {
    const [delivery, ...others] = this.#byId.get(id)?.places.map(lineAt) ?? []
    if (delivery?.kind !== 'delivery' || delivery.id !== id) return undefined
    return { ...delivery, responses: others.filter((it) => it?.kind === 'response').filter((it) => it.of === id) }
  }
}

/**
 * Removes all files of an inbox; with `before` (milliseconds since 1970) only deliveries that arrived earlier. Then the
 * remaining deliveries keep their ids, and damaged lines stay. If the process is killed, each file is unchanged or
 * cleared. While other processes write to the folder it removes nothing and returns their PIDs as `writers`.
 */
export function clearInbox(dir: string, before = Number.POSITIVE_INFINITY) {
  // List the files before the writers: the file of a process that starts in between is not listed and stays.
  const [names, files] = [namesIn(dir), listFiles(dir)]
  const inbox = new Inbox(dir)
  const bytes = inboxBytes(dir)
  const writers = writersIn(dir).map(({ pid }) => pid)
  if (writers.length > 0) return { removed: 0, left: inbox.count, bytes: 0, writers }
  const remaining = new Set(inbox.find({ since: before }).map(({ id }) => id))
  const stays = (line: LineSummary | undefined) =>
    line === undefined || remaining.has(line.kind === 'delivery' ? line.id : line.of)
  if (before === Number.POSITIVE_INFINITY) for (const name of names) rmSync(join(dir, name), { force: true })
  else {
    for (const { path } of files) {
      for (const { line } of linesOf(path)) {
        if (stays(line)) continue
        replaceFile(path, remainingLines(path, stays))
        break
      }
    }
    // Keep the last file even if it is empty, because its number determines that of the next file.
    for (const { path } of files.slice(0, -1)) if (sizeOf(path) === 0) rmSync(path, { force: true })
  }
  return { removed: inbox.count - remaining.size, left: remaining.size, bytes: bytes - inboxBytes(dir), writers }
}

function* remainingLines(path: string, stays: (line: LineSummary | undefined) => boolean): Generator<Buffer> {
  for (const { bytes, line } of linesOf(path)) if (stays(line)) yield Buffer.concat([bytes, Buffer.from('\n')])
}

const DATA = /^(\d{6,9})(\.refused)?\.ndjson$/
const MARKER = /^(\d{6,9})-(\d+)-(\d+)\.writer$/
/** Matches all names of inbox files, and of drafts that a killed `inbox clear` left. */
const ANY = /^\d{6,9}((\.refused)?\.ndjson(\.tmp-.+)?|-\d+-\d+\.writer)$/

/** Names of all files that belong to an inbox; none for a missing folder. */
const namesIn = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((name) => ANY.test(name)) : [])

/** Lists the files by number. The ids of the deliveries in a file begin with its number. */
export const listFiles = (dir: string) =>
  namesIn(dir)
    .flatMap((name) => {
      const [, number, refused] = DATA.exec(name) ?? []
      const isRefused = refused !== undefined
      return number === undefined ? [] : [{ path: join(dir, name), number: Number(number), isRefused }]
    })
    .sort((a, b) => a.number - b.number)

/** Size of a file; 0 if another process has removed it. */
export const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

export const inboxBytes = (dir: string) => listFiles(dir).reduce((sum, { path }) => sum + sizeOf(path), 0)

export const markersIn = (dir: string) =>
  namesIn(dir).flatMap((name) => {
    const [, number, pid, start] = (MARKER.exec(name) ?? []).map(Number)
    if (number === undefined || pid === undefined) return []
    // A later process may have the same PID, but not the same start.
    return [{ path: join(dir, name), number, pid, isRunning: isAlive(pid) && startOf(pid) === start }]
  })

/** Lists running processes that write to the inbox. Files listed earlier are complete unless a writer owns them. */
export const writersIn = (dir: string) => markersIn(dir).filter(({ isRunning }) => isRunning)

/** Start ticks of a process, as in the name of its marker file; 0 if the system does not report them. */
export const startOf = (pid: number) => Number(startTicks(pid) ?? 0)

/** Version of the file format; every line contains it. */
export const VERSION = 1

export const encodeLine = ({ headers, body, ...summary }: InboxLine) =>
  withSum({ v: VERSION, ...summary, headers, body: body.toString('base64') })

/** Decodes a line with its headers and body; undefined if the checksum does not match. */
export function decodeLine(bytes: Buffer): InboxLine | undefined {
  const parsed = parseLine(bytes)
  if (parsed === undefined) return undefined
  const { v, ...line } = parsed
  return { ...line, body: Buffer.from(String(line.body), 'base64') } as InboxLine
}

function lineAt({ path, offset, length }: LineLocation): InboxLine | undefined {
  const file = openSync(path, 'r')
  try {
    return decodeLine(readAt(file, offset, length))
  } finally {
    closeSync(file)
  }
}

/**
 * Reads the lines of a file; `line` is undefined if it is damaged. It ignores a last line without a line feed, whose
 * delivery was never acknowledged, and a file that was cleared after it was listed.
 * @throws errors of the file system, or an error with the code INBOX_FORMAT
 */
export function* linesOf(path: string) {
  if (!existsSync(path)) return
  for (const { number, offset, bytes, isTorn } of readLines(path)) {
    if (number === 1 && !isOwn(bytes)) throw formatError(`${path} is not an inbox file of voucherctl.`)
    if (isTorn) return
    const line = parseLine(bytes, 'headers') as (LineSummary & { readonly v: number }) | undefined
    if (line !== undefined && line.v !== VERSION)
      throw formatError(`${path} has the inbox format ${line.v}; this version of voucherctl reads ${VERSION}.`)
    yield { number, offset, bytes, line }
  }
}

/**
 * True if the first line of a file is in the inbox format, even if it is incomplete or one byte is damaged. A power
 * failure during the first write may leave zeros.
 */
const isOwn = (line: Buffer) => '{"v":'.startsWith(line.toString('latin1', 0, 5)) || line.includes(SUM) || line[0] === 0

const formatError = (message: string) => Object.assign(new Error(message), { code: 'INBOX_FORMAT' })
