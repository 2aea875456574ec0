// What is in an inbox: found by the indexes of its segments, and read one record at a time.
import { closeSync, openSync } from 'node:fs'
import type { InboxVerdict, RecordedAnswer, RecordedDelivery } from './inbox-frames.js'
import { decodeFrame, readAt } from './inbox-frames.js'
import { SegmentIndex, sumOf, updateKeyOf } from './inbox-index.js'
import { countsBefore, listSegments, segmentPath } from './inbox-segments.js'

/** One delivery as the index knows it. */
export interface Listed {
  /** `SEGMENT-NUMBER`; ascending in each segment, and a listener writes one segment after the other. */
  readonly id: string
  readonly at: number
  readonly verdict: InboxVerdict
  /** The last answer; null when there is none, undefined when none was recorded. */
  readonly status: number | null | undefined
  readonly segment: number
  readonly number: number
}

export interface Stored extends RecordedDelivery {
  readonly id: string
  /** In the order in which they were recorded. */
  readonly answers: readonly RecordedAnswer[]
}

export interface InboxFilter {
  readonly type?: string | undefined
  readonly verdict?: InboxVerdict | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
  /**
   * Verified, not answered 2xx by the application, neither itself nor a later repeat of the same bytes, and not on its
   * way there now.
   */
  readonly failed?: boolean | undefined
}

export class Inbox {
  readonly dir: string
  readonly #segments: ReadonlyMap<number, SegmentIndex>
  /** Last answer of each delivery of a segment, by number. NONE: there is none. */
  readonly #statuses = new Map<number, Uint16Array>()
  /** Where the answers of each delivery lie; made when they are asked for. */
  #answers: Map<string, [segment: number, at: number][]> | undefined

  /** By segment the deliveries that a process found which writes there now; it may still have those after them. */
  readonly #before: ReadonlyMap<number, number>

  private constructor(dir: string, segments: readonly SegmentIndex[], before: ReadonlyMap<number, number>) {
    this.dir = dir
    this.#before = before
    this.#segments = new Map(segments.map((it) => [it.segment, it]))
    for (const it of segments) this.#statuses.set(it.segment, new Uint16Array(it.deliveryCount + 1).fill(NONE))
    for (const index of segments) {
      for (let at = 0; at < index.answerCount; at++) {
        const { segment, number, status } = index.answer(at)
        const statuses = this.#statuses.get(segment)
        if (statuses !== undefined) statuses[number] = status ?? 0
      }
    }
  }

  /**
   * Reads what the indexes do not name yet. An inbox that is not there is empty.
   * @throws what the file system says when one of its files cannot be read
   */
  static open(dir: string): Inbox {
    // First, so that what is answered meanwhile is not taken for failed.
    const before = countsBefore(dir)
    return new Inbox(
      dir,
      listSegments(dir).map((segment) => SegmentIndex.load(dir, segment)),
      before,
    )
  }

  get count(): number {
    return [...this.#segments.values()].reduce((sum, { deliveryCount, removed }) => sum + deliveryCount - removed, 0)
  }

  /** The newest `limit` that match, oldest first. */
  find(filter: InboxFilter, limit = Number.POSITIVE_INFINITY): Listed[] {
    const found: Listed[] = []
    // From the newest back, so that a repeat is met before what it repeats.
    const settled = new Set<string>()
    for (const index of [...this.#segments.values()].reverse()) {
      for (let number = index.deliveryCount; number > index.removed && found.length < limit; number--) {
        const entry = index.delivery(number)
        const code = this.#statuses.get(index.segment)?.[number] ?? NONE
        if (filter.failed) {
          if (entry.verdict === 'refused') continue
          const key = `${entry.updateKey} ${entry.bodySum}`
          const isRepeated = settled.has(key)
          const isSettled = isSuccess(code) || (code === NONE && this.#isOnItsWay(index.segment, number))
          if (isSettled) settled.add(key)
          if (isRepeated || isSettled || entry.verdict === 'duplicate') continue
          settled.add(key)
        }
        if (filter.verdict !== undefined && entry.verdict !== filter.verdict) continue
        if (filter.since !== undefined && entry.at < filter.since) continue
        if (filter.type !== undefined && entry.typeSum !== sumOf(filter.type)) continue
        const { at, verdict } = entry
        const status = code === NONE ? undefined : code || null
        const listed = { id: `${index.segment}-${number}`, at, verdict, status, segment: index.segment, number }
        if (filter.type !== undefined && this.delivery(listed)?.type !== filter.type) continue
        found.push(listed)
      }
    }
    return found.reverse()
  }

  /** By its id, or the newest verified delivery of an update_id (digits). */
  byId(id: string): Listed | undefined {
    const [, segment = '', number = ''] = /^(\d{1,9})-(\d{1,9})$/.exec(id) ?? []
    if (segment !== '') return this.#listed(Number(segment), Number(number))
    if (!/^\d+$/.test(id)) return undefined
    const key = updateKeyOf(id)
    for (const index of [...this.#segments.values()].reverse()) {
      for (let at = index.deliveryCount; at > index.removed; at--) {
        if (index.delivery(at).updateKey !== key) continue
        const listed = this.#listed(index.segment, at)
        if (listed !== undefined && this.delivery(listed)?.update_id === id) return listed
      }
    }
    return undefined
  }

  /** With its answers. Undefined when what lies there is not what was written. */
  read(listed: Pick<Listed, 'id' | 'segment' | 'number'>): Stored | undefined {
    const delivery = this.delivery(listed)
    return delivery === undefined ? undefined : { ...delivery, id: listed.id, answers: this.#answersOf(listed.id) }
  }

  /** Undefined when what lies there is not what was written. */
  delivery({ segment, number }: Pick<Listed, 'segment' | 'number'>): RecordedDelivery | undefined {
    const index = this.#segments.get(segment)
    if (index === undefined || !index.has(number)) return undefined
    const record = this.#recordAt(segment, index.delivery(number))
    return record?.kind === 'delivery' ? record.value : undefined
  }

  #isOnItsWay(segment: number, number: number): boolean {
    return number > (this.#before.get(segment) ?? Number.POSITIVE_INFINITY)
  }

  #listed(segment: number, number: number): Listed | undefined {
    const index = this.#segments.get(segment)
    if (index === undefined || !index.has(number)) return undefined
    const { at, verdict } = index.delivery(number)
    const code = this.#statuses.get(segment)?.[number] ?? NONE
    return {
      id: `${segment}-${number}`,
      at,
      verdict,
      status: code === NONE ? undefined : code || null,
      segment,
      number,
    }
  }

  #answersOf(id: string): RecordedAnswer[] {
    this.#answers ??= this.#placeAnswers()
    return (this.#answers.get(id) ?? []).flatMap(([segment, at]) => {
      const index = this.#segments.get(segment)
      const record = index === undefined ? undefined : this.#recordAt(segment, index.answer(at))
      return record?.kind === 'answer' ? [record.value] : []
    })
  }

  /** An answer lies in the segment of its delivery, or in a later one when it was sent again by hand. */
  #placeAnswers(): Map<string, [segment: number, at: number][]> {
    const places = new Map<string, [number, number][]>()
    for (const index of this.#segments.values()) {
      for (let at = 0; at < index.answerCount; at++) {
        const { segment, number } = index.answer(at)
        const id = `${segment}-${number}`
        const known = places.get(id)
        if (known === undefined) places.set(id, [[index.segment, at]])
        else known.push([index.segment, at])
      }
    }
    return places
  }

  #recordAt(segment: number, { offset, bytes }: { readonly offset: number; readonly bytes: number }) {
    const file = openSync(segmentPath(this.dir, segment), 'r')
    try {
      return decodeFrame(readAt(file, offset, bytes))
    } finally {
      closeSync(file)
    }
  }
}

const NONE = 0xffff
const isSuccess = (status: number) => status >= 200 && status < 300
