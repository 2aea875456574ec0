import { expect, test } from 'vitest'
import { type Assertion, assertFlag, judge, parseAssertions } from '../../../src/cli/load/assertions.js'
import { operationReport } from '../../../src/cli/load/operation-report.js'
import { Statistics } from '../../../src/cli/load/statistics.js'

/** Reports of 1,000 verify calls in 10 s with latencies of 1 to 999 ms, of which one failed, and of no issue call. */
function reports() {
  const verify = new Statistics()
  for (let ms = 1; ms <= 999; ms += 1) verify.addSuccess(ms)
  verify.addFailure('RATE_LIMITED')
  const items = [operationReport('issue', new Statistics(), 10_000), operationReport('verify', verify, 10_000)]
  return { items, all: operationReport('all', verify, 10_000) }
}

const results = (text: string) => {
  const parsed = parseAssertions(text)
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.value.map((it) => judge(it, reports()))
}

test.each([
  ['p50<600ms', true],
  ['verify.p50<=499.9ms', false],
  ['p50<400ms', false],
  ['p90<0.95s', true],
  ['p95>940ms', true],
  ['p99<=1s', true],
  ['p999<500ms', false],
  ['mean<501ms', true],
  ['max>=999ms', true],
  ['errors<0.2%', true],
  ['errors<0.1%', false],
  ['errors<=0.1%', true],
  ['errors<1', false],
  ['errors<=1', true],
  ['rate>=99/s', true],
  ['rate>100', false],
  ['verify.p99<1s', true],
  ['verify.errors<=1', true],
  ['issue.errors<=0', true],
])('the assertion %s on 999 latencies and 1 error is %s', (text, holds) => {
  expect(results(text).map((it) => it.holds)).toEqual([holds])
})

test('assertion about latencies or error shares fails without a call', () => {
  for (const it of results('issue.p99<1s,issue.max>0ms,issue.errors<1%')) {
    expect(it).toMatchObject({ holds: false, observed: null })
  }
})

test('latency limit of an assertion keeps fractions of a millisecond', () => {
  expect(parseAssertions('p50<0.25ms')).toMatchObject({ ok: true, value: [{ limit: 0.25 }] })
})

test('--assert joins the conditions of all its values', () => {
  const read = assertFlag('').read(['p99<50ms,errors<0.1%', 'rate>10'])
  const found = read.ok ? read.value.map(({ metric, limit, unit }: Assertion) => [metric, limit, unit]) : read
  expect(found).toEqual([
    ['p99', 50, 'ms'],
    ['errors', 0.1, '%'],
    ['rate', 10, '/s'],
  ])
})

test.each([
  ['p98<50ms', 1, 'p98'],
  ['p99<50ms,p98<1s', 10, 'p98'],
  ['p99=50ms', 4, '='],
  ['p99==50ms', 4, '=='],
  ['p99', 4, ''],
  ['p99<50', 5, '50'],
  ['p99<NaNms', 5, 'NaNms'],
  ['p99<-5ms', 5, '-5ms'],
  ['p99<50 ms', 5, '50 ms'],
  ['errors<0.1%,errors<5ms', 20, '5ms'],
  ['errors<', 8, ''],
  ['rate>10%', 6, '10%'],
  ['verfy.p99<20ms', 1, 'verfy.p99'],
  ['verify.p98<20ms', 8, 'p98'],
  ['all.verify.p99<1s', 1, 'all.verify.p99'],
  ['', 1, ''],
  ['p99<50ms,', 10, ''],
  ['constructor<1', 1, 'constructor'],
])('the assertion %j is refused at character %i, %j', (text, position, found) => {
  expect(parseAssertions(text)).toMatchObject({
    ok: false,
    message: expect.stringContaining(`"${text}" is wrong at character ${position}, "${found}": it needs `),
  })
})
