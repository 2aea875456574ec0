import { Worker } from 'node:worker_threads'
import { escapeControls } from './encode.js'
import type { Failure } from './failure.js'
import { fail } from './failure.js'

export interface Filtered {
  /** One a line: strings as they are, anything else as JSON. */
  readonly results: readonly string[]
  /** What the filter itself said on its stderr (`debug`). */
  readonly remarks: string
  readonly failure?: Failure
}

interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/** `--jq`: jq 1.8 as WebAssembly, without files and environment. */
export class JqFilter {
  readonly #expression: string
  readonly #signal: AbortSignal
  #worker: Worker | undefined

  constructor(expression: string, signal: AbortSignal) {
    this.#expression = expression
    this.#signal = signal
  }

  /** What is wrong with the expression: it is compiled, and without an input nothing of it runs. */
  async check(): Promise<Failure | undefined> {
    const ran = await this.#run('')
    if ('ok' in ran) return ran
    if (ran.exitCode === 0) return undefined
    return fail('JQ_INVALID', `--jq is no valid filter: ${reasonIn(ran.stderr)}.`, 'Nothing was sent.')
  }

  /** Runs the filter on each of the documents. */
  async apply(documents: readonly string[]): Promise<Filtered> {
    const ran = await this.#run(documents.join('\n'))
    if ('ok' in ran) return { results: [], remarks: '', failure: ran }
    const { stdout, stderr, exitCode } = ran
    const results = stdout.split('\n').filter((it) => it !== '')
    return {
      results: results.map((it) => (it.startsWith('"') ? (JSON.parse(it) as string) : escapeControls(it))),
      remarks: exitCode === 0 ? stderr : '',
      ...(exitCode === 0 ? {} : { failure: fail('JQ_FAILED', `--jq failed: ${withoutValues(reasonIn(stderr))}.`) }),
    }
  }

  #run(input: string): Promise<Ran | Failure> {
    if (this.#signal.aborted) return Promise.resolve(interrupted())
    this.#worker ??= new Worker(new URL('./jq-worker.cjs', import.meta.url), {
      workerData: this.#expression,
      // What it says when it runs out of memory is not for this stderr.
      stdout: true,
      stderr: true,
    })
    const worker = this.#worker
    return new Promise((resolve) => {
      const settle = (result: Ran | Failure) => {
        worker.off('message', settle)
        worker.off('error', lose)
        this.#signal.removeEventListener('abort', interrupt)
        worker.unref()
        resolve(result)
      }
      /** After an abort of its memory an instance is of no more use. */
      const end = (failure: Failure) => {
        this.#worker = undefined
        worker.on('error', () => {})
        void worker.terminate()
        settle(failure)
      }
      const interrupt = () => end(interrupted())
      const lose = () => end(fail('JQ_FAILED', '--jq ran out of memory.', 'Make the result smaller with --fields.'))
      this.#signal.addEventListener('abort', interrupt)
      worker.on('message', settle)
      worker.on('error', lose)
      worker.ref()
      worker.postMessage(input)
    })
  }
}

const interrupted = () => fail('ABORTED', 'The filter was interrupted.')

/** The first line of what jq says, without its name and without the place in a file that there is not. */
function reasonIn(stderr: string): string {
  const [line = ''] = stderr.split('\n')
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?: /, '')
    .replace(/ at <top-level>,/, ',')
    .replace(/[.:]$/, '')
}

/** jq quotes the value that does not suit, which may be a secret: of it the type stays. */
const withoutValues = (reason: string) => reason.replace(/ \(.*?\)(?=$| and | cannot)/g, '')
