import { Worker } from 'node:worker_threads'
import { escapeControls } from '../../files/yaml-text.js'
import { type Failure, fail } from '../failures/failure.js'

interface JqRun {
  /** Results as JSON documents, one per line. */
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

type JqOutcome = JqRun | 'aborted' | 'not started' | 'out of memory'

/** Runs jq 1.8 (WebAssembly, without files and environment) in a thread, so that an endless filter can be stopped. */
export class JqThread {
  #worker: Worker | undefined

  /** Runs one expression at a time. @param input JSON documents; if empty, jq only compiles the expression */
  run(expression: string, input: string | Uint8Array, signal: AbortSignal): Promise<JqOutcome> {
    if (signal.aborted) return Promise.resolve('aborted')
    // Capture the worker's stdout and stderr: V8 prints a report there when the worker runs out of memory.
    this.#worker ??= new Worker(new URL('./jq-worker.cjs', import.meta.url), { stdout: true, stderr: true })
    const worker = this.#worker
    return new Promise((resolve) => {
      const settle = (outcome: JqOutcome) => {
        worker.off('message', settle).off('error', exhausted)
        signal.removeEventListener('abort', interrupt)
        if (typeof outcome === 'string') this.close()
        else worker.unref()
        resolve(outcome)
      }
      const interrupt = () => settle('aborted')
      const exhausted = () => settle('out of memory')
      signal.addEventListener('abort', interrupt)
      worker.on('message', settle).on('error', exhausted)
      worker.ref()
      worker.postMessage({ expression, input })
    })
  }

  /** Ends the thread; the next call of `run` starts another one. */
  close(): void {
    const worker = this.#worker
    this.#worker = undefined
    worker?.on('error', () => {})
    void worker?.terminate()
  }
}

/** Extracts the first line of a jq error, without its prefix and position. */
export function reasonIn(stderr: string): string {
  const [line = ''] = stderr.split('\n')
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?: /, '')
    .replace(/ at <top-level>,/, ',')
    .replace(/[.:]$/, '')
}

interface FilterResult {
  /** Results of the filter as lines: texts without quotes, other values as JSON. */
  readonly results: readonly string[]
  /** Text that the filter printed to stderr, with jq's `debug`. */
  readonly remarks: string
  readonly failure?: Failure
}

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
    return fail('JQ_INVALID', `Invalid --jq filter: ${reasonIn(ran.stderr)}.`, 'Nothing was sent.')
  }

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
    if (ran === 'not started') return jqNotStarted()
    return ran === 'out of memory' ? jqOutOfMemory() : ran
  }
}

export const jqNotStarted = () =>
  fail('JQ_NOT_STARTED', 'jq needs 12 GB of address space, and a limit (`ulimit -v`) is lower.', NOT_STARTED_HINT)

const NOT_STARTED_HINT =
  'Set NODE_OPTIONS=--disable-wasm-trap-handler, or use --fields, or pipe the JSON to the program jq.'

export const jqOutOfMemory = () =>
  fail(
    'JQ_FAILED',
    '--jq ran out of memory.',
    'Make the result smaller with --fields, or filter each item of a list by itself with -o jsonl.',
  )

/** Removes values from jq's error, because they may be secrets; only their types remain. */
const withoutValues = (reason: string) => reason.replace(/ \(.*?\)(?=$| and | cannot)/g, '')
