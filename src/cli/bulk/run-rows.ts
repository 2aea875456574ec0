import { setMaxListeners } from 'node:events'
import type { Call } from '../../client/call.js'
import type { CallFailure, CallResult, CallSuccess } from '../../client/result.js'
import type { Endpoint, InputOf } from '../../contract/endpoint.js'
import type { FailureCode } from '../../contract/errors.js'
import { redactCode } from '../../contract/secrets.js'
import { codeOf } from '../../files/error-code.js'
import { fromCall } from '../failures/call-failure.js'
import { exitOf } from '../failures/codes.js'
import { type Failure, fail } from '../failures/failure.js'
import { untilAborted } from '../host/files.js'
import type { Host } from '../host/host.js'
import { remember } from '../host/secrets.js'
import { formsOf } from '../prompts/credential-input.js'
import type { BulkAction, Parameters } from './action.js'
import type { EarlierRuns } from './earlier-runs.js'
import type { RowFailure } from './errors-file.js'
import { type InputRow, isBad, type ReadRow, UnreadableInput } from './input/row.js'
import { keyOf } from './key.js'
import { TooManyCalls } from './open-call.js'
import { countUp, type Results } from './results.js'
import type { Counters } from './show-progress.js'
import type { Throttle } from './throttle.js'

interface RowsOptions extends Pick<EarlierRuns, 'run' | 'isDone'> {
  readonly action: BulkAction
  readonly parameters: Parameters
  readonly rows: AsyncIterable<readonly ReadRow[]>
  /** Makes a call and retries transient failures; throws TooManyCalls for a 429. */
  readonly call: Call
  readonly timeoutMs: number
  readonly concurrency: number
  readonly results: Results
  readonly counters: Counters
  readonly throttle: Throttle
  /** Called when a 429 response pauses all calls for `ms` milliseconds. */
  onPause(ms: number): void
  /** When its signal aborts, no further call is made, and calls in flight may finish. */
  readonly host: Pick<Host, 'env' | 'signal'>
}

/** Milliseconds that calls in flight may take after an interruption; the next run repeats the unfinished ones. */
const GRACE_MS = 10_000
/** Maximum milliseconds of a Retry-After; a longer one ends the run, and --resume continues it. */
const PAUSE_MS_MAX = 5 * 60_000
/** Number of successive rows with a 5xx after which the run ends. */
const SERVER_ERRORS_MAX = 10

interface RowsOutcome {
  /** The failure that ended the run early; undefined after the last row. */
  readonly failure: Failure | undefined
  /** True if a call that has no result may have been processed. */
  readonly isUnknown: boolean
}

/** Makes the call of every row. */
export async function runRows(options: RowsOptions): Promise<RowsOutcome> {
  const run = new Run(options)
  const workers = await Promise.allSettled(Array.from({ length: options.concurrency }, () => run.work()))
  run.end()
  await options.results.close()
  const thrown = workers.find((it) => it.status === 'rejected')
  if (thrown !== undefined) throw thrown.reason
  return { failure: failureOf(run, options), isUnknown: run.isUnknown }
}

function failureOf(run: Run, { results: { error }, host }: RowsOptions): Failure | undefined {
  if (error !== undefined) return fail('FILE_UNWRITABLE', `The results cannot be written (${codeOf(error)}).`)
  return run.failure ?? (host.signal.aborted ? fail('ABORTED', 'Interrupted.') : undefined)
}

/** Data of a result, and whether it comes from an earlier call. */
type KeptResult = Pick<CallSuccess<unknown>, 'data'> & { readonly replayed?: boolean }

class Run {
  readonly #it: RowsOptions
  readonly #rows: AsyncGenerator<ReadRow, undefined>
  readonly #stop = new AbortController()
  readonly #calls = new AbortController()
  readonly #onSignal = () => this.#interrupt()
  #grace: NodeJS.Timeout | undefined
  #responses = 0
  #serverErrors = 0
  failure: Failure | undefined
  isUnknown = false

  constructor(options: RowsOptions) {
    this.#it = options
    // Each concurrent call adds a listener to these signals, so disable Node's leak warning.
    setMaxListeners(0, this.#stop.signal, this.#calls.signal)
    this.#rows = eachOf(options.rows, this.#stop.signal)
    options.host.signal.addEventListener('abort', this.#onSignal, { once: true })
    if (options.host.signal.aborted) this.#interrupt()
  }

  /** Makes calls until the input or the run ends; several workers run this concurrently. A bug stops all workers. */
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
    const { action, counters, results, isDone, run, parameters } = this.#it
    while (!this.#stop.signal.aborted) {
      const { value: row } = await this.#rows.next()
      if (row === undefined || this.#stop.signal.aborted) return
      if (isBad(row)) {
        await this.#keepFailure(row, undefined, { ...row.fault, requestId: null })
        continue
      }
      const key = keyOf(action, row.values, run, parameters) ?? ''
      if (isDone(row, key)) counters.skipped += 1
      else await this.#process(row, key)
      if (results.error !== undefined) this.#stop.abort()
    }
  }

  end(): void {
    clearTimeout(this.#grace)
    this.#it.host.signal.removeEventListener('abort', this.#onSignal)
  }

  async #process(row: InputRow, key: string): Promise<void> {
    for (let again = false; ; again = true) {
      const responsesBefore = this.#responses
      const result = await this.#callRow(row, key)
      if (result === undefined) return
      if (result.ok) return this.#keepResult(row, key, result)
      this.isUnknown ||= result.outcomeUnknown
      if (result.code === 'ABORTED') return
      if (this.#it.action.findings?.includes(result.code)) {
        return this.#keepResult(row, key, { data: { redeemable: false, reason: result.code } })
      }
      const scope = scopeOf(result, this.#it.action)
      // No other call got a response meanwhile, so the server is unreachable; otherwise try the row once more.
      const isDown = scope === 'unreachable' && this.#responses === responsesBefore
      if (scope === 'run' || isDown) return this.#fail(result, row)
      if (scope === 'unreachable' && !again) continue
      if (scope === 'row') this.#countResponse()
      else if ((this.#serverErrors += 1) >= SERVER_ERRORS_MAX) return this.#fail(result, row)
      return this.#keepFailure(row, key, { ...result, message: withoutCode(result.message, row) })
    }
  }

  async #keepResult(row: InputRow, key: string, { data, replayed }: KeptResult): Promise<void> {
    this.#countResponse()
    this.#it.counters[replayed ? 'replayed' : 'done'] += 1
    await this.#it.results.keep({ row, key, data })
  }

  async #keepFailure(row: ReadRow, key: string | undefined, failure: RowFailure): Promise<void> {
    const { counters, results } = this.#it
    counters.failed += 1
    countUp(counters.failures, failure.code)
    await results.keep({ row, failure, ...(key === undefined ? {} : { key }) })
  }

  /** Calls until the response is not a 429; undefined if the run ends before that. */
  async #callRow(row: InputRow, key: string): Promise<CallResult<unknown> | undefined> {
    const { throttle, call, action, parameters, timeoutMs } = this.#it
    const { endpoint } = action
    const input = action.input(row, parameters)
    const keyed = endpoint.idempotent ? { idempotencyKey: key } : {}
    while (await throttle.enter(this.#stop.signal)) {
      try {
        return await call(endpoint, input as InputOf<Endpoint>, { ...keyed, timeoutMs, signal: this.#calls.signal })
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
  #fail(result: CallFailure, row: InputRow): void {
    for (const form of secretsOf(row)) remember(this.#it.host, form)
    // Omit the key: each row has its own, so the hint must not suggest --idempotency-key.
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
 * Scope of a failure. `row`: only this row. `run`: every row. `unreachable`: the server is down, directly or behind a
 * proxy. `server_error`: any other 5xx.
 */
type FailureScope = 'row' | 'run' | 'unreachable' | 'server_error'

/** Failure codes of every endpoint that affect every row. */
const runFailures: readonly string[] = [
  'SECURE_TRANSPORT_REQUIRED',
  'RATE_LIMITED',
  'CERTIFICATE_UNTRUSTED',
  'CREDENTIAL_UNENCRYPTED',
  'PROXY_INVALID',
]
const gatewayStatuses: readonly number[] = [502, 503, 504]

function scopeOf(failure: CallFailure, action: BulkAction): FailureScope {
  const { code, status, details } = failure
  if (runFailures.includes(code) || action.runFailures.includes(code)) return 'run'
  if (action.endpoint.failures?.includes(code as FailureCode)) return 'row'
  // The response comes from a proxy or another web server, so every other row would get it too.
  if (code === 'INVALID_RESPONSE' && status < 500) return 'run'
  if (code === 'NETWORK_ERROR' || code === 'TIMEOUT' || gatewayStatuses.includes(status)) return 'unreachable'
  // With a reason, this row is too large to encrypt; without one, no header can carry the credential.
  if (code === 'INVALID_INPUT') return details.reason === undefined ? 'run' : 'row'
  const exit = exitOf(fromCall(failure))
  // Authentication, permission, route and encryption are the same for every row.
  if (exit === 4 || exit === 5 || exit === 10) return 'run'
  return exit === 9 ? 'server_error' : 'row'
}

/** All forms in which a server may repeat the code of a row; empty for issue-many and reverse-many. */
function secretsOf({ values: { redeem_code: code, qr_token: token } }: InputRow): readonly string[] {
  const secret = code ?? token
  return secret === undefined ? [] : formsOf(secret)
}

/** Removes the code of a row from a server's message. */
const withoutCode = (message: string, row: InputRow) =>
  secretsOf(row).reduce((text, form) => text.replaceAll(form, redactCode(form)), message)

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
