import { expect, test } from 'vitest'
import { linesOf, reportOf } from '../../../src/cli/conform/report.js'
import { loadPaint } from '../../../src/cli/output/colour.js'

const difference = {
  probe: 'credentials/lower-case',
  group: 'vouchers',
  rule: 'credentials',
  title: 'A redeem code in lower case is the same code.',
  basis: 'decided',
  kind: 'money',
  missing_path: null,
  result: 'differs',
  reason: null,
  expected: 'a success',
  observed: 'status 404',
  request: "curl -sSgi 'http://127.0.0.1:1/verify' \\\n  -H 'authorization: Bearer '\"${CODE_3}\"",
  variables: { CODE_3: 'vch_1' },
  duration_ms: 1,
} as const

const paint = await loadPaint(false)

const report = (items: Parameters<typeof reportOf>[1]) =>
  linesOf(reportOf('http://127.0.0.1:1', items, [], false), 120, paint).join('\n')

test('report names the record that a secret of the run belongs to, below the request', () => {
  expect(report([difference])).toContain(`"\${CODE_3}"
    CODE_3 belongs to vch_1, which the run made: make another one to send the request.`)
})

test('report counts the differences from specified statements', () => {
  const items = [difference, { ...difference, basis: 'specified' }] as const
  expect(report(items)).toMatch(/0 of 2 statements hold, 2 differences \(1 specified\)\.\n/)
})
