import type { CapturedExchange } from '../../../contract/platform/activity.js'
import type { Entry } from './activity-log.js'
import { isSuccess } from './filter.js'
import { duration, relative } from './format.js'

/** Who acts: a program by a call, the platform, or the receiver of a webhook by its response. */
export const lanes = ['call', 'platform', 'receiver'] as const

/** Something that happened, or will happen, to a voucher, a delivery or a chat. */
export interface AxisItem {
  readonly at: string
  readonly lane: (typeof lanes)[number]
  readonly title: string
  readonly tone?: 'good' | 'warn' | 'bad' | 'note'
  readonly isFuture?: true
  /** Id of the record that the title opens. */
  readonly id?: string
  /** HTTP status; null if no response arrived. */
  readonly status?: number | null
  readonly state?: string
  readonly fault?: string | undefined
  readonly note?: string
  /** Names with values, shown on demand. */
  readonly facts?: readonly (readonly [name: string, value: string | null])[]
  /** Shown on demand. */
  readonly messages?: readonly CapturedMessage[]
}

export interface CapturedMessage {
  readonly title: string
  readonly message: Pick<CapturedExchange['request'], 'headers' | 'body' | 'body_bytes'>
}

/** A chain of causes, each item in a lane further to the right. */
export type AxisRow = readonly AxisItem[]

/** Maximum ms between a call and the update that it causes. */
export const SOON_MS = 1000

export const msBetween = (from: string, to: string): number => Date.parse(to) - Date.parse(from)

/** A message that may not have been captured. */
export const captured = (title: string, message?: CapturedMessage['message'] | null): CapturedMessage[] =>
  message ? [{ title, message }] : []

/** Puts an item before the first row, which it caused. */
export const joined = (cause: AxisItem, [first = [], ...others]: readonly AxisRow[]): readonly AxisRow[] => [
  [cause, ...first],
  ...others,
]

/** A call of the log. */
export function callItem(entry: Entry): AxisItem {
  const { id, type: title, at, status, code, fault, ms } = entry
  const { request, response } = entry.line.exchange ?? {}
  const messages = [...captured('Request', request), ...captured('Response', response)]
  const note = `${code ?? ''} ${duration(ms)}`.trim()
  return { at, lane: 'call', title, tone: isSuccess(entry) ? 'good' : 'bad', id, status, fault, note, messages }
}

/** Sorts rows by the time of their first item, with the time since the previous row in words. */
export function inOrder(rows: readonly AxisRow[]) {
  const sorted = rows.map((row) => ({ at: row[0]?.at ?? '', row })).sort((a, b) => msBetween(b.at, a.at))
  return sorted.map((it, index) => ({ ...it, gap: gapOf(it.at, sorted[index - 1]?.at) }))
}

function gapOf(at: string, before = at): string {
  const later = relative(at, Date.parse(before))
  return later === 'now' ? '' : `(${later.slice(3)} later)`
}
