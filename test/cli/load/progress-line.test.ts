import { expect, test } from 'vitest'
import { progressLine } from '../../../src/cli/load/progress-line.js'
import { Statistics } from '../../../src/cli/load/statistics.js'

const schedule = { durationMs: 30_000 }

function statistics() {
  const [issue, verify, redeem] = [new Statistics(), new Statistics(), new Statistics()]
  for (let i = 0; i < 2_000; i += 1) verify.addSuccess(4)
  return { issue, verify, redeem }
}

test('progress line counts the vouchers issued ahead before the run', () => {
  const progress = { issuedAhead: 120, ahead: 1_001, statistics: statistics(), waiting: 0 }
  expect(progressLine(progress, schedule, undefined)).toBe('issuing 120 of 1,001 vouchers ahead')
})

test('progress line shows time, calls, rate and p99, and failures and waiting calls if any', () => {
  const progress = { issuedAhead: 1, ahead: 1, statistics: statistics(), waiting: 0 }
  expect(progressLine(progress, schedule, 10_000)).toBe('10 of 30 s  2,000 calls  200/s  p99 4.0 ms')
  progress.statistics.issue.addFailure('TIMEOUT')
  expect(progressLine({ ...progress, waiting: 7 }, schedule, 10_000)).toMatch(/ {2}1 failed {2}7 waiting$/)
})
