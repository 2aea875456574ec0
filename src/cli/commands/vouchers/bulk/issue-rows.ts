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
  /** Makes a call and retries transient failures; throws TooManyCalls for a 429. */
  readonly call: Call
  readonly timeoutMs: number
  readonly concurrency: number
  /** Idempotency keys of the rows whose voucher is already in the results file. */
  readonly done: ReadonlySet<string>
  readonly results: Results
  readonly counters: Counters
  readonly throttle: Throttle
  /** Called when a 429 response pauses all calls for `ms` milliseconds. */
  onPause(ms: number): void
  /** When this signal aborts, no further row is issued, and calls in flight may finish. */
  readonly signal: AbortSignal
}

/** Milliseconds that calls in flight may take after an interruption; the next run repeats the unfinished ones. */
const GRACE_MS = 10_000
/** Maximum milliseconds of a Retry-After; a longer one ends the run, and --resume continues it. */
const PAUSE_MS_MAX = 5 * 60_000
/** Number of successive rows with a 5xx after which the run ends. */
const SERVER_ERRORS_MAX = 10

/** Issues a voucher for every row. Returns undefined after the last row, or the failure that ended the run early. */
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
  #serverErrors = 0
  failure: Failure | undefined

  constructor(options: IssueOptions) {
    this.#it = options
    // Each concurrent call adds a listener to these signals, so disable Node's leak warning.
    setMaxListeners(0, this.#stop.signal, this.#calls.signal)
    this.#rows = eachOf(options.rows, this.#stop.signal)
    options.signal.addEventListener('abort', this.#onSignal, { once: true })
    if (options.signal.aborted) this.#interrupt()
  }

  /** Issues rows until the input or the run ends; several workers run this concurrently. A bug stops all of them. */
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
      // No other call got a response meanwhile, so the server is unreachable; otherwise try the row once more.
      if (scope === 'unreachable' && this.#responses === responsesBefore) return this.#fail(result)
      if (scope === 'unreachable' && !again) continue
      if (scope === 'row') this.#countResponse()
      else if ((this.#serverErrors += 1) >= SERVER_ERRORS_MAX) return this.#fail(result)
      this.#it.counters.failed += 1
      return this.#it.results.keep({ row, idempotencyKey, failure: result })
    }
  }

  /** Calls until the response is not a 429; undefined if the run ends before that. */
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
    this.#serverErrors = 0
    this.#it.throttle.countResponse()
  }

  /** Ends the run. Only the first failure is reported, because later ones have the same cause. */
  #fail(result: CallFailure): void {
    // Omit the key: each row derives its own, so the hint must not suggest --idempotency-key.
    const { idempotencyKey: _key, ...rest } = result
    this.failure ??= fromCall({ ...rest, outcomeUnknown: false })
    this.#stop.abort()
  }

  #interrupt(): void {
    this.#stop.abort()
    this.#grace = setTimeout(() => this.#calls.abort(), GRACE_MS)
  }
}

/** Yields single rows from blocks for several concurrent workers; ends when the signal aborts. */
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
 * What a failure affects. `row`: only this row. `run`: every row. `unreachable`: the server is down, directly or behind
 * a proxy. `server_error`: any other 5xx.
 */
type FailureScope = 'row' | 'run' | 'unreachable' | 'server_error'

/** Failure codes that affect every row. An exhausted quota does not: the server still returns existing vouchers. */
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
  // The response comes from a proxy or another web server, so every other row would get it too.
  if (code === 'INVALID_RESPONSE' && status < 500) return 'run'
  if (code === 'NETWORK_ERROR' || code === 'TIMEOUT' || gatewayStatuses.includes(status)) return 'unreachable'
  // With a reason, this row is too large to encrypt; without one, no header can carry the credential.
  if (code === 'INVALID_INPUT') return details.reason === undefined ? 'run' : 'row'
  const exit = exitOf(fromCall(failure))
  // Authentication, permission, template and encryption are the same for every row.
  if (exit === 4 || exit === 5 || exit === 10) return 'run'
  return exit === 9 ? 'server_error' : 'row'
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
