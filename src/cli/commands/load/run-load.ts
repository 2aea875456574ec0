import { fromCall } from '../../call-failure.js'
import type { Context } from '../../command/context.js'
import { forbidPlaintext } from '../../command/downgrade-protection.js'
import { type Failure, fail } from '../../failure.js'
import { showLiveLine } from '../../output/live-line.js'
import type { Result } from '../../output/outcome.js'
import { limitOf, rateLimitAdvice } from './advice.js'
import type { Assertion } from './assertions.js'
import { type LoadOptions, LoadRun } from './load-run.js'
import { progressLine } from './progress-line.js'
import { type LoadReport, reportOf } from './report.js'

interface LoadQuestions {
  readonly addresses: readonly string[]
  readonly assertions: readonly Assertion[]
}

/** Prepares and runs a load, with a live line on stderr. */
export async function runLoad(
  context: Context,
  { addresses, assertions }: LoadQuestions,
  options: LoadOptions,
): Promise<Result<LoadReport> | Failure> {
  const { schedule, warmupMs, connections, clock, signal, template } = options
  const run = new LoadRun(options)
  let startedAt: number | undefined
  const endLine = showLiveLine(context, (columns) =>
    progressLine(run, schedule, startedAt === undefined ? undefined : clock.nowMs() - startedAt).slice(0, columns),
  )
  try {
    const refused = await run.prepare()
    if (signal.aborted) return fail('ABORTED', 'Interrupted before the load began.')
    if (refused !== undefined) {
      if (refused.status === 426) await forbidPlaintext(context, addresses[0] as string, refused.code)
      // The command has no --idempotency-key: a repeated run is a new run.
      const { idempotencyKey: _, ...failure } = refused
      const failed = fromCall({ ...failure, outcomeUnknown: false })
      return failed.code === 'RATE_LIMITED' ? { ...failed, hint: `${failed.hint} ${rateLimitAdvice}` } : failed
    }
    startedAt = clock.nowMs()
    const cpuBefore = process.cpuUsage()
    await run.run()
    const { user, system } = process.cpuUsage(cpuBefore)
    const elapsedMs = clock.nowMs() - startedAt
    // The time between the last due time and the end of the duration belongs to the run too.
    const wholeMs = signal.aborted ? elapsedMs : Math.max(elapsedMs, schedule.durationMs)
    const { lateness } = run
    const report = reportOf(
      {
        addresses,
        template_id: template,
        ...{ shape: schedule.shape, rate: schedule.rate, mix: schedule.mix, seed: schedule.seed },
        duration_ms: Math.max(0, Math.round(wholeMs - warmupMs)),
        warmup_ms: warmupMs,
        interrupted: signal.aborted,
        issued_ahead: run.issuedAhead,
        generator: {
          cpu_percent: Math.round((user + system) / 10 / elapsedMs),
          late_p50_ms: lateness.percentileMs(50),
          late_p99_ms: lateness.percentileMs(99),
          late_max_ms: lateness.maxMs,
          connections,
          waiting_max: run.waitingMax,
        },
      },
      run.statistics,
      assertions,
    )
    const limit = limitOf(report)
    if (limit !== undefined) context.output.warn(limit)
    return { ok: true, data: report, exit: report.interrupted ? INTERRUPTED : report.ok ? 0 : 1 }
  } finally {
    endLine()
  }
}

const INTERRUPTED = 130
