import type { Context } from '../command/context.js'
import { forbidPlaintext } from '../command/downgrade-protection.js'
import type { Failure } from '../failures/failure.js'
import type { Result } from '../output/outcome.js'
import { numberText } from '../output/text.js'
import type { BulkAction, Parameters } from './action.js'
import type { BulkInput } from './input/input.js'
import { markDuplicates, readRows } from './input/read-rows.js'
import type { RowMembers } from './input/row.js'
import type { RunIdentity } from './journal.js'
import { openCall } from './open-call.js'
import type { RunPaths } from './paths.js'
import { openRun } from './run-files.js'
import { runRows } from './run-rows.js'
import { type Counters, processedOf, showProgress } from './show-progress.js'
import { Throttle } from './throttle.js'

export interface BulkRun {
  readonly action: BulkAction
  readonly rows: RowMembers
  readonly parameters: Parameters
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
  /** Command that continues the run. */
  readonly again: string
}

/** Summary of a run, and the only result that the command prints. One counter has the name of the row's action. */
export interface BulkSummary {
  readonly total: number
  readonly failed: number
  /** Number of failed rows by code. */
  readonly failures: Readonly<Record<string, number>>
  readonly out: string
  /** Path of the errors file; null if no row failed. */
  readonly errors: string | null
  readonly journal: string
  /** Next command, if rows failed. */
  readonly next: string | null
  readonly duration_ms: number
  readonly redeemable?: number
  readonly not_redeemable?: number
  readonly reasons?: Readonly<Record<string, number>>
}

export async function runBulk(context: Context, run: BulkRun): Promise<Result<BulkSummary> | Failure> {
  const { output, host } = context
  const { action, input, names } = run
  const opened = await openRun(run.paths, { ...run, newRun: host.newId() })
  if (!opened.ok) return opened
  for (const line of opened.damaged) {
    const fate = 'It was ignored: rows in the results are kept, the others are sent again.'
    output.warn(`${names.journal} line ${line} is damaged. ${fate}`)
  }
  let keeps = false
  try {
    const called = await openCall(context, run.baseUrl, run.token, run.concurrency)
    if (!called.ok) return called
    // Also for a bug: the files may have results.
    keeps = true
    const beganAt = performance.now()
    const { tallied, count: earlier } = opened
    const none = { done: 0, replayed: 0, skipped: 0, failed: 0, failures: new Map() }
    const counters: Counters = { total: run.total, earlier, ...none, tallied }
    const throttle = new Throttle(run.concurrency, () => performance.now())
    const stopProgress = showProgress(context, counters, throttle)
    const rows = readRows(input.chunks(), input.format, run.rows)
    const { failure, isUnknown } = await runRows({
      ...run,
      ...opened,
      // For a file, the validation has already marked duplicate rows.
      rows: input.isFile ? rows : markDuplicates(rows, run.rows),
      call: called.call,
      timeoutMs: context.settings.timeoutMs.value,
      counters,
      throttle,
      // With JSON output, stderr must hold only the error object.
      onPause: (ms) => {
        if (!output.isJson) output.notice(`The server asks to wait: calls go on in ${Math.ceil(ms / 1000)} s.`)
      },
      host,
    }).finally(stopProgress)
    await called.close()
    // Without the run id of the journal, the keys of calls with an unknown outcome are lost.
    keeps = processedOf(counters) > 0 || (action.isKeyedByRun && isUnknown)
    const summary = summaryOf(run, counters, performance.now() - beganAt)
    if (failure === undefined) return { ok: true, data: summary }
    if (failure.status === 426) await forbidPlaintext(context, run.baseUrl, failure.code)
    const { withTokenAdvice } = await import('../command/token-owner.js')
    return resumable(await withTokenAdvice(context, failure), run, counters, keeps)
  } finally {
    await opened.close(keeps)
  }
}

function summaryOf(run: BulkRun, counters: Counters, ms: number): BulkSummary {
  const { action, names, parameters, input, again } = run
  const { total, failed, failures } = counters
  const errors = failed > 0 ? names.errors : null
  const same = input.isFile ? '' : ', with the same input,'
  const retry = `To try the failed rows again${same} when the cause is fixed: \`${again}\`.`
  return {
    ...(parameters.template === undefined ? {} : { template_id: parameters.template }),
    total: total ?? processedOf(counters),
    ...countsOf(action, counters),
    failures: Object.fromEntries(failures),
    ...action.summarise?.(counters),
    out: names.out,
    errors,
    journal: names.journal,
    next:
      failed === 0
        ? null
        : `${errors} has each row and why. ${retry} Put corrected rows into another FILE, with another --out.`,
    duration_ms: Math.round(ms),
  }
}

function countsOf({ words, endpoint }: BulkAction, { done, replayed, skipped, failed }: Counters) {
  return { [words.done]: done, ...(endpoint.idempotent ? { replayed } : {}), skipped, failed }
}

/** Adds the counters, and how to resume the run, to the failure that ended a run early. */
function resumable(failure: Failure, run: BulkRun, counters: Counters, keeps: boolean): Failure {
  const { action, names, input, again } = run
  const { total, done, replayed, skipped } = counters
  const have = numberText(done + replayed + skipped)
  const all = total === null ? '' : ` of ${numberText(total)}`
  const same = input.isFile ? '' : ', with the same input'
  const next = keeps ? `To go on${same}: \`${again}\`.` : 'Repeat the same command.'
  const goOn = `${have}${all} rows ${action.words.state[1]}. ${next}`
  const hint = failure.hint === null ? goOn : `${failure.hint} ${goOn}`
  const count = { ...countsOf(action, counters), out: names.out, journal: names.journal }
  return { ...failure, hint, details: { ...failure.details, ...count } }
}
