import type { ActivityLine, StateChange } from '../../../contract/platform/activity.js'
import type { FaultKind } from '../../../contract/platform/fault-kinds.js'

type Shown = Extract<ActivityLine, { kind: 'request' | 'delivery' }>

/** A request or a delivery attempt, with the members for lists and filters. */
export interface Entry {
  /** Identifies the entry; a restarted stream repeats the same key. */
  readonly key: string
  readonly kind: Shown['kind']
  /** Id of the request or the delivery. */
  readonly id: string
  readonly at: string
  /** Contract id of the request, or update type of the delivery. */
  readonly type: string
  readonly status: number | null
  /** Failure code of the request, or error code or reason of the delivery. */
  readonly code: string | null
  /** Application of the request, or bot of the delivery. */
  readonly owner: string | null
  readonly voucher: string | null
  readonly replayed: boolean
  /** Kind of the planted fault that affected it. */
  readonly fault: FaultKind | undefined
  /** True for a call of the operator API. */
  readonly isOfOperator: boolean
  readonly ms: number
  line: Shown
}

/** Maximum number of entries in the page. */
export const ENTRIES_MAX = 10_000
/** Maximum characters of bodies in the page, in base64; the oldest bodies are dropped first. */
export const BODIES_MAX = 32 * 1024 * 1024

export function entryOf(line: Shown): Entry {
  const { status, voucher_id: voucher, fault, duration_ms: ms } = line.kind === 'request' ? line.request : line.delivery
  const common = { kind: line.kind, status, voucher, fault, ms, line }
  if (line.kind === 'request') {
    const it = line.request
    return {
      ...common,
      key: `r ${it.request_id}`,
      id: it.request_id,
      at: it.time,
      type: it.endpoint ?? line.exchange?.request.url ?? it.path ?? 'unknown path',
      code: it.code,
      owner: it.application_id,
      replayed: it.replayed,
      isOfOperator: it.path?.startsWith('/_platform/') ?? false,
    }
  }
  const it = line.delivery
  return {
    ...common,
    key: `d ${it.delivery_id} ${it.attempt} ${it.at}`,
    id: it.delivery_id,
    at: it.at,
    type: it.update_type ?? 'unknown type',
    code: it.error?.code ?? it.reason ?? (it.verdict === 'duplicate' ? it.verdict : null),
    owner: it.bot_id,
    replayed: it.replay,
    isOfOperator: false,
  }
}

/** True for a change after which nothing of the earlier state is true. */
export const isReplacement = (what: StateChange) => what === 'reset' || what === 'restore'

const bodyLength = ({ line: { exchange } }: Entry) =>
  (exchange?.request.body?.length ?? 0) + (exchange?.response?.body?.length ?? 0)

/** Entries in order of arrival, limited in number and in total length of bodies. */
export class ActivityLog {
  entries: Entry[] = []
  /** Number of lines that the server dropped in bursts. */
  omitted = 0
  readonly #byKey = new Map<string, Entry>()
  #bodies = 0
  /** Index of the oldest entry that may still have bodies. */
  #oldestBody = 0

  /** Adds a line. Returns the entry of a request or a delivery. */
  add(line: ActivityLine): Entry | undefined {
    if (line.kind === 'omitted') this.omitted += line.count
    else if (line.kind === 'state' && isReplacement(line.what)) this.clear()
    if (line.kind !== 'request' && line.kind !== 'delivery') return undefined
    const entry = entryOf(line)
    this.#add(entry)
    return entry
  }

  #add(entry: Entry): void {
    if (this.#byKey.has(entry.key)) return
    this.#byKey.set(entry.key, entry)
    this.entries.push(entry)
    this.#bodies += bodyLength(entry)
    while (this.#bodies > BODIES_MAX) this.#dropBodies()
    // Remove many at a time: each removal moves all other entries.
    if (this.entries.length > ENTRIES_MAX * 1.1) this.#dropOldest(this.entries.length - ENTRIES_MAX)
  }

  #dropBodies(): void {
    const entry = this.entries[this.#oldestBody++]
    if (entry === undefined) return
    this.#bodies -= bodyLength(entry)
    const { exchange } = entry.line
    if (exchange === null) return
    const { request, response } = exchange
    entry.line = {
      ...entry.line,
      exchange: { request: { ...request, body: null }, response: response && { ...response, body: null } },
    }
  }

  #dropOldest(count: number): void {
    for (const entry of this.entries.slice(0, count)) {
      this.#byKey.delete(entry.key)
      this.#bodies -= bodyLength(entry)
    }
    this.entries = this.entries.slice(count)
    this.#oldestBody = Math.max(0, this.#oldestBody - count)
  }

  clear(): void {
    this.entries = []
    this.#byKey.clear()
    this.#bodies = 0
    this.#oldestBody = 0
    this.omitted = 0
  }

  request(id: string): Entry | undefined {
    return this.#byKey.get(`r ${id}`)
  }
}
