import { Worker } from 'node:worker_threads'

export interface JqRun {
  /** A JSON document a line. */
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

type JqOutcome = JqRun | 'aborted' | 'out of memory'

/** jq 1.8 as WebAssembly, without files and environment, in a thread: one without end can be stopped. One run at a time. */
export class JqThread {
  #worker: Worker | undefined

  /** @param input JSON documents, one after another; without any, an expression is compiled and nothing of it runs */
  run(expression: string, input: string | Uint8Array, signal: AbortSignal): Promise<JqOutcome> {
    if (signal.aborted) return Promise.resolve('aborted')
    // What it says when it runs out of memory is not for this stderr.
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

  /** After an abort of its memory an instance is of no more use: the next run makes another. */
  close(): void {
    const worker = this.#worker
    this.#worker = undefined
    worker?.on('error', () => {})
    void worker?.terminate()
  }
}

/** The first line of what jq says, without its name and without the place in a file that there is not. */
export function reasonIn(stderr: string): string {
  const [line = ''] = stderr.split('\n')
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?: /, '')
    .replace(/ at <top-level>,/, ',')
    .replace(/[.:]$/, '')
}
