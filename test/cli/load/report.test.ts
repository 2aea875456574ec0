import { expect, test } from 'vitest'
import { adviceOf, limitOf } from '../../../src/cli/load/advice.js'
import { reportOf } from '../../../src/cli/load/report.js'
import { linesOf } from '../../../src/cli/load/report-lines.js'
import { Statistics } from '../../../src/cli/load/statistics.js'
import { loadPaint } from '../../../src/cli/output/colour.js'

const paint = await loadPaint(false)

/** Report of verify calls with these latencies and failures. */
function reportOfVerify(latenciesMs: readonly number[], failures: readonly string[] = [], lateMs = 1) {
  const verify = new Statistics()
  for (const it of latenciesMs) verify.addSuccess(it)
  for (const it of failures) verify.addFailure(it)
  const settings = {
    ...({ addresses: ['http://127.0.0.1:1'], template_id: 'tpl_01', shape: 'steady', rate: 10, seed: 1 } as const),
    ...{ mix: { issue: 0, verify: 100, redeem: 0 }, duration_ms: 1_000, warmup_ms: 0, interrupted: false },
    issued_ahead: 1,
    series: [],
    generator: {
      ...{ cpu_percent: 12, late_p50_ms: 0.5, late_p99_ms: lateMs, late_max_ms: lateMs },
      ...{ connections: 64, waiting_max: 3 },
    },
  }
  return reportOf(settings, { issue: new Statistics(), verify, redeem: new Statistics() }, [])
}

test('load table shows three digits of each latency, and a dash without a successful call', () => {
  expect(linesOf(reportOfVerify([0.5, 12.34, 1_500]), paint)[1]).toBe(
    'verify             3       0       3    12.3   1,500   1,500   1,500   1,500',
  )
  expect(linesOf(reportOfVerify([], ['TIMEOUT']), paint)[1]).toMatch(/(?: +-){5}$/)
})

test('load table shows how many calls waited for a connection', () => {
  expect(linesOf(reportOfVerify([1]), paint).at(-1)).toBe(
    'This machine: CPU 12 % of a core, calls started 0.50 ms late (p99 1.00 ms), up to 3 waited for a connection.',
  )
})

test('load table prints a failure code of a server without control characters', () => {
  const lines = linesOf(reportOfVerify([], ['\u001b[2JOWNED']), paint)
  expect(lines.join('\n')).not.toContain('\u001b')
})

test.each([
  ['generator', 10.1, []],
  ['generator', 10.1, ['NOT_SENT']],
  ['connections', 10, ['NOT_SENT']],
  [null, 10, ['TIMEOUT']],
] as const)('a run is limited by %s with calls %d ms late and the failures %j', (limit, lateMs, failures) => {
  const report = reportOfVerify([1], failures, lateMs)
  expect(report.limited_by).toBe(limit)
  const rules = { generator: /^This machine is the limit rather than the server/, connections: /more --connections/ }
  if (limit === null) expect(limitOf(report)).toBeUndefined()
  else expect(limitOf(report)).toMatch(rules[limit])
})

test('advice explains 429 and NO_VOUCHER, and nothing else', () => {
  expect(adviceOf(reportOfVerify([1], ['RATE_LIMITED']))).toContain('server start --rate-limit off')
  expect(adviceOf(reportOfVerify([1], ['NO_VOUCHER']))).toContain('no voucher was left')
  expect(adviceOf(reportOfVerify([1], ['TIMEOUT']))).toBeUndefined()
})

test('load report without a successful call is not ok, even if no assertion failed', () => {
  expect([reportOfVerify([1]).ok, reportOfVerify([]).ok]).toEqual([true, false])
})
