import { type Assertion, type AssertionResult, judge } from './assertions.js'
import { type Mix, type Operation, operations } from './mix.js'
import { type OperationReport, operationReport } from './operation-report.js'
import type { Shape } from './schedule.js'
import type { Buckets, SecondReport } from './series.js'
import { Statistics } from './statistics.js'

/** Load on the machine that made the calls. */
export interface GeneratorReport {
  /** CPU time of this process in percent of one core. */
  readonly cpu_percent: number
  /** Median delay in ms between the due time of a call and its start, because this process was busy. */
  readonly late_p50_ms: number | null
  readonly late_p99_ms: number | null
  readonly late_max_ms: number | null
  readonly connections: number
  /** Peak number of calls that waited for a connection to one address. */
  readonly waiting_max: number
}

export interface LoadReport {
  /** True if a call succeeded, every assertion holds, and no call failed for quota or validity of the template. */
  readonly ok: boolean
  readonly addresses: readonly string[]
  readonly template_id: string
  readonly shape: Shape
  readonly rate: number
  readonly mix: Mix
  readonly seed: number
  /** Measured time: from the end of the warm-up to the last response. */
  readonly duration_ms: number
  readonly warmup_ms: number
  readonly interrupted: boolean
  /** Vouchers that were issued before the run. */
  readonly issued_ahead: number
  readonly items: readonly OperationReport[]
  readonly all: OperationReport
  /** Successful calls by operation and latency. */
  readonly histogram: readonly ({ readonly operation: Operation } & Buckets['rows'][number])[]
  readonly series: readonly SecondReport[]
  readonly generator: GeneratorReport
  /** What kept the run below the rate: this process, or the number of connections; null if nothing did. */
  readonly limited_by: 'generator' | 'connections' | null
  readonly assertions: readonly AssertionResult[]
}

/** Code of calls that were due but not sent. */
export const NOT_SENT = 'NOT_SENT'
export const NO_VOUCHER = 'NO_VOUCHER'

/** Codes of calls that fail for quota or validity of the template, and say nothing about the server. */
const limitCodes = ['TEMPLATE_QUOTA_EXHAUSTED', 'TEMPLATE_VALIDITY_ENDED', 'VOUCHER_EXPIRED', 'VOUCHER_NOT_YET_VALID']
/** @param errors failed calls by code */
export const failsForTemplate = (errors: object) => limitCodes.some((it) => it in errors)

/** p99 of lateness in ms above which latencies include delays of this process. Timers alone are up to 2 ms late. */
const LATE_MS = 10

type Settings = Omit<LoadReport, 'ok' | 'items' | 'all' | 'histogram' | 'limited_by' | 'assertions'>

export function reportOf(
  settings: Settings,
  statistics: Readonly<Record<Operation, Statistics>>,
  assertions: readonly Assertion[],
): LoadReport {
  const { duration_ms, mix, generator } = settings
  const total = new Statistics()
  const items = operations
    .filter((it) => mix[it] > 0)
    .map((operation) => {
      total.merge(statistics[operation])
      return operationReport(operation, statistics[operation], duration_ms)
    })
  const all = operationReport('all', total, duration_ms)
  const results = assertions.map((it) => judge(it, { items, all }))
  const isLate = (generator.late_p99_ms ?? 0) > LATE_MS
  const limited_by = isLate ? 'generator' : NOT_SENT in all.errors ? 'connections' : null
  return {
    ok: all.succeeded > 0 && results.every((it) => it.holds) && !failsForTemplate(all.errors),
    ...settings,
    items,
    all,
    histogram: operations.flatMap((operation) =>
      statistics[operation].buckets.rows.map((row) => ({ operation, ...row })),
    ),
    limited_by,
    assertions: results,
  }
}
