import type { Globals } from '../flags/globals.js'
import { columnsOf, type Host } from '../host/host.js'
import type { Output } from './output.js'

const FRAME_MS = 200
/** Milliseconds between lines without a terminal, as in CI logs. */
const LINE_MS = 10_000
/** Columns left free for the `^C` that a terminal prints, so that the line does not wrap. */
const MARGIN = 3
const CLEAR_LINE = '\r\u001b[K'

interface Surroundings {
  readonly host: Pick<Host, 'stderr' | 'env'>
  readonly output: Pick<Output, 'isJson'>
  readonly globals: Pick<Globals, 'quiet' | 'debug'>
}

/**
 * Shows a line on stderr that changes while a command runs: redrawn on a terminal, repeated elsewhere.
 * @param lineOf formats the line within a number of columns; empty if there is nothing to show yet
 * @returns a function that ends the display
 */
export function showLiveLine(
  { host: { stderr, env }, output, globals }: Surroundings,
  lineOf: (columns: number) => string,
): () => void {
  const isTerminal = stderr.isTTY === true
  // Show nothing for a script: its stderr must hold only the error object.
  if (globals.quiet || (!isTerminal && output.isJson)) return () => {}
  const redraws = isTerminal && env.TERM !== 'dumb' && !globals.debug
  const show = () => {
    const line = lineOf(columnsOf(stderr) - MARGIN)
    if (line !== '') stderr.write(redraws ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }
  const timer = setInterval(show, redraws ? FRAME_MS : LINE_MS)
  return () => {
    clearInterval(timer)
    if (redraws) stderr.write(CLEAR_LINE)
  }
}
