import { setMaxListeners } from 'node:events'
import type { Call } from '../../../../client/call.js'
import type { CallFailure, CallResult } from '../../../../client/result.js'
import type { IssuedVoucher } from '../../../../contract/vouchers.js'
import * as contract from '../../../../contract/vouchers.js'
import { codeOf } from '../../../../files/error-code.js'
import { exitOf, type Failure, fail, fromCall } from '../../../failure.js'
import { untilAborted } from '../../../host/until-aborted.js'
import { type InputRow, idempotencyKeyOf, isBad, type ReadRow, UnreadableInput } from './input/row.js'
import { TooManyCalls } from './open-call.js'
import type { Results } from './results.js'
import type { Counters } from './show-progress.js'
import type { Throttle } from './throttle.js'

interface IssueOptions {
  readonly template: string
  readonly rows: AsyncIterable<readonly ReadRow[]>
  /** Retries transient failures; throws TooManyCalls for a 429. */
  readonly call: Call
  readonly timeoutMs: number
  readonly concurrency: number
  /** Idempotency keys of the rows that have their voucher in the results. */
  readonly done: ReadonlySet<string>
  readonly results: Results
  readonly counters: Counters
  readonly throttle: Throttle
  /** Called when a 429 pauses all rows. */
  onPause(ms: number): void
  /** Stops taking rows; calls in flight finish. */
  readonly signal: AbortSignal
}

/** Time for calls in flight after an interruption; the next run requests the rows of those that did not finish. */
const GRACE_MS = 10_000
/** A Retry-After above this ends the run; --resume continues it. */
const PAUSE_MS_MAX = 5 * 60_000
/** Successive rows that fail with a 5xx before the run ends. */
const TROUBLE_MAX = 10

/** Issues every row once. Returns undefined after the last row, or the failure that ended the run early. */
export async function issueRows(options: IssueOptions): Promise<Failure | undefined> {
  const run = new Run(options)
  const workers = await Promise.allSettled(Array.from({ length: options.concurrency }, () => run.work()))
  run.end()
  await options.results.close()
  const thrown = workers.find((it) => it.status === 'rejected')
  if (thrown !== undefined) throw thrown.reason
  const { error } = options.results
  if (error !== undefined) return fail('FILE_UNWRITABLE', `The results cannot be written (${codeOf(error)}).`)
  if (run.failure !== undefined) return run.failure
  return options.signal.aborted ? fail('ABORTED', 'Interrupted.') : undefined
}

class Run {
  readonly #it: IssueOptions
  readonly #rows: AsyncGenerator<ReadRow, undefined>
  readonly #stop = new AbortController()
  readonly #calls = new AbortController()
  readonly #onSignal = () => this.#interrupt()
  #grace: NodeJS.Timeout | undefined
  #responses = 0
  #trouble = 0
  failure: Failure | undefined

  constructor(options: IssueOptions) {
    this.#it = options
    // Each concurrent call adds a listener, so disable Node's leak warning.
    setMaxListeners(0, this.#stop.signal, this.#calls.signal)
    this.#rows = eachOf(options.rows, this.#stop.signal)
    options.signal.addEventListener('abort', this.#onSignal, { once: true })
    if (options.signal.aborted) this.#interrupt()
  }

  /** Issues rows until the input or the run ends. A bug stops the other workers before it is rethrown. */
  async work(): Promise<void> {
    try {
      await this.#takeRows()
    } catch (error) {
      this.#stop.abort()
      if (!(error instanceof UnreadableInput)) throw error
      this.failure ??= fail('INVALID_INPUT', error.message, error.hint)
    }
  }

  async #takeRows(): Promise<void> {
    const { counters, results, done, template } = this.#it
    while (!this.#stop.signal.aborted) {
      const { value: row } = await this.#rows.next()
      if (row === undefined || this.#stop.signal.aborted) return
      if (isBad(row)) {
        await results.keep({ row, failure: { ...row.fault, requestId: null } })
        counters.failed += 1
        continue
      }
      const idempotencyKey = idempotencyKeyOf(template, row)
      if (done.has(idempotencyKey)) counters.skipped += 1
      else await this.#issue(row, idempotencyKey)
      if (results.error !== undefined) this.#stop.abort()
    }
  }

  end(): void {
    clearTimeout(this.#grace)
    this.#it.signal.removeEventListener('abort', this.#onSignal)
  }

  async #issue(row: InputRow, idempotencyKey: string): Promise<void> {
    for (let again = false; ; again = true) {
      const responsesBefore = this.#responses
      const result = await this.#callRow(row, idempotencyKey)
      if (result === undefined) return
      if (result.ok) {
        this.#countResponse()
        this.#it.counters[result.replayed ? 'replayed' : 'issued'] += 1
        return this.#it.results.keep({ row, idempotencyKey, voucher: result.data })
      }
      if (result.code === 'ABORTED') return
      const scope = scopeOf(result)
      if (scope === 'run') return this.#fail(result)
      // If other calls got responses meanwhile, the server is reachable: try the row once more.
      if (scope === 'away' && this.#responses === responsesBefore) return this.#fail(result)
      if (scope === 'away' && !again) continue
      if (scope === 'row') this.#countResponse()
      else if ((this.#trouble += 1) >= TROUBLE_MAX) return this.#fail(result)
      this.#it.counters.failed += 1
      return this.#it.results.keep({ row, idempotencyKey, failure: result })
    }
  }

  /** Calls until the response is not a 429; undefined if the run ends before. */
  async #callRow(row: InputRow, idempotencyKey: string): Promise<CallResult<IssuedVoucher> | undefined> {
    const { throttle, call, template, timeoutMs } = this.#it
    const { line: _line, ...input } = row
    const issue = { template_id: template, ...input } as Parameters<typeof call<typeof contract.issue>>[1]
    while (await throttle.enter(this.#stop.signal)) {
      try {
        return await call(contract.issue, issue, { idempotencyKey, timeoutMs, signal: this.#calls.signal })
      } catch (error) {
        if (!(error instanceof TooManyCalls)) throw error
        const { retryAfterMs } = error
        if (retryAfterMs !== null && retryAfterMs > PAUSE_MS_MAX) return retryAfterTooLong(retryAfterMs)
        const isNew = throttle.pauseMs === 0
        throttle.slowDown(retryAfterMs)
        if (isNew) this.#it.onPause(throttle.pauseMs)
      } finally {
        throttle.leave()
      }
    }
    return undefined
  }

  #countResponse(): void {
    this.#responses += 1
    this.#trouble = 0
    this.#it.throttle.answered()
  }

  /** Ends the run with its first failure; later failures have the same cause. */
  #fail(result: CallFailure): void {
    // Keys are derived from the rows, so the hint must not suggest --idempotency-key.
    const { idempotencyKey: _key, ...rest } = result
    this.failure ??= fromCall({ ...rest, outcomeUnknown: false })
    this.#stop.abort()
  }

  #interrupt(): void {
    this.#stop.abort()
    this.#grace = setTimeout(() => this.#calls.abort(), GRACE_MS)
  }
}

/** Yields single rows, which several workers can share; ends with the signal. */
async function* eachOf(
  blocks: AsyncIterable<readonly ReadRow[]>,
  signal: AbortSignal,
): AsyncGenerator<ReadRow, undefined> {
  const iterator = blocks[Symbol.asyncIterator]()
  for (;;) {
    const next = await untilAborted(iterator.next(), signal)
    if (next === undefined || next.done) return
    for (const row of next.value) yield row
  }
}

/**
 * Scope of a failure: `row` fails this row alone; `run` would fail every row; `away` is no response, or that of a
 * proxy whose server is away; `trouble` is another 5xx.
 */
type FailureScope = 'row' | 'run' | 'away' | 'trouble'

/** Failures of the template or transport. An exhausted quota is not one: the server still returns existing vouchers. */
const runFailures: readonly string[] = [
  'TEMPLATE_NOT_ACTIVE',
  'TEMPLATE_VALIDITY_ENDED',
  'SECURE_TRANSPORT_REQUIRED',
  'RATE_LIMITED',
  'CREDENTIAL_UNENCRYPTED',
]
const gatewayStatuses: readonly number[] = [502, 503, 504]

function scopeOf(failure: CallFailure): FailureScope {
  const { code, status, details } = failure
  if (runFailures.includes(code)) return 'run'
  // The response is not from a voucher service and tells nothing about the row, so the run ends.
  if (code === 'INVALID_RESPONSE' && status < 500) return 'run'
  if (code === 'NETWORK_ERROR' || code === 'TIMEOUT' || gatewayStatuses.includes(status)) return 'away'
  // With a reason, the row is too large to encrypt; without one, a header cannot carry the credential.
  if (code === 'INVALID_INPUT') return details.reason === undefined ? 'run' : 'row'
  const exit = exitOf(fromCall(failure))
  // Permission, template and encryption are the same for every row.
  if (exit === 4 || exit === 5 || exit === 10) return 'run'
  return exit === 9 ? 'trouble' : 'row'
}

function retryAfterTooLong(ms: number): CallFailure {
  return {
    ok: false,
    code: 'RATE_LIMITED',
    message: 'The server asks for a longer wait than the 5 minutes that a run waits.',
    status: 429,
    retryable: true,
    details: {},
    requestId: null,
    outcomeUnknown: false,
    headers: { 'retry-after': String(Math.ceil(ms / 1000)) },
  }
}
