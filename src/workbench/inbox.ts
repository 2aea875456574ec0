// An inbox folder (rules/workbench.md#inbox-files). For each process it has `000001.ndjson` with accepted deliveries,
// `000001.refused.ndjson` with refused ones, and remainders of `inbox clear`: `000001.1800000000000.ndjson`.
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type FaultKind, faultOfHeaders } from '../contract/platform/fault-kinds.js'
import { readAt, requireFile } from '../files/read-file.js'
import { removeDrafts, replaceFile } from '../files/replace-file.js'
import { readLines } from '../files/summed-lines.js'
import { pairsOf } from './header-pairs.js'

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

/** A recorded delivery without headers and body, which are read from the file on demand. */
export interface DeliverySummary extends Omit<DeliveryLine, 'headers' | 'body'> {
  /** Status of the last response; null if the sender got none, undefined if none was recorded. */
  readonly status: number | null | undefined
  /** URL of the application that got the delivery on arrival; null if none was configured. */
  readonly to: string | null
  readonly fault?: FaultKind
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
  /** If true, finds only verified deliveries for which no 2xx is recorded, not even for a later repeat. */
  readonly failed?: boolean | undefined
}

interface IndexEntry extends DeliverySummary {
  status: number | null | undefined
  to: string | null
  /** File positions of the delivery and its responses. */
  readonly places: LineLocation[]
}

interface LineLocation {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** Reads an inbox folder. It reads all files once to index the deliveries, and headers and bodies again on demand. */
export class Inbox {
  /** Damaged lines, which cannot be parsed. */
  readonly damage: { readonly path: string; readonly line: number }[] = []
  readonly #byId = new Map<string, IndexEntry>()
  /** Index of all deliveries, oldest first. */
  readonly #entries: readonly IndexEntry[]

  /**
   * Indexes all deliveries of a folder; a missing folder is an empty inbox.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string) {
    const responses: { readonly line: ResponseLine; readonly place: LineLocation }[] = []
    for (const { path } of listFiles(dir)) {
      for (const { number, offset, bytes, line } of linesOf(path)) {
        const place = { path, offset, length: bytes.length }
        if (line === undefined) this.damage.push({ path, line: number })
        else if (line.kind === 'response') responses.push({ line, place })
        else {
          const { headers, body: _body, ...summary } = line
          const unset = { status: undefined, to: null }
          this.#byId.set(line.id, { ...summary, ...unset, ...faultOfHeaders(pairsOf(headers)), places: [place] })
        }
      }
    }
    this.#entries = [...this.#byId.values()].sort((a, b) => a.at - b.at)
    for (const { line, place } of responses) this.#addResponse(line, place)
  }

  #addResponse({ of, status, to, replay }: ResponseLine, place: LineLocation): void {
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
      (entry) =>
        (failures === undefined || failures.has(entry)) &&
        (verdicts === undefined || verdicts.includes(entry.verdict)) &&
        (since === undefined || entry.at >= since) &&
        (type === undefined || entry.type === type),
    )
    return found.slice(-limit)
  }

  #failures(): ReadonlySet<DeliverySummary> {
    const failures = new Set<DeliverySummary>()
    const decided = new Set<string>()
    // Go from the newest to the oldest: of repeated deliveries the last one decides whether the delivery failed.
    for (const entry of this.#entries.toReversed()) {
      const { verdict, status, update_id, body_crc } = entry
      const isDone = typeof status === 'number' && status >= 200 && status < 300
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
 * Removes the deliveries of an inbox; with `before` (milliseconds since 1970) only those that arrived earlier. The
 * others then keep their ids, and damaged lines stay. If the process is killed, each file is unchanged or cleared. The
 * last file stays, even empty: its number determines the number of the next file, so that no id is used again.
 */
export function clearInbox(dir: string, before = Number.POSITIVE_INFINITY) {
  const [inbox, bytes, files] = [new Inbox(dir), inboxBytes(dir), listFiles(dir)]
  const removed = new Set(inbox.find({}).flatMap(({ id, at }) => (at < before ? [id] : [])))
  const stays = (line: InboxLine | undefined) =>
    before !== Number.POSITIVE_INFINITY &&
    (line === undefined || !removed.has(line.kind === 'delivery' ? line.id : line.of))
  for (const file of files) {
    const isLast = file.number === files.at(-1)?.number
    if (sizeOf(file.path) === 0 ? isLast : [...linesOf(file.path)].every(({ line }) => stays(line))) continue
    const path = setAside(dir, file)
    removeDrafts(path)
    replaceFile(path, remainingLines(path, stays))
    if (sizeOf(path) === 0 && !isLast) rmSync(path)
  }
  return { removed: removed.size, left: inbox.count - removed.size, bytes: bytes - inboxBytes(dir) }
}

/** Renames a file so that no process writes it: the writer then starts a new file and repeats its last write. */
function setAside(dir: string, { path, name, isAside }: ReturnType<typeof listFiles>[number]): string {
  if (isAside) return path
  const aside = join(dir, name.replace(/ndjson$/, `${Date.now()}.ndjson`))
  renameSync(path, aside)
  return aside
}

function* remainingLines(path: string, stays: (line: InboxLine | undefined) => boolean): Generator<Buffer> {
  for (const { bytes, line } of linesOf(path)) if (stays(line)) yield Buffer.concat([bytes, Buffer.from('\n')])
}

const NAME = /^(\d{6,9})(\.refused)?(\.\d{13})?\.ndjson$/

/**
 * Lists the files by number, earlier files of a process first; empty for a missing folder. The ids of the deliveries in
 * a file begin with its number.
 */
export const listFiles = (dir: string) =>
  (existsSync(dir) ? readdirSync(dir) : [])
    .flatMap((name) => {
      const [, number, refused, aside] = NAME.exec(name) ?? []
      const [isRefused, isAside] = [refused !== undefined, aside !== undefined]
      return number === undefined ? [] : [{ path: join(dir, name), name, number: Number(number), isRefused, isAside }]
    })
    .sort((a, b) => a.number - b.number || (a.name < b.name ? -1 : 1))

/** Size of a file; 0 if another process has removed it. */
export const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

export const inboxBytes = (dir: string) => listFiles(dir).reduce((sum, { path }) => sum + sizeOf(path), 0)

/** Version of the file format; every line contains it. */
export const VERSION = 1

export const encodeLine = ({ headers, body, ...summary }: InboxLine) =>
  `${JSON.stringify({ v: VERSION, ...summary, headers, body: body.toString('base64') })}\n`

/** Types of the members that every displayed line needs. */
const shared = { at: 'number', body: 'string', body_bytes: 'number' }
const shapes = {
  delivery: { ...shared, id: 'string', method: 'string', url: 'string', verdict: 'string' },
  response: { ...shared, of: 'string', duration_ms: 'number' },
}

/** Decodes a line; undefined for a damaged line. Only the signature shows whether a body is as received. */
export function decodeLine(bytes: Buffer): InboxLine | undefined {
  const { v, ...line } = parseLine(bytes) ?? {}
  const { kind, headers, body, to } = line
  if (kind !== 'delivery' && kind !== 'response') return undefined
  const isWhole = Object.entries(shapes[kind]).every(([name, type]) => typeof line[name] === type)
  const isList = Array.isArray(headers) && headers.every((it) => typeof it === 'string')
  if (!isWhole || !isList || !(to == null || URL.canParse(String(to)))) return undefined
  return { ...line, body: Buffer.from(String(body), 'base64') } as InboxLine
}

function parseLine(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) ?? undefined
  } catch {
    return undefined
  }
}

function lineAt({ path, offset, length }: LineLocation): InboxLine | undefined {
  if (!existsSync(path)) return undefined
  requireFile(path)
  const file = openSync(path, 'r')
  try {
    return decodeLine(readAt(file, offset, length))
  } finally {
    closeSync(file)
  }
}

/**
 * Reads the lines of a file; `line` is undefined if it does not parse. Ignores a last line without a line feed, whose
 * delivery was never acknowledged, and a file that was cleared after listing.
 * @throws errors of the file system and of `requireFile`, or an error with the code INBOX_FORMAT
 */
export function* linesOf(path: string) {
  if (!existsSync(path)) return
  for (const { number, offset, bytes, isTorn } of readLines(path)) {
    if (number === 1) checkFormat(path, bytes)
    if (isTorn) return
    yield { number, offset, bytes, line: decodeLine(bytes) }
  }
}

/** Checks the first line of a file. The line may be torn or damaged, and after a power failure it may be zeros. */
function checkFormat(path: string, bytes: Buffer): void {
  const start = bytes.toString('latin1', 0, 5)
  if (!'{"v":'.startsWith(start) && !bytes.includes('"kind":"') && bytes[0] !== 0)
    throw formatError(`${path} is not an inbox file of voucherctl.`)
  const { v = VERSION } = parseLine(bytes) ?? {}
  if (v !== VERSION)
    throw formatError(`${path} has the inbox format ${v}; this version of voucherctl reads ${VERSION}.`)
}

const formatError = (message: string) => Object.assign(new Error(message), { code: 'INBOX_FORMAT' })
