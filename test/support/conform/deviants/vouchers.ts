import type { TransportRequest, TransportResponse } from '../../../../src/client/transport.js'
import {
  acceptsCode,
  any,
  bodyOf,
  type Call,
  type Deviate,
  deviants,
  post,
  refusal,
  refuses,
  responds,
  returnsData,
  sends,
  sendsBody,
} from '../deviants.js'

const runtime = '/api/v1/open-platform/vouchers/'

/** Refuses concurrent calls under one key instead of waiting. */
const inFlight =
  (when: Call): Deviate =>
  (next) => {
    const running = new Set<unknown>()
    return async (request) => {
      const key = request.headers['idempotency-key']
      if (!when(request) || key === undefined) return next(request)
      if (running.has(key)) return refusal(409, 'IDEMPOTENCY_KEY_IN_PROGRESS')
      running.add(key)
      try {
        return await next(request)
      } finally {
        running.delete(key)
      }
    }
  }

/** Reads an idempotency key in lower case. */
const lowersKeys = sends(any, ({ headers }) => {
  const key = headers['idempotency-key']
  return key === undefined ? {} : { headers: { ...headers, 'idempotency-key': key.toLowerCase() } }
})

/** Stores refusals under their key too, and repeats them for the same body. */
const finalRefusals: Deviate = (next) => {
  const refusals = new Map<string, TransportResponse>()
  return async (request) => {
    const id = `${request.headers['idempotency-key']} ${request.body}`
    const response = refusals.get(id) ?? (await next(request))
    if (post('/redeem')(request) && response.status === 409) refusals.set(id, response)
    return response
  }
}

const codeOf = (request: TransportRequest): string => bodyOf(request).credential?.value ?? ''
let added = 0

/** Deviant servers by the probe that reports them. */
export const vouchers = deviants({
  'idempotency-keys/redeem-without-a-key': sends(post('/redeem'), ({ headers }) => ({
    headers: { 'idempotency-key': `added-${(added += 1)}`, ...headers },
  })),
  'idempotency-keys/quotes': sends(post('/redeem'), ({ headers }) => ({
    headers: { ...headers, 'idempotency-key': (headers['idempotency-key'] ?? '').replaceAll('"', '!') },
  })),
  'idempotency-keys/other-body': sendsBody(post('/redeem'), ({ reference, ...rest }) =>
    reference === 'other' ? rest : { reference, ...rest },
  ),
  'keys-in-flight/issue': inFlight(post('/vouchers/issue')),
  'keys-in-flight/replay': inFlight(post('/redeem')),
  'keys-in-flight/reversal': inFlight(post('/reverse')),
  'idempotency-keys/other-case': lowersKeys,
  'idempotency-keys/replay-header': responds(
    post('/redeem'),
    ({ headers: { 'idempotent-replayed': _, ...headers } }) => ({ headers }),
  ),
  'idempotency-keys/refusal-of-the-same-body': finalRefusals,
  'replays/not-the-first-call': responds(post('/issue'), ({ headers }) => ({
    headers: { ...headers, 'idempotent-replayed': 'true' },
  })),
  'templates/too-large-issue-limit': sendsBody(post(`${runtime}templates`), (body) => ({
    ...body,
    ...(body.issue_limit > 1_000_000_000 && { issue_limit: 1_000_000_000 }),
  })),
  'template-states/submit': returnsData(post('/submit'), (data) => ({ ...data, status: 'active' })),
  'bot-side-templates/review-without-a-link': responds(post('/submit'), ({ status }, { path }) =>
    status === 200 && path.startsWith('/api/v1/bots/') && !path.includes('bot_shop')
      ? refusal(409, 'BOT_NOT_LINKED')
      : {},
  ),
  'validity/duration-of-1095': refuses(
    (it) => post(`${runtime}templates`)(it) && bodyOf(it).validity?.duration_days === 1095,
    400,
  ),
  'validity/day-of-86400-seconds': returnsData(post('/issue'), (data) => ({
    ...data,
    validUntil: '2099-01-01T00:00:00.000Z',
  })),
  'credentials/lower-case': refuses((it) => post('/verify')(it) && /^[0-9a-z-]*[a-z]/.test(codeOf(it)), 400),
  'issue/repeated-status': responds(post('/vouchers/issue'), ({ status }) => ({
    status: status === 200 ? 201 : status,
  })),
  'issue/other-recipient': acceptsCode(post('/vouchers/issue'), 'EXTERNAL_ISSUE_ID_CONFLICT', refusal(422, 'CONFLICT')),
  'bot-issue/delivery': returnsData(post('/bots/vouchers/issue'), (data) => ({ ...data, delivery: null })),
  'vouchers/expired': returnsData(post('/verify'), (data) => ({
    ...data,
    voucher: { ...data.voucher, status: data.voucher.status.replace('expired', 'issued') },
  })),
  'verify/expired': returnsData(post('/verify'), (data) => ({
    ...data,
    reason: data.reason === 'expired' ? 'old' : data.reason,
  })),
  'redemptions/second': acceptsCode(
    post('/redeem'),
    'VOUCHER_ALREADY_REDEEMED',
    refusal(422, 'VOUCHER_ALREADY_REDEEMED'),
  ),
  'failure-codes/expired': acceptsCode(post('/redeem'), 'VOUCHER_EXPIRED', refusal(409, 'VOUCHER_GONE')),
  'reversal/metadata': returnsData(post('/reverse'), (data, request) => ({ ...data, ...bodyOf(request) })),
})
