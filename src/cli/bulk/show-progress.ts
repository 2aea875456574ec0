import type { Context } from '../command/context.js'
import { showLiveLine } from '../output/live-line.js'
import { numberText } from '../output/text.js'
import type { Throttle } from './throttle.js'

/** Numbers of rows by outcome so far. */
export interface Counters {
  /** Number of rows in the input: known in advance for a file, null for a pipe until it ends. */
  total: number | null
  /** Rows in the results of earlier runs, counted before they are skipped. */
  readonly earlier: number
  /** Rows that the server processed in this run. */
  done: number
  /** Rows with a replayed response: the response to an earlier call did not reach the results file. */
  replayed: number
  /** Rows with a result of an earlier run. */
  skipped: number
  failed: number
  /** Failed rows by code. */
  readonly failures: Map<string, number>
  /** Number of results, even of earlier runs, by the value that the command tallies. */
  readonly tallied: Map<string, number>
}

/** Counters of a progress line. */
type ProgressCounts = Readonly<Omit<Counters, 'failures' | 'tallied'>>

export const processedOf = ({ done, replayed, skipped, failed }: ProgressCounts) => done + replayed + skipped + failed

/** Milliseconds over which the displayed rate is averaged. */
const RATE_MS = 5_000
/** Milliseconds over which the remaining time is estimated; long enough to include pauses of a rate limit. */
const ESTIMATE_MS = 60_000
/** Milliseconds without an estimate: the first responses wait for connections and are not typical. */
const WARM_UP_MS = 3_000

/** Shows the progress of a run on stderr. Returns a function that ends the display. */
export function showProgress(
  context: Context,
  counters: ProgressCounts,
  throttle: Pick<Throttle, 'pauseMs'>,
): () => void {
  const speed = new Speed(() => performance.now())
  return showLiveLine(context, (columns) => {
    const { done, replayed, failed } = counters
    const rates = speed.measure(done + replayed + failed)
    return progressLine({ counters, ...rates, pauseMs: throttle.pauseMs }, columns)
  })
}

interface Rates {
  /** Responses per second over the last seconds. */
  readonly perSecond: number
  /** Responses per second, to estimate the remaining time; 0 while there are too few samples. */
  readonly estimated: number
}

/** Measures the responses per second, from the first response on. */
export class Speed {
  readonly #now: () => number
  #samples: { readonly at: number; readonly count: number }[] = []

  constructor(monotonicMs: () => number) {
    this.#now = monotonicMs
  }

  /** @param count number of responses so far */
  measure(count: number): Rates {
    if (count === 0) return { perSecond: 0, estimated: 0 }
    const last = { at: this.#now(), count }
    this.#samples.push(last)
    while (last.at - (this.#samples[1]?.at ?? last.at) > ESTIMATE_MS) this.#samples.shift()
    const [first = last] = this.#samples
    // Start with the last sample before the period, to cover all of it; at the start with the first one.
    const at = this.#samples.findIndex((it) => last.at - it.at <= RATE_MS)
    const recent = this.#samples[Math.max(0, at - 1)] ?? last
    const since = (start: typeof last) =>
      last.at === start.at ? 0 : ((count - start.count) * 1000) / (last.at - start.at)
    return { perSecond: since(recent), estimated: last.at - first.at < WARM_UP_MS ? 0 : since(first) }
  }
}

interface BulkProgress extends Rates {
  readonly counters: ProgressCounts
  /** Milliseconds that remain of a pause after a 429; 0 without a pause. */
  readonly pauseMs: number
}

const BAR_LONGEST = 30
/** Formats one line within the columns: rows done and total, percentage, bar, rate, time left, failures. */
export function progressLine({ counters, perSecond, estimated, pauseMs }: BulkProgress, columns: number): string {
  const { total, failed, skipped, earlier } = counters
  const done = processedOf(counters)
  // Rows of earlier runs are skipped without a call.
  const left = (total ?? 0) - done - Math.max(0, earlier - skipped)
  const share = total === null || total === 0 ? undefined : done / total
  const before = total === null ? `${numberText(done)} rows` : `${numberText(done)} of ${numberText(total)} rows`
  const behind = [
    ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`]),
    pauseMs > 0 ? `the server asks to wait ${inWords(pauseMs)}` : `${numberText(Math.round(perSecond))}/s`,
    ...(total === null || estimated === 0 || pauseMs > 0 ? [] : [`${inWords((left / estimated) * 1000)} left`]),
    ...(failed === 0 ? [] : [`${numberText(failed)} failed`]),
  ].join('  ')
  const room = Math.min(BAR_LONGEST, columns - before.length - behind.length - 4)
  return `${before}  ${share === undefined || room < 5 ? '' : `${barOf(share, room)}  `}${behind}`.slice(0, columns)
}

function barOf(share: number, width: number): string {
  const full = Math.floor(share * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** Formats a duration, such as `4 s`, `3 min 20 s` or `2 h 5 min`. */
export function inWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
