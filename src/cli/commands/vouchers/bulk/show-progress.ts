import type { Context } from '../../../command/context.js'
import type { Tally } from './counters.js'
import { progressLine } from './progress-line.js'
import type { Pace } from './throttle.js'

const FRAME_MS = 200
/** Without a terminal: a line now and then, so that the log of a job shows that it goes on. */
const LINE_MS = 10_000
/** The rate is of so many milliseconds. */
const RATE_MS = 5_000
/** What a terminal shows for Ctrl-C still fits on the line, so that it is taken away with it. */
const MARGIN = 3
const CLEAR_LINE = '\r\u001b[K'

/** Shows on stderr how far a run is, until the function that it answers is called. */
export function showProgress(
  { host, output, globals }: Context,
  tally: Readonly<Tally>,
  pace: Pick<Pace, 'pauseMs'>,
): () => void {
  const { stderr, env } = host
  const isTerminal = stderr.isTTY === true
  // The error object of a script stands alone on stderr.
  if (globals.quiet || (!isTerminal && output.isJson)) return () => {}
  const redraws = isTerminal && env.TERM !== 'dumb' && !globals.debug
  const rate = rateOf()
  const show = () => {
    const { issued, replayed, failed } = tally
    const perSecond = rate(issued + replayed + failed)
    const line = progressLine({ tally, perSecond, pauseMs: pace.pauseMs }, (stderr.columns ?? 80) - MARGIN)
    stderr.write(redraws ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }
  const timer = setInterval(show, redraws ? FRAME_MS : LINE_MS)
  return () => {
    clearInterval(timer)
    if (redraws) stderr.write(CLEAR_LINE)
  }
}

/** How many a second, over the last seconds. */
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
