import type { Context } from '../../../command/context.js'
import type { Throttle } from './throttle.js'

/** Numbers of rows by outcome so far. */
export interface Counters {
  /** Number of rows in the input: known in advance for a file, null for a pipe until it ends. */
  total: number | null
  /** Rows for which the server issued a new voucher. */
  issued: number
  /** Rows whose voucher an earlier call had issued, but whose response did not reach the results file. */
  replayed: number
  /** Rows whose voucher an earlier run has written to the results file. */
  skipped: number
  failed: number
}

export const doneOf = ({ issued, replayed, skipped, failed }: Counters) => issued + replayed + skipped + failed

const FRAME_MS = 200
/** Milliseconds between progress lines without a terminal, as in CI logs. */
const LINE_MS = 10_000
/** Milliseconds over which the displayed rate is averaged. */
const RATE_MS = 5_000
/** Columns left free for the `^C` that a terminal prints, so that the progress line does not wrap. */
const MARGIN = 3
const CLEAR_LINE = '\r\u001b[K'

/** Shows the progress of a run on stderr. Returns a function that ends the display. */
export function showProgress(
  { host, output, globals }: Context,
  counters: Readonly<Counters>,
  throttle: Pick<Throttle, 'pauseMs'>,
): () => void {
  const { stderr, env } = host
  const isTerminal = stderr.isTTY === true
  // Show nothing for a script: its stderr must hold only the error object.
  if (globals.quiet || (!isTerminal && output.isJson)) return () => {}
  const redraws = isTerminal && env.TERM !== 'dumb' && !globals.debug
  const rate = rateOf()
  const show = () => {
    const { issued, replayed, failed } = counters
    const perSecond = rate(issued + replayed + failed)
    const line = progressLine({ counters, perSecond, pauseMs: throttle.pauseMs }, (stderr.columns ?? 80) - MARGIN)
    stderr.write(redraws ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }
  const timer = setInterval(show, redraws ? FRAME_MS : LINE_MS)
  return () => {
    clearInterval(timer)
    if (redraws) stderr.write(CLEAR_LINE)
  }
}

/** Returns a function that measures the rows per second over the last RATE_MS. */
function rateOf(): (count: number) => number {
  const samples = [{ at: performance.now(), count: 0 }]
  return (count) => {
    const at = performance.now()
    samples.push({ at, count })
    while (samples.length > 2 && at - (samples[1]?.at ?? at) > RATE_MS) samples.shift()
    const first = samples[0] ?? { at, count }
    return at === first.at ? 0 : ((count - first.count) * 1000) / (at - first.at)
  }
}

interface BulkProgress {
  readonly counters: Readonly<Counters>
  /** Responses per second over the last seconds. */
  readonly perSecond: number
  /** Milliseconds that remain of a pause after a 429; 0 without a pause. */
  readonly pauseMs: number
}

const BAR_LONGEST = 30
const number = (it: number) => it.toLocaleString('en-US')

/** Formats one line within the columns: rows done and total, percentage, bar, rate, time left, failures. */
export function progressLine({ counters, perSecond, pauseMs }: BulkProgress, columns: number): string {
  const { total, failed } = counters
  const done = doneOf(counters)
  const share = total === null || total === 0 ? undefined : done / total
  const before = total === null ? `${number(done)} rows` : `${number(done)} of ${number(total)} rows`
  const behind = [
    ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`]),
    pauseMs > 0 ? `the server asks to wait ${inWords(pauseMs)}` : `${number(Math.round(perSecond))}/s`,
    ...(total === null || perSecond === 0 || pauseMs > 0
      ? []
      : [`${inWords(((total - done) / perSecond) * 1000)} left`]),
    ...(failed === 0 ? [] : [`${number(failed)} failed`]),
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
