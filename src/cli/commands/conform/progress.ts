import type { ProbeResult } from '../../../conform/result.js'
import type { Context } from '../../command/context.js'
import { showLiveLine } from '../../output/live-line.js'

/** Shows on stderr how many probes have a result. Returns a function that ends the display. */
export function showProgress(context: Context, results: readonly ProbeResult[], total: number): () => void {
  return showLiveLine(context, (columns) => {
    const differ = results.filter((it) => it.result === 'differs').length
    const last = results.at(-1)?.probe ?? ''
    return `${results.length} of ${total} probes, ${differ} differ  ${last}`.slice(0, columns)
  })
}
