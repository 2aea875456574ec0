import { expect, it, onTestFinished, vi } from 'vitest'
import { createMetrics } from '../../../src/server/observe/metrics.js'
import { run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { testDeps } from '../../support/server/app.js'
import { parseExposition, valueOf } from '../../support/server/exposition.js'

const entry = { endpoint: 'health.live', method: 'GET', status: 200, code: null, replayed: false, duration_ms: 3 }

const family = (type: string, ...lines: readonly string[]) =>
  ['# HELP a_x Text.', `# TYPE a_x ${type}`, ...lines, ''].join('\n')
const buckets = (...values: readonly string[]) => family('histogram', ...values.map((it) => `a_x_${it}`))
const renamed = (name: string, type: string, labels = '') =>
  `# HELP ${name} Text.\n# TYPE ${name} ${type}\n${name}${labels} 1\n`

it('parser reads names, escaped labels, values, and the help of a scrape', () => {
  const text = `${family('gauge', 'a_x{b="\\"\\\\n\\n",c=""} 1.5e-3', 'a_x +Inf', 'a_x{d="1"} NaN')}\n${renamed('b_total', 'counter')}`
  expect(parseExposition(text)).toEqual([
    {
      ...{ name: 'a_x', type: 'gauge', help: 'Text.' },
      samples: [
        { name: 'a_x', labels: { b: '"\\n\n', c: '' }, value: 0.0015 },
        { name: 'a_x', labels: {}, value: Number.POSITIVE_INFINITY },
        { name: 'a_x', labels: { d: '1' }, value: Number.NaN },
      ],
    },
    { name: 'b_total', type: 'counter', help: 'Text.', samples: [{ name: 'b_total', labels: {}, value: 1 }] },
  ])
})

it.each([
  ['no line feed', family('gauge', 'a_x 1').slice(0, -1)],
  ['no help text', '# TYPE a_x gauge\na_x 1\n'],
  ['TYPE must precede', '# HELP a_x Text.\na_x 1\n'],
  ['HELP and TYPE must precede', `${family('gauge', 'a_x 1')}# HELP a_x Text.\n`],
  ['one HELP', `# HELP a_x Text.\n${family('gauge', 'a_x 1')}`],
  ['one TYPE', `# TYPE a_x gauge\n${family('gauge', 'a_x 1')}`],
  ['unknown type', family('number', 'a_x 1')],
  ['must be together', `${family('gauge', 'a_x 1')}${renamed('b_x', 'gauge')}a_x{c="d"} 1\n`],
  ['a comment must be', `# A comment.\n${family('gauge', 'a_x 1')}`],
  ['invalid escape', '# HELP a_x Text \\t.\n# TYPE a_x gauge\na_x 1\n'],
  ['invalid label', family('gauge', 'a_x{b="\\t"} 1')],
  ['invalid label', family('gauge', 'a_x{b="""} 1')],
  ['invalid label', family('gauge', 'a_x{1b=""} 1')],
  ['invalid label', family('gauge', 'a_x{b="" c=""} 1')],
  ['duplicate label', family('gauge', 'a_x{b="",b=""} 1')],
  ['invalid value', family('gauge', 'a_x one')],
  ['invalid value', family('gauge', 'a_x')],
  ['invalid value', family('gauge', 'a_x 1 2 3')],
  ['timestamp', family('gauge', 'a_x 1 1700000000000')],
  ['invalid name', renamed('a-x', 'gauge')],
  ['duplicate series', family('gauge', 'a_x{b="1",c="2"} 1', 'a_x{c="2",b="1"} 1')],
  ['not negative', renamed('a_total', 'counter').replace(' 1', ' -1')],
  ['end in _total', renamed('a_x', 'counter')],
  ['end in _total', renamed('a_total', 'gauge')],
  ['_bucket', renamed('a_bucket', 'gauge')],
  ['_count or _sum', renamed('a_count', 'gauge')],
  ['_count or _sum', renamed('a_sum', 'gauge')],
  ['label le', renamed('a_x', 'gauge', '{le="1"}')],
  ['label quantile', renamed('a_x', 'gauge', '{quantile="1"}')],
  ['include the type', renamed('a_gauge_x', 'gauge')],
  ['colons', renamed('a:x', 'gauge')],
  ['snake case', renamed('a_xY', 'gauge')],
  ['snake case', renamed('a_x', 'gauge', '{bC="1"}')],
  ['not abbreviated', renamed('a_ms', 'gauge')],
  ['base units', renamed('a_minutes', 'gauge')],
  ['base units', renamed('a_milliseconds', 'gauge')],
  ['base units', renamed('a_kilobytes', 'gauge')],
  ['only buckets', family('histogram', 'a_x 1')],
  [
    'bounds of buckets rise',
    buckets('bucket{le="2"} 1', 'bucket{le="1"} 1', 'bucket{le="+Inf"} 1', 'sum 1', 'count 1'),
  ],
  ['bounds of buckets rise', buckets('bucket{le="b"} 1', 'bucket{le="+Inf"} 1', 'sum 1', 'count 1')],
  ['last bucket is +Inf', buckets('bucket{le="1"} 1', 'sum 1', 'count 1')],
  ['cumulative', buckets('bucket{le="1"} 2', 'bucket{le="+Inf"} 1', 'sum 1', 'count 1')],
  ['one sum and one count', buckets('bucket{le="+Inf"} 1', 'count 1')],
  ['equals the last bucket', buckets('bucket{le="+Inf"} 1', 'sum 1', 'count 2')],
])('parser refuses a scrape that breaks the rule %j: %j', (rule, text) => {
  expect(() => parseExposition(text)).toThrow(rule)
})

it('metrics record the duration of each commit, also of more commits than one batch', async () => {
  const store = openSqliteStore(':memory:')
  onTestFinished(() => store.close())
  const metrics = createMetrics(testDeps({ store }))
  for (let n = 0; n < 600; n++) {
    await store.write(() => run("insert into credential_keys values ($1, '', 0)", [`key_${n}`]))
  }
  const families = parseExposition(String(await metrics.text()))
  expect(valueOf(families, 'voucherctl_commit_duration_seconds_count')).toBe(600)
  expect(valueOf(families, 'voucherctl_commit_duration_seconds_sum')).toBeGreaterThan(0)
})

it('scrape of a store that does not respond has the metrics of the process after 2 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const deps = testDeps()
  onTestFinished(() => deps.store.close())
  let isReading = () => {}
  const reading = new Promise<void>((resolve) => {
    isReading = resolve
  })
  const read = () => {
    isReading()
    return new Promise<never>(() => {})
  }
  const metrics = createMetrics({ ...deps, store: { ...deps.store, read } })
  metrics.observe(entry)
  const text = metrics.text()
  await reading
  await vi.advanceTimersByTimeAsync(2_000)
  const families = parseExposition(String(await text))
  expect(valueOf(families, 'voucherctl_store_up')).toBe(0)
  expect(valueOf(families, 'voucherctl_http_requests_total')).toBe(1)
})
