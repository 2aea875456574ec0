import { close, fdatasync, ftruncateSync, mkdirSync, openSync, statSync, write } from 'node:fs'
import { HEADER_BYTES, encodeFrame } from './inbox-frames.js'
import type { InboxRecord, RecordedAnswer, RecordedDelivery } from './inbox-frames.js'
import { SegmentIndex } from './inbox-index.js'
import type { Claim } from './inbox-segments.js'
import { claimSegment, segmentPath } from './inbox-segments.js'

/** A larger segment is followed by a new one. */
const SEGMENT_BYTES_MAX = 256 * 1024 * 1024
/** What is written reaches the disk itself this late. */
const SYNC_MS = 1_000

/**
 * Writes deliveries and answers down. A delivery is with the operating system when `written` is over: a process that
 * is killed loses at most what it was writing, which nobody was told to be there. The disk is told to keep it once a
 * second, so that a power failure may take the last second; a sender that was answered does not send that again.
 */
export class InboxWriter {
  readonly dir: string
  readonly #segmentBytesMax: number
  #segment: OpenSegment
  /** Closed, and claimed until the end: their last deliveries may still wait for an answer. */
  readonly #full: { readonly segment: OpenSegment; readonly closed: Promise<void> }[] = []

  private constructor(dir: string, segmentBytesMax: number) {
    this.dir = dir
    this.#segmentBytesMax = segmentBytesMax
    this.#segment = this.#open()
  }

  /**
   * Makes the folder, for its owner alone, when it is not there. Cuts off what a killed process wrote in part.
   * @throws what the file system says
   */
  static open(dir: string, { segmentBytesMax = SEGMENT_BYTES_MAX } = {}): InboxWriter {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return new InboxWriter(dir, segmentBytesMax)
  }

  /** Its id once it is written; rejects with what the file system says, and then it is not in the inbox. */
  async deliver(delivery: RecordedDelivery): Promise<string> {
    if (this.#segment.size > this.#segmentBytesMax) {
      const full = this.#segment
      this.#segment = this.#open()
      this.#full.push({ segment: full, closed: full.close() })
    }
    return this.#segment.append({ kind: 'delivery', value: delivery })
  }

  async answer(answer: RecordedAnswer): Promise<void> {
    await this.#segment.append({ kind: 'answer', value: answer })
  }

  /** When everything is on the disk, or has failed to get there. */
  async close(): Promise<void> {
    await Promise.all([...this.#full.map(({ closed }) => closed), this.#segment.close()])
    for (const segment of [...this.#full.map((it) => it.segment), this.#segment]) segment.release()
  }

  #open(): OpenSegment {
    const claim = claimSegment(this.dir, (path) => {
      const { size } = statSync(path)
      return size > this.#segmentBytesMax || size < HEADER_BYTES
    })
    return new OpenSegment(this.dir, claim)
  }
}

interface Waiting {
  readonly isDelivery: boolean
  readonly frame: Buffer
  done(id: string): void
  failed(error: unknown): void
}

class OpenSegment {
  readonly #claim: Claim
  readonly #file: number
  #deliveries: number
  #queue: Waiting[] = []
  #busy: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  /** End of the last whole frame. */
  size: number

  constructor(dir: string, claim: Claim) {
    this.#claim = claim
    const { covered, deliveryCount } = SegmentIndex.load(dir, claim.segment)
    this.#file = openSync(segmentPath(dir, claim.segment), 'r+')
    ftruncateSync(this.#file, covered)
    this.#deliveries = deliveryCount
    claim.beginAfter(deliveryCount)
    this.size = covered
  }

  append(record: InboxRecord): Promise<string> {
    const frame = encodeFrame(record)
    return new Promise((done, failed) => {
      this.#queue.push({ isDelivery: record.kind === 'delivery', frame, done, failed })
      this.#busy ??= this.#drain()
    })
  }

  /** One write for all that wait: what comes meanwhile goes with the next. */
  async #drain(): Promise<void> {
    // To the end of this turn: requests that arrived together are written together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0) {
      const batch = this.#queue
      this.#queue = []
      const bytes = Buffer.concat(batch.map(({ frame }) => frame))
      try {
        await writeWhole(this.#file, bytes, this.size)
      } catch (error) {
        this.#takeBack()
        for (const { failed } of batch) failed(error)
        continue
      }
      this.size += bytes.length
      this.#syncTimer ??= setTimeout(() => this.#sync(), SYNC_MS).unref()
      for (const { isDelivery, done } of batch) {
        if (isDelivery) this.#deliveries += 1
        done(`${this.#claim.segment}-${this.#deliveries}`)
      }
    }
    this.#busy = undefined
  }

  /** What a failed write has left is no record: nobody was told that it is there. */
  #takeBack(): void {
    try {
      ftruncateSync(this.#file, this.size)
    } catch {
      // The next write begins at the same place, and a reader stops where a frame is not whole.
    }
  }

  #sync(): void {
    this.#syncTimer = undefined
    fdatasync(this.#file, () => {})
  }

  async close(): Promise<void> {
    while (this.#busy !== undefined) await this.#busy
    clearTimeout(this.#syncTimer)
    await new Promise<void>((resolve) => fdatasync(this.#file, () => close(this.#file, () => resolve())))
  }

  release(): void {
    this.#claim.release()
  }
}

async function writeWhole(file: number, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += await new Promise<number>((resolve, reject) => {
      write(file, bytes, done, bytes.length - done, at + done, (error, written) =>
        error === null ? resolve(written) : reject(error),
      )
    })
  }
}
