import { type Refusal, refuse } from '../../contract/errors.js'
import { IDEMPOTENCY_WAIT_MS, type IdempotencyKey } from '../../domain/idempotency.js'

type Conflict = Refusal<'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_KEY_IN_PROGRESS'>

/** Runs API calls that have an idempotency key, one at a time for each key (DECISIONS.md#keys-in-flight). */
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
    if (first !== undefined) {
      if (first.fingerprint !== fingerprint) return refuse('IDEMPOTENCY_KEY_REUSED')
      if (!(await settlesInTime(first.settled))) {
        return { ...refuse('IDEMPOTENCY_KEY_IN_PROGRESS'), retryAfterSeconds: 1 }
      }
      return call()
    }
    const running = call()
    const settled = running.then(
      () => this.#running.delete(key),
      () => this.#running.delete(key),
    )
    this.#running.set(key, { fingerprint, settled })
    return running
  }
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
