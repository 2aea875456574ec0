import type { Operation } from './mix.js'
import type { Statistics } from './statistics.js'

/** Counts and latencies of an operation. Latencies are of successful calls, from the due time on; null without one. */
export interface OperationReport {
  readonly operation: Operation | 'all'
  readonly calls: number
  readonly succeeded: number
  readonly failed: number
  /** Successful calls per second. */
  readonly per_second: number
  readonly min_ms: number | null
  readonly mean_ms: number | null
  readonly p50_ms: number | null
  readonly p90_ms: number | null
  readonly p95_ms: number | null
  readonly p99_ms: number | null
  readonly p999_ms: number | null
  readonly max_ms: number | null
  /** Failed calls by code. */
  readonly errors: Readonly<Record<string, number>>
}

export function operationReport(
  operation: OperationReport['operation'],
  statistics: Statistics,
  durationMs: number,
): OperationReport {
  return {
    operation,
    calls: statistics.succeeded + statistics.failed,
    succeeded: statistics.succeeded,
    failed: statistics.failed,
    per_second: durationMs === 0 ? 0 : Math.round((statistics.succeeded / durationMs) * 10_000) / 10,
    min_ms: statistics.minMs,
    mean_ms: statistics.meanMs,
    p50_ms: statistics.percentileMs(50),
    p90_ms: statistics.percentileMs(90),
    p95_ms: statistics.percentileMs(95),
    p99_ms: statistics.percentileMs(99),
    p999_ms: statistics.percentileMs(99.9),
    max_ms: statistics.maxMs,
    errors: statistics.errors,
  }
}
