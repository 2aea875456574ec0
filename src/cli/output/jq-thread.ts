import { Worker } from 'node:worker_threads'

export interface JqRun {
  /** Results as JSON documents, one per line. */
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

type JqOutcome = JqRun | 'aborted' | 'out of memory'

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
