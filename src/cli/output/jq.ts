import { type Failure, fail } from '../failures/failure.js'
import { escapeControls } from './encode.js'
import { type JqRun, JqThread, reasonIn } from './jq-thread.js'

interface FilterResult {
  /** Results of the filter as lines: texts without quotes, other values as JSON. */
  readonly results: readonly string[]
  /** What the filter printed to stderr, with jq's `debug`. */
  readonly remarks: string
  readonly failure?: Failure
}

/** The jq filter of the flag `--jq`. */
export class JqFilter {
  readonly #expression: string
  readonly #signal: AbortSignal
  readonly #thread = new JqThread()

  constructor(expression: string, signal: AbortSignal) {
    this.#expression = expression
    this.#signal = signal
  }

  /** Compiles the filter without running it. */
  async check(): Promise<Failure | undefined> {
    const ran = await this.#run('')
    if ('ok' in ran) return ran
    if (ran.exitCode === 0) return undefined
    return fail('JQ_INVALID', `--jq is no valid filter: ${reasonIn(ran.stderr)}.`, 'Nothing was sent.')
  }

  /** Runs the filter on each JSON document of the text. */
  async apply(documents: string | Uint8Array): Promise<FilterResult> {
    const ran = await this.#run(documents)
    if ('ok' in ran) return { results: [], remarks: '', failure: ran }
    const { stdout, stderr, exitCode } = ran
    const results = stdout.split('\n').filter((it) => it !== '')
    return {
      results: results.map((it) => (it.startsWith('"') ? (JSON.parse(it) as string) : escapeControls(it))),
      remarks: exitCode === 0 ? stderr : '',
      ...(exitCode === 0 ? {} : { failure: fail('JQ_FAILED', `--jq failed: ${withoutValues(reasonIn(stderr))}.`) }),
    }
  }

  async #run(input: string | Uint8Array): Promise<JqRun | Failure> {
    const ran = await this.#thread.run(this.#expression, input, this.#signal)
    if (ran === 'aborted') return fail('ABORTED', 'The filter was interrupted.')
    return ran === 'out of memory' ? jqOutOfMemory() : ran
  }
}

export const jqOutOfMemory = () =>
  fail(
    'JQ_FAILED',
    '--jq ran out of memory.',
    'Make the result smaller with --fields, or filter each item of a list by itself with -o jsonl.',
  )

/** Removes values from jq's error, because they may be secrets; only their types remain. */
const withoutValues = (reason: string) => reason.replace(/ \(.*?\)(?=$| and | cannot)/g, '')
