import type { TransportRequest, TransportResponse } from '../../../src/client/transport.js'
import { bodyOf, type Data, type Deviant, type Deviate, refusal } from '../deviant-tables.js'
import { changedBody } from '../deviants.js'

const runtime = '/api/v1/open-platform/vouchers/'
const isCall = ({ method, path }: TransportRequest, name: string) => method === 'POST' && path.endsWith(name)

/** Changes the requests of POST calls whose path ends with `name`, before the server sees them. */
const asks =
  (name: string, change: (request: TransportRequest) => Partial<TransportRequest>): Deviate =>
  (next) =>
  (request) =>
    next(isCall(request, name) ? { ...request, ...change(request) } : request)

const asksBody = (name: string, change: (body: Data) => Data): Deviate =>
  asks(name, ({ body }) => (body === undefined ? {} : { body: changedBody(body, change) ?? '' }))

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

const codeOf = (request: TransportRequest): string => bodyOf(request).credential?.value ?? ''
let added = 0

/** Deviant servers by the probe that reports them. */
export const vouchers: readonly Deviant[] = [
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
  [
    'idempotency-keys/other-body',
    asksBody('/redeem', ({ reference, ...rest }) => (reference === 'other' ? rest : { reference, ...rest })),
  ],
  ['keys-in-flight/replay', inFlight],
  [
    'replays/not-the-first-call',
    responds('/issue', ({ headers }) => ({ headers: { ...headers, 'idempotent-replayed': 'true' } })),
  ],
  [
    'templates/too-large-issue-limit',
    asksBody(`${runtime}templates`, (it) => ({
      ...it,
      ...(it.issue_limit > 1_000_000_000 && { issue_limit: 1_000_000_000 }),
    })),
  ],
  ['template-states/submit', returns('/submit', (data) => ({ ...data, status: 'active' }))],
  [
    'bot-side-templates/review-without-a-link',
    responds('/submit', ({ status }, { path }) =>
      status === 200 && path.startsWith('/api/v1/bots/') && !path.includes('bot_shop')
        ? refusal(409, 'BOT_NOT_LINKED')
        : {},
    ),
  ],
  [
    'validity/duration-of-1095',
    refuses(`${runtime}templates`, (it) => bodyOf(it).validity?.duration_days === 1095, 400, 'VALIDATION_FAILED'),
  ],
  ['validity/day-of-86400-seconds', returns('/issue', (data) => ({ ...data, validUntil: '2099-01-01T00:00:00.000Z' }))],
  ['credentials/lower-case', refuses('/verify', (it) => /^[0-9a-z-]*[a-z]/.test(codeOf(it)), 400, 'VALIDATION_FAILED')],
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
