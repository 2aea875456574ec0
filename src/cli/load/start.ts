import type { CallFailure } from '../../client/result.js'
import type { Context } from '../command/context.js'
import { forbidPlaintext } from '../command/downgrade-protection.js'
import { fromCall } from '../failures/call-failure.js'
import { type Failure, fail } from '../failures/failure.js'
import { showLiveLine } from '../output/live-line.js'
import type { Result } from '../output/outcome.js'
import { limitOf, rateLimitAdvice, templateAdvice } from './advice.js'
import type { Assertion } from './assertions.js'
import { progressLine } from './progress-line.js'
import { type LoadReport, reportOf } from './report.js'
import { type LoadOptions, LoadRun } from './run.js'

interface ReportOptions {
  readonly addresses: readonly string[]
  readonly assertions: readonly Assertion[]
}

const INTERRUPTED = 130

/** Prepares and runs a load, and shows its progress in one line on stderr. */
export async function runLoad(
  context: Context,
  reportOptions: ReportOptions,
  options: LoadOptions,
): Promise<Result<LoadReport> | Failure> {
  const run = new LoadRun(options)
  let startedAt: number | undefined
  const endLine = showLiveLine(context, (columns) => {
    const elapsedMs = startedAt === undefined ? undefined : options.clock.nowMs() - startedAt
    return progressLine(run, options.schedule, elapsedMs).slice(0, columns)
  })
  try {
    const refused = await run.prepare()
    if (options.signal.aborted) return fail('ABORTED', 'Interrupted before the load began.')
    if (refused !== undefined) return failureOf(context, reportOptions, refused)
    startedAt = options.clock.nowMs()
    const cpuBefore = process.cpuUsage()
    await run.run()
    const { user, system } = process.cpuUsage(cpuBefore)
    const elapsedMs = options.clock.nowMs() - startedAt
    const report = describeRun(run, options, reportOptions, elapsedMs, (user + system) / 1000)
    const limit = limitOf(report)
    // End the progress line first: the warning would stand on the same line.
    endLine()
    for (const it of [limit, templateAdvice(report.all.errors)]) if (it !== undefined) context.output.warn(it)
    return { ok: true, data: report, exit: report.interrupted ? INTERRUPTED : report.ok ? 0 : 1 }
  } finally {
    endLine()
  }
}

/** Converts the failure of a call that was made before the run. */
async function failureOf(context: Context, { addresses }: ReportOptions, refused: CallFailure): Promise<Failure> {
  if (refused.status === 426) await forbidPlaintext(context, addresses[0] as string, refused.code)
  // The command has no --idempotency-key: a repeated run is a new run.
  const { idempotencyKey: _, ...failure } = refused
  const failed = fromCall({ ...failure, outcomeUnknown: false })
  const hint = failed.code === 'RATE_LIMITED' ? `${failed.hint} ${rateLimitAdvice}` : failed.hint
  return { ...failed, hint: templateAdvice({ [failed.code]: true }) ?? hint }
}

function describeRun(
  { lateness, issuedAhead, waitingMax, statistics, series }: LoadRun,
  { schedule, warmupMs, connections, signal, template }: LoadOptions,
  { addresses, assertions }: ReportOptions,
  elapsedMs: number,
  cpuMs: number,
): LoadReport {
  const { shape, rate, mix, seed, durationMs } = schedule
  // The run lasts until the end of the duration, even if the last call is due earlier.
  const wholeMs = signal.aborted ? elapsedMs : Math.max(elapsedMs, durationMs)
  const settings = {
    addresses,
    template_id: template,
    shape,
    rate,
    mix,
    seed,
    duration_ms: Math.max(0, Math.round(wholeMs - warmupMs)),
    warmup_ms: warmupMs,
    interrupted: signal.aborted,
    issued_ahead: issuedAhead,
    series: series.rows,
    generator: {
      cpu_percent: Math.round((cpuMs / elapsedMs) * 100),
      late_p50_ms: lateness.percentileMs(50),
      late_p99_ms: lateness.percentileMs(99),
      late_max_ms: lateness.maxMs,
      connections,
      waiting_max: waitingMax,
    },
  }
  return reportOf(settings, statistics, assertions)
}
