import type { Operation } from './mix.js'
import type { Statistics } from './statistics.js'

/** Counts and latencies of an operation. Latencies are of successful calls, from the due time on; null without one. */
export type OperationReport = ReturnType<typeof operationReport>

export function operationReport(operation: Operation | 'all', statistics: Statistics, durationMs: number) {
  return {
    operation,
    calls: statistics.succeeded + statistics.failed,
    succeeded: statistics.succeeded,
    failed: statistics.failed,
    // Successful calls.
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
