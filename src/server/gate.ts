import { type Refusal, refuse } from '../contract/errors.js'
import { IDEMPOTENCY_WAIT_MS, type IdempotencyKey } from '../domain/idempotency.js'
import { StoreUnavailable } from '../store/store.js'

/** Maximum ms that a call waits for a reset or restore. Most take milliseconds, one of a large state up to a minute. */
const WAIT_MS_MAX = 2_000

/**
 * Runs calls concurrently, and a reset or restore only while no call runs. Calls that arrive meanwhile wait for a short
 * time; after that, they and later calls are refused.
 */
export class Gate {
  readonly #waitMsMax: number
  #refuses = false
  #running = 0
  /** Resolves when the gate may be open again; the caller must then check again. Null while the gate is open. */
  #closed: Promise<void> | null = null
  #drained: (() => void) | undefined
  #last: Promise<unknown> = Promise.resolve()
  /** Changes with each reset and restore; data read before a change may be outdated. */
  generation = 0

  constructor(waitMsMax = WAIT_MS_MAX) {
    this.#waitMsMax = waitMsMax
  }

  /** Runs a call as soon as the gate is open. @throws StoreUnavailable if it stays closed */
  async run<T>(call: () => Promise<T>): Promise<T> {
    while (this.#closed !== null) {
      if (this.#refuses) throw new StoreUnavailable('the state is being replaced')
      await this.#closed
    }
    this.#running += 1
    try {
      return await call()
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#drained?.()
    }
  }

  /**
   * Runs `work` while no call runs, after all earlier work of the gate.
   * @param endWaitingCalls called after the gate has closed, to end calls that only wait
   */
  runExclusive<T>(work: () => Promise<T>, endWaitingCalls: () => void): Promise<T> {
    return this.queue(() => this.#closeAndRun(work, endWaitingCalls))
  }

  /** Runs `work` concurrently with calls, after all earlier work of the gate. */
  queue<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  async #closeAndRun<T>(work: () => Promise<T>, endWaitingCalls: () => void): Promise<T> {
    let open = () => {}
    this.#closed = new Promise((resolve) => {
      open = resolve
    })
    const timer = setTimeout(() => {
      this.#refuses = true
      open()
    }, this.#waitMsMax)
    try {
      endWaitingCalls()
      if (this.#running > 0) {
        await new Promise<void>((resolve) => {
          this.#drained = resolve
        })
      }
      return await work()
    } finally {
      clearTimeout(timer)
      this.#refuses = false
      this.#drained = undefined
      this.generation += 1
      this.#closed = null
      open()
    }
  }
}

type Conflict = Refusal<'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_KEY_IN_PROGRESS'>

/** Runs API calls that have an idempotency key, one at a time for each key (rules/calls.md#keys-in-flight). */
export class IdempotentCalls {
  readonly #running = new Map<string, { fingerprint: string; settled: Promise<unknown> }>()

  /** Waits for a running call with the same key and fingerprint, then runs `call`, which replays the record. */
  async run<T>(
    applicationId: string,
    { value, fingerprint }: IdempotencyKey,
    call: () => Promise<T>,
  ): Promise<T | Conflict> {
    const key = `${applicationId} ${value}`
    const first = this.#running.get(key)
    if (first !== undefined)
      return first.fingerprint === fingerprint ? runAfter(first.settled, call) : refuse('IDEMPOTENCY_KEY_REUSED')
    const running = call()
    const settled = running.then(
      () => this.#running.delete(key),
      () => this.#running.delete(key),
    )
    this.#running.set(key, { fingerprint, settled })
    return running
  }
}

async function runAfter<T>(settled: Promise<unknown>, call: () => Promise<T>): Promise<T | Conflict> {
  if (await settlesInTime(settled)) return call()
  return { ...refuse('IDEMPOTENCY_KEY_IN_PROGRESS'), retryAfterSeconds: 1 }
}

async function settlesInTime(settled: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, IDEMPOTENCY_WAIT_MS, false)
  })
  try {
    return await Promise.race([settled.then(() => true), timeout])
  } finally {
    clearTimeout(timer)
  }
}
