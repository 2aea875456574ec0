import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import type { ActivityLine } from '../../../../src/contract/platform/activity.js'
import { cli, secrets } from '../../../support/cli/cli.js'
import { listen } from '../../../support/listen.js'

const at = '2026-11-21T10:00:00.000Z'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const part = (body: string) => ({ headers: [], body: base64(body), body_bytes: body.length })
const exchange = {
  request: { method: 'POST', url: '/x', ...part('{"a":1}') },
  response: { status: 404, ...part('{"b":\u001b[31m2}') },
}
const lines: readonly ActivityLine[] = [
  {
    ...{ seq: 1, kind: 'request', exchange },
    request: {
      ...{ time: at, request_id: 'req_1', endpoint: 'vouchers.verify', method: 'POST', path: '/verify', status: 404 },
      ...{ code: 'VOUCHER_NOT_FOUND', application_id: null, voucher_id: null, replayed: false, duration_ms: 1.25 },
      by_operator: true,
    },
  },
  {
    ...{ seq: 2, kind: 'delivery', exchange: null },
    delivery: {
      ...{ delivery_id: 'dlv_1', update_id: 7, update_type: 'ping', bot_id: 'bot_1', voucher_id: null, at, attempt: 2 },
      ...{ manual: false, replay: false, status: null, error: { code: 'connection_refused', message: 'm' } },
      ...{ duration_ms: 3, verdict: null, reason: null, explanation: null, fault: 'late' },
    },
  },
  { seq: 3, kind: 'state', what: 'clock', at },
  { seq: 3, kind: 'state', what: 'seed', at },
  { seq: 3, kind: 'state', what: 'restore', at },
  { seq: 3, kind: 'live' },
  // A change that only a newer server knows.
  { seq: 4, kind: 'state', what: 'constructor' as 'clock', at },
  { seq: 9, kind: 'omitted', count: 6 },
]

async function activity(args: string) {
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end(lines.map((it) => `${JSON.stringify(it)}\n`).join(''))
  })
  const baseUrl = `http://127.0.0.1:${await listen(server)}`
  const { stdout } = await cli(`platform activity --base-url ${baseUrl} ${args}`, { env: secrets })
  return { asked, stdout }
}

test('platform activity prints one line for a request, a delivery, a change and omitted entries', async () => {
  const { stdout, asked } = await activity('')
  expect(asked).toEqual(['/_platform/v1/activity?follow=false&bodies=false'])
  expect(stdout.split('\n').filter((line) => !line.startsWith('  '))).toEqual([
    expect.stringMatching(/404 POST {6}1\.3 ms \/verify VOUCHER_NOT_FOUND by the operator$/),
    expect.stringMatching(/--- SENT {6}3\.0 ms ping dlv_1 attempt 2 connection_refused fault late$/),
    expect.stringMatching(/clock moved$/),
    expect.stringMatching(/seed planted$/),
    expect.stringMatching(/snapshot restored$/),
    'live from here',
    expect.stringMatching(/10:00:00Z constructor$/),
    '6 more',
    '',
  ])
})

test('platform activity --bodies prints bodies without escape sequences below their request', async () => {
  const { stdout, asked } = await activity('--follow --bodies')
  expect(asked).toEqual(['/_platform/v1/activity?follow=true&bodies=true'])
  expect(stdout.split('\n').slice(1, 3)).toEqual(['  > {"a":1}', '  < {"b":2}'])
})

test('platform activity -o jsonl prints the lines of the server', async () => {
  const { stdout } = await activity('-o jsonl')
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ActivityLine),
  ).toEqual(lines)
})
