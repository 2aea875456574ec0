import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Transport, TransportRequest, TransportResponse } from '../../src/client/transport.js'
import { ruleOf } from '../../src/conform/probe.js'
import { type Reference, startReference } from '../support/conform.js'

/** A deviant server: the reference behind a proxy that changes one thing. */
type Deviate = (reference: Transport) => Transport
// biome-ignore lint/suspicious/noExplicitAny: members of any response
type Data = any

let reference: Reference
beforeAll(async () => {
  reference = await startReference()
})
afterAll(() => reference.close())

const runtime = '/api/v1/open-platform/vouchers/'
const isCall = ({ method, path }: TransportRequest, name: string) => method === 'POST' && path.endsWith(name)
const bodyOf = ({ body }: TransportRequest) => JSON.parse(body ?? '{}')

/** Changes the requests of POST calls whose path ends with `name`, before the server sees them. */
const asks =
  (name: string, change: (request: TransportRequest) => Partial<TransportRequest>): Deviate =>
  (next) =>
  (request) =>
    next(isCall(request, name) ? { ...request, ...change(request) } : request)

const asksBody = (name: string, change: (body: Data) => Data): Deviate =>
  asks(name, (request) => (request.body === undefined ? {} : { body: JSON.stringify(change(bodyOf(request))) }))

/** Changes `data` of the successes of POST calls. */
const returns =
  (name: string, change: (data: Data, request: TransportRequest) => Data): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    if (!isCall(request, name) || response.status > 299) return response
    const json = JSON.parse(response.body)
    return { ...response, body: JSON.stringify({ ...json, data: change(json.data, request) }) }
  }

/** Changes responses to POST calls. */
const responds =
  (
    name: string,
    change: (response: TransportResponse, request: TransportRequest) => Partial<TransportResponse>,
  ): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    return isCall(request, name) ? { ...response, ...change(response, request) } : response
  }

const refusal = (status: number, code: string): TransportResponse => ({
  status,
  headers: {},
  body: JSON.stringify({ success: false, code, message: 'No.', retryable: false, details: {}, requestId: 'req_1' }),
})

/** Refuses some POST calls. */
const refuses =
  (name: string, when: (request: TransportRequest) => boolean, status: number, code: string): Deviate =>
  (next) =>
  async (request) =>
    isCall(request, name) && when(request) ? refusal(status, code) : next(request)

/** Refuses concurrent redemptions under one key instead of waiting. */
const inFlight: Deviate = (next) => {
  const running = new Set<unknown>()
  return async (request) => {
    const key = request.headers['idempotency-key']
    if (!isCall(request, '/redeem') || key === undefined) return next(request)
    if (running.has(key)) return refusal(409, 'IDEMPOTENCY_KEY_IN_PROGRESS')
    running.add(key)
    try {
      return await next(request)
    } finally {
      running.delete(key)
    }
  }
}

const codeOf = (request: TransportRequest): string => bodyOf(request).credential.value
let added = 0

const deviants: readonly (readonly [probe: `${string}/${string}`, deviate: Deviate])[] = [
  [
    'idempotency-keys/redeem-without-a-key',
    asks('/redeem', ({ headers }) => ({ headers: { 'idempotency-key': `added-${(added += 1)}`, ...headers } })),
  ],
  [
    'idempotency-keys/quotes',
    asks('/redeem', ({ headers }) => ({
      headers: { ...headers, 'idempotency-key': (headers['idempotency-key'] ?? '').replaceAll('"', '!') },
    })),
  ],
  ['idempotency-keys/other-body', asksBody('/redeem', ({ reference: _, ...rest }) => rest)],
  ['keys-in-flight/replay', inFlight],
  [
    'replays/not-the-first-call',
    responds('/issue', ({ headers }) => ({ headers: { ...headers, 'idempotent-replayed': 'true' } })),
  ],
  [
    'templates/too-large-issue-limit',
    asksBody(`${runtime}templates`, (it) => ({ ...it, issue_limit: Math.min(it.issue_limit, 1_000_000_000) })),
  ],
  ['template-states/submit', returns('/submit', (data) => ({ ...data, status: 'active' }))],
  [
    'bot-side-templates/review-without-a-link',
    refuses('/submit', ({ path }) => !path.includes('bot_shop'), 409, 'BOT_NOT_LINKED'),
  ],
  [
    'validity/duration-of-1095',
    refuses(`${runtime}templates`, (it) => bodyOf(it).validity?.duration_days === 1095, 400, 'VALIDATION_FAILED'),
  ],
  ['validity/day-of-86400-seconds', returns('/issue', (data) => ({ ...data, validUntil: '2099-01-01T00:00:00.000Z' }))],
  ['credentials/lower-case', refuses('/verify', (it) => /^[0-9a-z-]+$/.test(codeOf(it)), 400, 'VALIDATION_FAILED')],
  ['issue/repeated-status', responds('/vouchers/issue', ({ status }) => ({ status: status === 200 ? 201 : status }))],
  [
    'issue/other-recipient',
    responds('/vouchers/issue', (response) =>
      response.body.includes('EXTERNAL_ISSUE_ID_CONFLICT') ? refusal(422, 'CONFLICT') : {},
    ),
  ],
  ['bot-issue/delivery', returns('/bots/vouchers/issue', (data) => ({ ...data, delivery: null }))],
  [
    'vouchers/expired',
    returns('/verify', (data) => ({
      ...data,
      voucher: { ...data.voucher, status: data.voucher.status.replace('expired', 'issued') },
    })),
  ],
  [
    'verify/expired',
    returns('/verify', (data) => ({ ...data, reason: data.reason === 'expired' ? 'old' : data.reason })),
  ],
  [
    'redemptions/second',
    responds('/redeem', (response) =>
      response.body.includes('VOUCHER_ALREADY_REDEEMED') ? refusal(422, 'VOUCHER_ALREADY_REDEEMED') : {},
    ),
  ],
  [
    'failure-codes/expired',
    responds('/redeem', (response) => (response.body.includes('VOUCHER_EXPIRED') ? refusal(409, 'VOUCHER_GONE') : {})),
  ],
  ['reversal/metadata', returns('/reverse', (data, request) => ({ ...data, ...bodyOf(request) }))],
]

/** Deviants for which all rules of the group run; for the others the probes of their rule. */
const amongAll = new Set([
  'idempotency-keys/other-body',
  'credentials/lower-case',
  'issue/repeated-status',
  'vouchers/expired',
  'redemptions/second',
])

describe.concurrent('a deviant server', () => {
  test.each(deviants)('is named by %s, and by no probe of another rule', async (probe, deviate) => {
    const { results } = await reference.run({
      only: [amongAll.has(probe) ? 'vouchers' : ruleOf({ id: probe })],
      deviate,
    })
    const differing = results.filter(({ result }) => result === 'differs')
    expect(differing.map((it) => it.probe)).toContain(probe)
    expect(differing.every(({ request }) => request !== null)).toBe(true)
    expect(new Set(differing.map(({ rule }) => rule))).toEqual(new Set([ruleOf({ id: probe })]))
  })
})

test('the reference follows all but two headers Idempotency-Key through the encrypted transport', async () => {
  const { results } = await reference.run({ only: ['vouchers'], encrypted: true })
  const others = results.filter(({ result }) => result !== 'holds')
  expect(others.map(({ probe, result }) => [probe, result])).toEqual([['idempotency-keys/two-keys', 'not_applicable']])
})

test('a run against the reference stays within its budget of calls and vouchers', async () => {
  let calls = 0
  const { left } = await reference.run({ only: ['vouchers'], onExchange: () => (calls += 1) })
  expect(calls).toBeLessThanOrEqual(350)
  expect(left.filter(({ kind }) => kind === 'voucher').length).toBeLessThanOrEqual(40)
})
