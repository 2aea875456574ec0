import { cpuUsage } from 'node:process'
import type { Readable } from 'node:stream'
import { endpointOf } from '../../contract/index.js'
import type { ActivityLine, DeliveryActivity, RequestLogEntry, StateChange } from '../../contract/platform/activity.js'
import { isOpenEndpoint } from '../../contract/secure.js'
import { formatInstant } from '../../domain/time.js'
import { Followers } from '../../inspector/line-stream.js'
import { deliveryActivity, type MadeAttempt } from '../delivery/attempt-log.js'
import { BurstLimit } from './burst-limit.js'
import { type Captured, type CapturedCall, exchangeOf, sizeOf } from './exchange.js'
import { FailureCounts } from './failure-counts.js'
import { SecretNumbers } from './secret-numbers.js'
import { StateChanges } from './state-changes.js'

/** Number of newest lines that the activity keeps, and of failures before them. */
const KEPT = 1_000
/** Maximum bytes of captured exchanges in memory; the oldest are dropped first. */
const CAPTURED_BYTES = 16 * 1024 * 1024

/** True for requests by which health checks, pages and commands watch the server, or whose effect has its own line. */
function isWatching({ endpoint: id, method }: RequestLogEntry): boolean {
  const endpoint = endpointOf(id)
  // Routes outside of the contract watch the server, except the encrypted transport, which serves programs under test.
  if (endpoint === undefined) return id !== null && !isOpenEndpoint(id)
  return endpoint.unlisted === true || (endpoint.caller === 'operator' && method === 'GET')
}

export const isFailedCall = ({ status, code }: Pick<RequestLogEntry, 'status' | 'code'>) =>
  status >= 400 || code !== null

type Event =
  | { readonly kind: 'request'; readonly entry: RequestLogEntry }
  | { readonly kind: 'delivery'; readonly delivery: DeliveryActivity }
  | { readonly kind: 'state'; readonly what: StateChange; readonly at: number }
  | { readonly kind: 'omitted'; readonly count: number }
  | { readonly kind: 'live' }
export type RequestItem = Item & { readonly kind: 'request' }
type Item = Event & { readonly seq: number; captured: Captured | null }

const isCall = (it: Item): boolean => it.kind === 'request'

const isFailure = (it: Item): boolean =>
  it.kind === 'request' ? isFailedCall(it.entry) : it.kind === 'delivery' && it.delivery.error !== null

interface StreamOptions {
  readonly follow: boolean
  readonly bodies: boolean
  /** True to replace each secret by its own name. */
  readonly names?: boolean
}
type NameOf = SecretNumbers['nameOf']

interface ActivityOptions {
  /** Time of the server's clock, ms since 1970. */
  readonly now: () => number
  /** CPU time of this process, ms: a pause of the process is no work for an exchange. */
  readonly cpuMs?: () => number
  /** True to capture exchanges even without a reader. */
  readonly inspect?: boolean
}

/** Recent and live activity of the server (rules/operator.md#activity). */
export class Activity {
  /** Called after each request. */
  onRequest = (_item: RequestItem) => {}
  /** Failed calls, except those that watch the server. */
  readonly failures: FailureCounts
  readonly #now: () => number
  readonly #cpuMs: () => number
  readonly #inspect: boolean
  #items: Item[] = []
  #seq = 0
  #capturedBytes = 0
  /** Items before this index of `#items` no longer have their exchange. */
  #evicted = 0
  readonly #followers = new Followers<Item>()
  readonly #names = new SecretNumbers()
  #readers = 0
  /** Readers that need each exchange, because they ask for names of secrets. */
  #recorders = 0
  readonly #burst = new BurstLimit((count, seq) => this.#followers.add({ kind: 'omitted', count, seq, captured: null }))
  readonly #changes = new StateChanges(
    (what) => this.#addChange(what),
    () => this.#followers.size > 0,
  )

  constructor({ now, cpuMs = () => cpuUsage().user / 1000, inspect = false }: ActivityOptions) {
    this.#now = now
    this.failures = new FailureCounts(now)
    this.#cpuMs = cpuMs
    this.#inspect = inspect
  }

  /**
   * True if the exchange of a call must be captured: a reader follows, or the server was started with `inspect`. A
   * recorder reads again what a burst left out.
   */
  captures(isFailure: boolean): boolean {
    if (this.#inspect || this.#recorders > 0) return true
    return this.#readers > 0 && this.#burst.hasLine(isFailure)
  }

  addRequest(entry: RequestLogEntry, captured: CapturedCall | null): void {
    if (isWatching(entry)) return
    const item: RequestItem = { kind: 'request', entry, seq: ++this.#seq, captured }
    this.#add(item)
    if (isFailedCall(entry)) this.failures.add(entry)
    this.onRequest(item)
    if (entry.status < 300 && endpointOf(entry.endpoint)?.review !== undefined) this.changed('reviews')
  }

  addDelivery(made: MadeAttempt): void {
    // The attempt contains a body of up to 1 MiB, so only `captured` may refer to the attempt.
    const delivery = deliveryActivity(made)
    this.#add({
      kind: 'delivery',
      delivery,
      seq: ++this.#seq,
      captured: this.captures(delivery.error !== null) ? made : null,
    })
  }

  /** Adds a line for a change; followers get one line for all changes of a window. */
  changed(what: StateChange): void {
    this.#changes.add(what)
  }

  /** Streams the stored lines; if `follow`, the stream stays open, and exchanges are captured meanwhile. */
  stream({ follow, bodies, names = false }: StreamOptions): Readable {
    const newest = this.#seq
    const nameOf = names ? (secret: string) => this.#names.nameOf(secret) : undefined
    const format = (it: Item) =>
      it.seq > newest ? this.#liveLine(it, bodies, nameOf) : JSON.stringify(lineOf(it, bodies, nameOf))
    // A recording needs lines without gaps.
    const stored = names ? this.#items.slice(-KEPT) : this.#kept()
    const live: Item = { kind: 'live', seq: newest, captured: null }
    const stream = this.#followers.stream(follow ? [...stored, live] : stored, follow, format)
    if (bodies && this.#followers.has(stream)) {
      this.#readers += 1
      if (names) this.#recorders += 1
      stream.once('close', () => {
        this.#readers -= 1
        if (names) this.#recorders -= 1
      })
    }
    return stream
  }

  /** Yields the lines that are stored now; names of secrets are valid only among them. @param ids lines with exchanges */
  *lines(ids?: ReadonlySet<string>): Generator<ActivityLine> {
    const names = new SecretNumbers()
    // Copies, because later lines evict exchanges.
    const stored = ids === undefined ? this.#items.slice(-KEPT) : this.#kept()
    for (const it of stored.map((item) => ({ ...item }))) {
      const id = it.kind === 'request' ? it.entry.request_id : it.kind === 'delivery' ? it.delivery.delivery_id : ''
      yield lineOf(it, ids?.has(id) ?? true, (secret) => names.nameOf(secret))
    }
  }

  /** Returns the stored requests, oldest first. */
  requests(): readonly RequestItem[] {
    return this.#items.slice(-KEPT).filter((it): it is RequestItem => it.kind === 'request')
  }

  /** Discards lines of a replaced state; followers stay. */
  clear(change: 'reset' | 'restore'): void {
    // Slow followers still refer to the items.
    for (const item of this.#items) this.#evict(item)
    this.#items = []
    this.#evicted = 0
    this.#names.clear()
    this.failures.clear()
    this.#addChange(change)
  }

  close(): void {
    this.#burst.close()
    this.#followers.close()
  }

  #addChange(what: StateChange): void {
    this.#add({ kind: 'state', what, at: this.#now(), seq: ++this.#seq, captured: null })
  }

  #add(item: Item): void {
    this.#items.push(item)
    if (item.captured !== null) this.#capturedBytes += sizeOf(item.captured)
    while (this.#capturedBytes > CAPTURED_BYTES) this.#evict(this.#items[this.#evicted++] as Item)
    if (this.#items.length >= 3 * KEPT) this.#dropOldest()
    if (this.#followers.size > 0) this.#send(item)
  }

  /** The newest lines, and failures before them: neither successes nor attempts, which are stored, displace a call. */
  #kept(): Item[] {
    const failures = this.#items.slice(0, -KEPT).filter(isFailure)
    const callsLast = failures.sort((one, other) => Number(isCall(one)) - Number(isCall(other)))
    return [...callsLast.slice(-KEPT).sort((one, other) => one.seq - other.seq), ...this.#items.slice(-KEPT)]
  }

  #dropOldest(): void {
    const kept = this.#kept()
    const stays = new Set(kept)
    for (const it of this.#items) if (!stays.has(it)) this.#evict(it)
    this.#items = kept
    this.#evicted = 0
  }

  #send(item: Item): void {
    if (item.kind !== 'state' && !this.#burst.take(item.seq, isFailure(item))) return
    this.#burst.reportOmitted()
    this.#followers.add(item)
  }

  #evict(item: Item): void {
    if (item.captured !== null) this.#capturedBytes -= sizeOf(item.captured)
    item.captured = null
  }

  /** Formats a line, without the exchange if the time for exchanges is spent. */
  #liveLine(item: Item, bodies: boolean, nameOf: NameOf | undefined): string {
    if (!bodies || !this.#burst.hasTime) return JSON.stringify(lineOf(item, false))
    const startedAt = this.#cpuMs()
    const line = JSON.stringify(lineOf(item, true, nameOf))
    this.#burst.spend(this.#cpuMs() - startedAt)
    return line
  }
}

function lineOf(item: Item, bodies: boolean, nameOf?: NameOf): ActivityLine {
  const { seq } = item
  if (item.kind === 'omitted') return { seq, kind: 'omitted', count: item.count }
  if (item.kind === 'live') return { seq, kind: 'live' }
  if (item.kind === 'state') return { seq, kind: 'state', what: item.what, at: formatInstant(item.at) }
  const exchange = bodies && item.captured !== null ? exchangeOf(item.captured, nameOf) : null
  if (item.kind === 'request') return { seq, kind: 'request', request: item.entry, exchange }
  return { seq, kind: 'delivery', delivery: item.delivery, exchange }
}
