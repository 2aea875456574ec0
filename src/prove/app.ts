import { request } from 'node:http'
import { pause } from '../files/pause.js'
import { CannotProve, endingOf, shownOutput } from './cannot-prove.js'
import type { Exit, Start, Started } from './process.js'

/** Time in which an app must respond with 2xx after its start. */
const READY_MS_MAX = 15_000
const POLL_MS = 20

export interface AppOptions {
  readonly start: Start
  /** Address that responds with 2xx when the app is ready. */
  readonly ready: URL
}

/** The program that runs beside the action. */
export class App {
  readonly #options: AppOptions
  #started: Started | undefined
  #isKilled = false
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: AppOptions) {
    this.#options = options
  }

  /**
   * Starts the app unless it runs; resolves to false if it is not ready in time, to its end if it has ended.
   * @param env made for each start
   */
  start(env: () => Record<string, string>, signal: AbortSignal): Promise<boolean | Exit> {
    return this.#afterOthers(() => this.#start(env, signal))
  }

  async #start(env: () => Record<string, string>, signal: AbortSignal): Promise<boolean | Exit> {
    if (this.#started !== undefined && !this.#isKilled) return true
    const { start, ready } = this.#options
    await this.#stop()
    if ((await statusOf(ready)) !== undefined) {
      const hint = 'End the program that uses this port, or choose another port for the app.'
      throw new CannotProve(`Something else responds at ${ready.href}, before the app was started.`, hint)
    }
    const started = start(env())
    this.#started = started
    this.#isKilled = false
    let exit: Exit | undefined
    void started.ended.then((it) => {
      exit = it
    })
    const deadline = performance.now() + READY_MS_MAX
    for (;;) {
      const status = (await statusOf(ready)) ?? 0
      if (status >= 200 && status < 300) return true
      if (exit !== undefined) return exit
      if (performance.now() > deadline || signal.aborted) return false
      await pause(POLL_MS, signal)
    }
  }

  freeze(): void {
    this.#started?.freeze?.()
  }

  kill(): void {
    this.#isKilled = true
    this.#started?.kill?.()
  }

  /** Ends the app; resolves to what it printed, or undefined if it did not run. */
  stop(): Promise<Exit | undefined> {
    return this.#afterOthers(() => this.#stop())
  }

  async #stop(): Promise<Exit | undefined> {
    const started = this.#started
    this.#started = undefined
    started?.kill?.()
    return started?.ended
  }

  /** Starts and stops one after the other: a killed app is started again during the run. */
  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  /** The failure of a first start. */
  refusal(result: false | Exit, secrets: Readonly<Record<string, string>>): CannotProve {
    const why =
      result === false ? `does not respond with 2xx within ${READY_MS_MAX / 1000} s` : `ended with ${endingOf(result)}`
    const output = result === false ? '' : shownOutput(result, secrets)
    const hint = 'Check --app, its port, and that --ready names an address that responds with 2xx.'
    return new CannotProve(`The app ${why} (${this.#options.ready.href}).${output}`, hint)
  }
}

/** Resolves to the status of a GET; undefined without a response. */
function statusOf(url: URL): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { agent: false, timeout: 1_000 }, (response) => {
      resolve(response.statusCode)
      response.destroy()
    })
    sent
      .once('timeout', () => sent.destroy())
      .once('error', () => resolve(undefined))
      .end()
  })
}
