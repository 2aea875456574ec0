import type { Tally } from './counters.js'
import { doneOf } from './counters.js'

/** What the line is made from. */
export interface Progress {
  readonly tally: Readonly<Tally>
  /** Rows that were answered in a second, of late. */
  readonly perSecond: number
  /** Milliseconds that the server asks to wait. */
  readonly pauseMs: number
}

const BAR_LONGEST = 30
const number = (it: number) => it.toLocaleString('en-US')

/** One line of at most so many columns: done and total, share, bar, rate, time left, what failed. */
export function progressLine({ tally, perSecond, pauseMs }: Progress, columns: number): string {
  const { total, failed } = tally
  const done = doneOf(tally)
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

/** `4 s`, `3 min 20 s`, `2 h 5 min`. */
export function inWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
