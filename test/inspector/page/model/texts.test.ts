import { expect, test } from 'vitest'
import { bytesOf, hexDump, textOf } from '../../../../src/inspector/page/model/bytes.js'
import { count, dateTime, duration, plural, relative, size } from '../../../../src/inspector/page/model/format.js'
import { matchPath } from '../../../../src/inspector/page/model/match-path.js'
import { lineSplitter } from '../../../../src/inspector/page/model/ndjson.js'

test('line splitter returns each line once its end has arrived', () => {
  const split = lineSplitter()
  expect(['{"a"', ':1}\n{"b":2}\n\n{', '}', '\n'].map(split)).toEqual([[], ['{"a":1}', '{"b":2}'], [], ['{}']])
})

const now = Date.parse('2026-11-21T10:00:00.000Z')

test.each([
  ['2026-11-21T10:00:00.300Z', 'now'],
  ['2026-11-21T09:59:55.000Z', '5 s ago'],
  ['2026-11-21T09:58:01.000Z', '1 min ago'],
  ['2026-11-21T13:00:00.000Z', 'in 3 h'],
  ['2026-12-22T10:00:00.000Z', 'in 31 d'],
  ['2026-12-22T09:59:00.000Z', 'in 31 d'],
  ['2026-11-22T09:59:59.000Z', 'in 1 d'],
  ['2026-12-22T09:00:00.000Z', 'in 30 d'],
])('distance of %s is %j', (at, expected) => {
  expect(relative(at, now)).toBe(expected)
})

test('durations, sizes, numbers and instants have their unit and few digits', () => {
  expect([0.42, 9.96, 42.4, 999, 1234, 61_000].map(duration)).toEqual([
    '0.4 ms',
    '10.0 ms',
    '42 ms',
    '999 ms',
    '1.2 s',
    '61 s',
  ])
  expect([0, 1023, 65_536].map(size)).toEqual(['0 bytes', '1023 bytes', '64.0 KiB'])
  expect([7, 1000, 1_234_567].map(count)).toEqual(['7', '1,000', '1,234,567'])
  expect([0, 1, 2].map((it) => plural(it, 'vouchers'))).toEqual(['0 vouchers', '1 voucher', '2 vouchers'])
  expect(plural(1, 'deliveries')).toBe('1 delivery')
  expect(dateTime('2026-11-21T10:00:00.123Z')).toBe('2026-11-21 10:00:00Z')
})

test('bytes that are not UTF-8 have no text, and a byte order mark stays in it', () => {
  expect([textOf(new Uint8Array([0xff])), textOf(bytesOf('77u/YQ=='))]).toEqual([null, '\ufeffa'])
})

test('hex dump has an offset, the bytes and their ASCII characters', () => {
  const bytes = new TextEncoder().encode('0123456789abcdef<\n')
  expect(hexDump(bytes).split('\n')).toEqual([
    '0000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef',
    `0010  3c 0a${' '.repeat(44)}<·`,
  ])
})

test.each([
  ['/', '/', {}],
  ['/clock', '/clock/', {}],
  ['/requests/:id', '/requests/a%2Fb', { id: 'a/b' }],
  ['/requests/:id', '/requests/%', { id: '%' }],
  ['/requests/:id', '/requests', null],
  ['/clock', '/faults', null],
])('pattern %s matches the path %s as %j', (pattern, path, values) => {
  expect(matchPath(pattern, path)).toEqual(values)
})
