import type { ProbeResult } from '../../../conform/result.js'
import type { Context } from '../../command/context.js'

const FRAME_MS = 200
/** Ms between lines without a terminal, as in logs of CI. */
const LINE_MS = 10_000
const CLEAR_LINE = '\r\u001b[K'

/** Shows on stderr how many probes have a result. */
export function showProgress(
  { host, output, globals }: Context,
  results: readonly ProbeResult[],
  total: number,
): { end(): void } {
  const { stderr, env } = host
  const isTerminal = stderr.isTTY === true
  // A script's stderr holds only the error object.
  if (globals.quiet || (!isTerminal && output.isJson)) return { end() {} }
  const redraws = isTerminal && env.TERM !== 'dumb' && !globals.debug
  const show = () => {
    const differ = results.filter((it) => it.result === 'differs').length
    const last = results.at(-1)?.probe ?? ''
    const line = `${results.length} of ${total} probes, ${differ} differ  ${last}`.slice(0, (stderr.columns || 80) - 3)
    stderr.write(redraws ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }
  const timer = setInterval(show, redraws ? FRAME_MS : LINE_MS)
  return {
    end() {
      clearInterval(timer)
      if (redraws) stderr.write(CLEAR_LINE)
    },
  }
}
