import { expect, test } from 'vitest'
import { faultOf, parsed } from '../support/conform/recordings.js'

const header = { voucherctl_recording: 1, recorded_at: '2026-11-21T10:00:00.000Z', base_url: 'http://a', run: 'a1' }
const request = { method: 'GET', path: '/api/v1/x', headers: { accept: 'a' } }
const exchange = {
  exchange: 1,
  probe: 'lists/one',
  at_ms: 5,
  request,
  response: { status: 200, headers: {}, body: {} },
}
const file = (...lines: (object | string)[]) =>
  lines.map((it) => (typeof it === 'string' ? it : JSON.stringify(it))).join('\n')

test('a recording without a fault is read, with and without a line feed at its end', () => {
  expect(parsed(file(header, exchange)).exchanges).toEqual([exchange])
  expect(parsed(`${file(header, exchange)}\n`).exchanges).toEqual([exchange])
})

test.each<[string, string, number, string]>([
  ['an empty file', '', 1, 'header'],
  ['another file', file({ version: 1 }), 1, 'header'],
  ['a later version', file({ ...header, voucherctl_recording: 2 }), 1, 'has version 2'],
  ['a header without a time', file({ ...header, recorded_at: 'now' }), 1, 'recorded_at'],
  ['a line that is cut short', file(header, exchange, '{"exchange":2,"pro'), 3, 'not a JSON object'],
  ['a line that is missing', file(header, { ...exchange, exchange: 2 }), 2, 'is not exchange 1'],
  ['an exchange without a response', file(header, { ...exchange, response: undefined }), 2, 'no response'],
  ['a path to another server', file(header, { ...exchange, request: { ...request, path: '//b/' } }), 2, 'path'],
  [
    'a header with a line feed',
    file(header, { ...exchange, request: { ...request, headers: { a: 'b\nc' } } }),
    2,
    'headers',
  ],
  ['a request without headers', file(header, { ...exchange, request: { ...request, headers: 1 } }), 2, 'headers'],
  [
    'a value of a later exchange',
    file(header, { ...exchange, request: { ...request, path: '/${1#/id}' } }),
    2,
    '${1#/id}',
  ],
  ['an exchange without a time', file(header, { ...exchange, at_ms: undefined }), 2, 'at_ms'],
  ['a status that is no status', file(header, { ...exchange, response: { status: 2 } }), 2, 'status'],
])('%s is refused with the line and the cause', (_, text, line, cause) => {
  expect(faultOf(text)).toEqual({ line, cause: expect.stringContaining(cause) })
})
