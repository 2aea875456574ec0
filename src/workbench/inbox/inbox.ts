import { closeSync, openSync } from 'node:fs'
import { readAt } from '../../files/summed-lines.js'
import { linesOf, listFiles, writersIn } from './files.js'
import type { DeliveryLine, InboxLine, InboxVerdict, LineSummary, ResponseLine } from './lines.js'
import { decodeLine } from './lines.js'

/** A recorded delivery without headers and bodies, which stay in its file. */
export interface DeliverySummary extends Pick<DeliveryLine, 'id' | 'at' | 'verdict' | 'reason' | 'update_id' | 'type'> {
  /** Size of the body. */
  readonly bytes: number
  /** Status of the last response; null if the sender got none, undefined if none was recorded. */
  readonly status: number | null | undefined
  /** URL to which it was forwarded on arrival; null without an application. */
  readonly to: string | null
}

export interface StoredDelivery extends DeliveryLine {
  /** In the order in which they were recorded. */
  readonly responses: readonly ResponseLine[]
}

interface InboxFilter {
  readonly type?: string | undefined
  readonly verdicts?: readonly InboxVerdict[] | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
  /** Verified, without a 2xx response to it or to a later repeat of the same bytes, and not waiting for one now. */
  readonly failed?: boolean | undefined
}

interface Entry extends DeliverySummary {
  status: number | null | undefined
  to: string | null
  /** Where the delivery and its responses are. */
  readonly places: Place[]
  /** Identifies repeats of the same bytes. */
  readonly content: string
  /** True while its process runs, which may still record a response. */
  readonly isGrowing: boolean
}

interface Place {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** The contents of an inbox folder. All files are read once; headers and bodies are read again on demand. */
export class Inbox {
  /** Lines whose checksum fails. */
  readonly damage: { readonly path: string; readonly line: number }[] = []
  readonly #byId = new Map<string, Entry>()
  /** Oldest first. */
  readonly #entries: readonly Entry[]

  /**
   * A missing folder is an empty inbox.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string) {
    const files = listFiles(dir)
    const growing = new Set(writersIn(dir).map(({ number }) => number))
    for (const file of files) {
      for (const { number, offset, bytes, line } of linesOf(file.path)) {
        const place = { path: file.path, offset, length: bytes.length }
        if (line === undefined) this.damage.push({ path: file.path, line: number })
        else if (line.kind === 'delivery') this.#byId.set(line.id, entryOf(line, place, growing.has(file.number)))
        else this.#addResponse(line, place)
      }
    }
    this.#entries = [...this.#byId.values()].sort((a, b) => a.at - b.at)
  }

  /** A response follows its delivery, in the same file or, after a replay, in one with a higher number. */
  #addResponse({ of, status, to, replay }: LineSummary & { kind: 'response' }, place: Place): void {
    const entry = this.#byId.get(of)
    if (entry === undefined) return
    entry.places.push(place)
    entry.status = status
    if (!replay) entry.to ??= to
  }

  get count(): number {
    return this.#entries.length
  }

  /** The newest `limit` that match, oldest first. */
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
    // From the newest back: the last of several deliveries with the same bytes decides.
    for (const entry of this.#entries.toReversed()) {
      const { verdict, status, content } = entry
      const isDone = isSuccess(status) || (status === undefined && entry.isGrowing)
      if (verdict === 'refused' || decided.has(content) || (verdict === 'duplicate' && !isDone)) continue
      decided.add(content)
      if (!isDone) failures.add(entry)
    }
    return failures
  }

  /** By its id, or the newest verified delivery of an update_id (digits). */
  byId(id: string): DeliverySummary | undefined {
    return this.#byId.get(id) ?? this.#entries.findLast((it) => it.update_id === id)
  }

  /** Reads a delivery with its responses; undefined if it was cleared since the inbox was opened. */
  read(id: string): StoredDelivery | undefined {
    const [delivery, ...others] = this.#byId.get(id)?.places.map(lineAt) ?? []
    if (delivery?.kind !== 'delivery' || delivery.id !== id) return undefined
    return { ...delivery, responses: others.filter((it) => it?.kind === 'response').filter((it) => it.of === id) }
  }
}

function entryOf(line: LineSummary & { kind: 'delivery' }, place: Place, isGrowing: boolean): Entry {
  const { id, at, verdict, reason, update_id, type, body_bytes: bytes, body_crc } = line
  const summary = { id, at, verdict, reason, update_id, type, bytes, status: undefined, to: null }
  return { ...summary, places: [place], content: `${update_id} ${body_crc}`, isGrowing }
}

function lineAt({ path, offset, length }: Place): InboxLine | undefined {
  const file = openSync(path, 'r')
  try {
    return decodeLine(readAt(file, offset, length))
  } finally {
    closeSync(file)
  }
}

const isSuccess = (status: number | null | undefined) => typeof status === 'number' && status >= 200 && status < 300
