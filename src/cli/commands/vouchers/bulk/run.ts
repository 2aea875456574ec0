import type { Context } from '../../../command/context.js'
import { forbidPlaintext } from '../../../command/downgrade-protection.js'
import type { Failure } from '../../../failure.js'
import type { Outcome } from '../../../output/outcome.js'
import type { BulkInput } from './input/input.js'
import { markDuplicates, readRows } from './input/read-rows.js'
import { issueRows } from './issue-rows.js'
import type { RunIdentity } from './journal.js'
import { openCall } from './open-call.js'
import { Results } from './results.js'
import { openRun, type RunFiles, type RunPaths } from './run-files.js'
import { type Counters, doneOf, showProgress } from './show-progress.js'
import { Throttle } from './throttle.js'

export interface BulkRun {
  readonly input: BulkInput
  readonly identity: RunIdentity
  readonly paths: RunPaths
  /** Paths as the user typed them, for messages. */
  readonly names: RunPaths
  readonly resume: boolean
  readonly concurrency: number
  readonly baseUrl: string
  readonly token: string
  /** Number of input rows; null for a pipe. */
  readonly total: number | null
}

/** Summary of a run: the only result that the command prints. */
export interface BulkSummary extends Omit<Counters, 'total'> {
  readonly template_id: string
  readonly total: number
  readonly out: string
  /** Path of the errors file; null if no row failed. */
  readonly errors: string | null
  readonly journal: string
  readonly duration_ms: number
}

const SOME_FAILED = 11

export async function runBulk(context: Context, run: BulkRun): Promise<Outcome<BulkSummary>> {
  const { output } = context
  const opened = await openRun(run.paths, run.identity, run.resume)
  if (!opened.ok) return opened
  for (const line of opened.damaged) {
    const fate = 'It was passed over: rows that the results hold are kept, the others are asked for again.'
    output.warn(`${run.names.journal} line ${line} is damaged. ${fate}`)
  }
  try {
    const called = await openCall(context, run.baseUrl, run.token, run.concurrency)
    if (!called.ok) return called
    const beganAt = performance.now()
    const counters: Counters = { total: run.total, issued: 0, replayed: 0, skipped: 0, failed: 0 }
    const throttle = new Throttle(run.concurrency, () => performance.now())
    const stopProgress = showProgress(context, counters, throttle)
    const rows = readRows(run.input.chunks(), run.input.format)
    const failure = await issueRows({
      template: run.identity.template,
      // For a file, its validation has already marked duplicate rows.
      rows: run.input.isFile ? rows : markDuplicates(rows),
      call: called.call,
      timeoutMs: context.settings.timeoutMs.value,
      concurrency: run.concurrency,
      done: opened.done,
      results: new Results(opened.files),
      counters,
      throttle,
      // With JSON output, stderr must hold only the error object.
      onPause: (ms) => {
        if (!output.isJson) output.notice(`The server asks to wait: calls go on in ${Math.ceil(ms / 1000)} s.`)
      },
      signal: context.host.signal,
    }).finally(stopProgress)
    await called.close()
    const summary = summaryOf(run, opened, counters, performance.now() - beganAt)
    if (failure === undefined) return { ok: true, data: summary, exit: summary.failed > 0 ? SOME_FAILED : 0 }
    if (failure.status === 426) await forbidPlaintext(context, run.baseUrl, failure.code)
    return resumable(failure, counters, summary)
  } finally {
    await opened.close()
  }
}

function summaryOf({ identity, names }: BulkRun, { files }: RunFiles, counters: Counters, ms: number): BulkSummary {
  return {
    template_id: identity.template,
    ...counters,
    total: counters.total ?? doneOf(counters),
    out: names.out,
    errors: files.errors.wasMade ? names.errors : null,
    journal: names.journal,
    duration_ms: Math.round(ms),
  }
}

/** Adds the counters, and how to resume the run, to the failure that ended a run early. */
function resumable(failure: Failure, counters: Counters, summary: BulkSummary): Failure {
  const { issued, replayed, skipped, failed } = summary
  const have = (issued + replayed + skipped).toLocaleString('en-US')
  const all = counters.total === null ? '' : ` of ${counters.total.toLocaleString('en-US')}`
  const next = doneOf(counters) === 0 ? 'Repeat the same command.' : 'Go on with the same command and --resume.'
  const goOn = `${have}${all} rows have their voucher. ${next}`
  const hint = failure.hint === null ? goOn : `${failure.hint} ${goOn}`
  const count = { issued, replayed, skipped, failed, out: summary.out, journal: summary.journal }
  return { ...failure, hint, details: { ...failure.details, ...count } }
}
