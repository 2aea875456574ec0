import type { TransportRequest, TransportResponse } from '../../../../src/client/transport.js'
import {
  accepts,
  acceptsCode,
  any,
  bodyOf,
  both,
  type Call,
  codeOf,
  type Data,
  type Deviate,
  onPath,
  refusal,
  refuses,
  returnsData,
  sendsBody,
  success,
} from '../deviants.js'
import { tenants } from './callers.js'

/** A platform with one fault, and the probe whose rule its report must name first. */
export type Fault = readonly [fault: string, probe: `${string}/${string}`, deviate: Deviate]

const runtime = '/api/v1/open-platform/vouchers'
const createTemplate = onPath(`POST ${runtime}/templates`)
const issue = onPath(`POST ${runtime}/issue`)
const verify = onPath(`POST ${runtime}/verify`)
const redeem = onPath(`POST ${runtime}/redeem`)
const read = onPath(`GET ${runtime}/redemptions/[^/]+`)
const reverse = onPath(`POST ${runtime}/redemptions/[^/]+/reverse`)
const typed =
  (type: string): Call =>
  (request) =>
    bodyOf(request).credential?.type === type

const keyOf = ({ headers }: TransportRequest) => headers['idempotency-key'] ?? ''
let added = 0
const newKey = () => `added-${(added += 1)}`
const withNewKey = (request: TransportRequest): TransportRequest => ({
  ...request,
  headers: { ...request.headers, 'idempotency-key': newKey() },
})
const isSuccess = ({ status }: TransportResponse) => status <= 299

/** Accepts what the server refuses with a code if it overlaps an earlier call. */
const acceptsOverlap =
  (when: Call, code: string, also: Call = any): Deviate =>
  (next) => {
    let running = 0
    return async (request) => {
      const overlaps = when(request) && also(request) && running > 0
      if (when(request)) running += 1
      try {
        const response = await next(request)
        return overlaps && codeOf(response) === code ? success() : response
      } finally {
        if (when(request)) running -= 1
      }
    }
  }

/** Does a call again, as another one, where the server repeats its first response to the key. */
const forgetsKeys =
  (when: Call, again: (request: TransportRequest) => TransportRequest = withNewKey): Deviate =>
  (next) => {
    const seen = new Set<string>()
    return async (request) => {
      if (!when(request) || keyOf(request) === '') return next(request)
      const isSeen = seen.has(keyOf(request))
      const response = await next(isSeen ? again(request) : request)
      if (isSuccess(response)) seen.add(keyOf(request))
      return response
    }
  }

/** The same issue as a new one, whose response has the external_issue_id of the request. */
const issuesAgain =
  (isRepeated: (response: TransportResponse) => boolean): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    if (!issue(request) || !isRepeated(response)) return response
    const { external_issue_id: externalIssueId, ...body } = bodyOf(request)
    const other = { ...body, external_issue_id: `other-${newKey()}` }
    const second = await next({ ...withNewKey(request), body: JSON.stringify(other) })
    const json = bodyOf(second)
    return { ...second, body: JSON.stringify({ ...json, data: { ...json.data, externalIssueId } }) }
  }

/** What the proxy knows of redemptions: the call that made each, and the last one of each voucher. */
const tracking =
  (
    respond: (known: Tracked, request: TransportRequest, next: Parameters<Deviate>[0]) => Promise<TransportResponse>,
  ): Deviate =>
  (next) => {
    const tracked: Tracked = { made: new Map(), last: new Map(), reversed: new Map() }
    return async (request) => {
      const response = await respond(tracked, request, next)
      if (redeem(request) && isSuccess(response)) {
        const { id, voucherId } = bodyOf(response).data ?? {}
        tracked.made.set(id, { request, voucherId })
        tracked.last.set(voucherId, id)
      }
      return response
    }
  }
interface Tracked {
  readonly made: Map<string, { readonly request: TransportRequest; readonly voucherId: string }>
  readonly last: Map<string, string>
  readonly reversed: Map<string, TransportResponse>
}
const redemptionIn = ({ path }: TransportRequest) => path.split('/').at(-2) ?? ''

/** Redeems the voucher of a reversed redemption at once. */
const staysRedeemed = tracking(async ({ made }, request, next) => {
  const response = await next(request)
  const first = reverse(request) && isSuccess(response) ? made.get(redemptionIn(request)) : undefined
  if (first !== undefined) await next(withNewKey(first.request))
  return response
})

/** Redeems a voucher at its first verification. */
const redeemsByVerify: Deviate = (next) => async (request) => {
  const response = await next(request)
  if (!verify(request) || response.status !== 200) return response
  await next({ ...withNewKey(request), path: request.path.replace('verify', 'redeem') })
  return response
}

/** Reports a reversal that it does not make. */
const reversesNothing = tracking(async ({ reversed }, request, next) => {
  if (!reverse(request)) return next(request)
  const id = redemptionIn(request)
  const earlier = reversed.get(id)
  const isReplay = earlier?.headers.key === keyOf(request)
  if (earlier !== undefined) return isReplay ? earlier : refusal(409, 'REDEMPTION_ALREADY_REVERSED')
  const found = await next({ method: 'GET', path: request.path.replace('/reverse', ''), headers: request.headers })
  if (!isSuccess(found)) return found
  const json = bodyOf(found)
  const data = { ...json.data, status: 'reversed', reversedAt: json.data.redeemedAt }
  const response = {
    ...found,
    headers: { ...found.headers, key: keyOf(request) },
    body: JSON.stringify({ ...json, data }),
  }
  reversed.set(id, response)
  return response
})

/** Reverses the last redemption of the voucher in place of an old one. */
const reversesLast = tracking(async ({ made, last }, request, next) => {
  const response = await next(request)
  const voucherId = reverse(request) ? made.get(redemptionIn(request))?.voucherId : undefined
  const id = last.get(voucherId ?? '')
  if (codeOf(response) !== 'REDEMPTION_ALREADY_REVERSED' || id === undefined) return response
  await next({ ...withNewKey(request), path: request.path.replace(redemptionIn(request), id) })
  return response
})

/** Redeems a voucher although it refuses the call. */
const burnsByRefusal: Deviate = (next) => async (request) => {
  const response = await next(request)
  const { recipient_user_id: _, ...body } = bodyOf(request)
  if (redeem(request) && codeOf(response) === 'RECIPIENT_MISMATCH') {
    await next({ ...withNewKey(request), body: JSON.stringify(body) })
  }
  return response
}

/** Accepts an issue beyond the quota only after a reversal. */
const reversalFreesQuota: Deviate = (next) => {
  let isReversed = false
  return async (request) => {
    const response = await next(request)
    if (reverse(request) && isSuccess(response)) isReversed = true
    return isReversed && codeOf(response) === 'TEMPLATE_QUOTA_EXHAUSTED' ? success() : response
  }
}

const withVoucher = (change: (voucher: Data) => Data) =>
  returnsData(verify, (data) => ({ ...data, voucher: { ...data.voucher, ...change(data.voucher) } }))

/** Puts a new state into the response to the first verification of a voucher, and into later ones. */
const marksByVerify = withVoucher(() => ({ status: 'verified' }))

export const moneyFaults: readonly Fault[] = [
  ['the first verify redeems', 'verify/changes-nothing', redeemsByVerify],
  ['the first verify marks the voucher', 'verify/changes-nothing', marksByVerify],
  ['a second redemption succeeds', 'redemptions/second', acceptsCode(redeem, 'VOUCHER_ALREADY_REDEEMED')],
  [
    'a second redemption by code succeeds',
    'redemptions/second',
    acceptsCode(both(redeem, typed('redeem_code')), 'VOUCHER_ALREADY_REDEEMED'),
  ],
  [
    'a second redemption by QR token succeeds',
    'redemptions/second-by-qr_token',
    acceptsCode(both(redeem, typed('qr_token')), 'VOUCHER_ALREADY_REDEEMED'),
  ],
  ['concurrent redemptions succeed', 'redemptions/at-once', acceptsOverlap(redeem, 'VOUCHER_ALREADY_REDEEMED')],
  [
    'code and QR token of a voucher are redeemed concurrently',
    'redemptions/at-once',
    acceptsOverlap(redeem, 'VOUCHER_ALREADY_REDEEMED', typed('qr_token')),
  ],
  [
    'a redemption for another recipient succeeds',
    'redemptions/other-recipient',
    acceptsCode(redeem, 'RECIPIENT_MISMATCH'),
  ],
  ['a redemption cannot be read', 'redemptions/read', refuses(read, 404, 'REDEMPTION_NOT_FOUND')],
  [
    'a redemption reads as reversed',
    'redemptions/succeeded',
    returnsData(read, (data) => ({ ...data, status: 'reversed' })),
  ],
  ['a second reversal succeeds', 'reversal/once', acceptsCode(reverse, 'REDEMPTION_ALREADY_REVERSED')],
  ['concurrent reversals succeed', 'reversal/at-once', acceptsOverlap(reverse, 'REDEMPTION_ALREADY_REVERSED')],
  ['a reversal is always refused', 'reversal/reverse', refuses(reverse, 409, 'REDEMPTION_NOT_REVERSIBLE')],
  ['a reversed voucher stays redeemed', 'reversal/issued', staysRedeemed],
  ['a reversal has no effect', 'reversal/issued', reversesNothing],
  ['an old reversal reverses a later redemption', 'reversal/later-redemption', reversesLast],
  ['the quota is exceeded', 'issue/exhausted-quota', acceptsCode(issue, 'TEMPLATE_QUOTA_EXHAUSTED')],
  [
    'the quota is one too high',
    'issue/exhausted-quota',
    sendsBody(createTemplate, (it) => ({ ...it, issue_limit: it.issue_limit + 1 })),
  ],
  ['concurrent issues exceed the quota', 'issue/quota-at-once', acceptsOverlap(issue, 'TEMPLATE_QUOTA_EXHAUSTED')],
  [
    'a repeated external_issue_id issues again',
    'issue/repeated-voucher',
    issuesAgain(({ status, headers }) => status === 200 && headers['idempotent-replayed'] === 'true'),
  ],
  [
    'another recipient gets the same external_issue_id',
    'issue/other-recipient',
    issuesAgain((it) => codeOf(it) === 'EXTERNAL_ISSUE_ID_CONFLICT'),
  ],
  [
    'an issued voucher is lost',
    'credentials/verify-redeem_code',
    refuses((it) => verify(it) || redeem(it), 404, 'VOUCHER_NOT_FOUND'),
  ],
  [
    'the QR token of an issue cannot be redeemed',
    'credentials/redeem-qr_token',
    refuses(both(redeem, typed('qr_token')), 404, 'VOUCHER_NOT_FOUND'),
  ],
  ['an unknown code can be verified', 'credentials/unknown-code', accepts(both(verify, typed('redeem_code')), 404)],
  ['a draft issues', 'template-states/issue-of-a-draft', acceptsCode(issue, 'TEMPLATE_NOT_ACTIVE')],
  ['a template issues after its end', 'validity/issue-after-the-end', acceptsCode(issue, 'TEMPLATE_VALIDITY_ENDED')],
  [
    'a voucher is redeemed before it is valid',
    'validity/before-valid-from',
    acceptsCode(redeem, 'VOUCHER_NOT_YET_VALID'),
  ],
  ['an expired voucher is redeemed', 'validity/at-valid-until', acceptsCode(redeem, 'VOUCHER_EXPIRED')],
  [
    'issues are not counted',
    'templates/issue-counts',
    returnsData(onPath(`GET ${runtime}/templates`), (data) => ({
      ...data,
      items: data.items.map((it: object) => ({ ...it, issuedCount: 0 })),
    })),
  ],
  [
    'a redeemed voucher reads as issued',
    'vouchers/redeemed',
    withVoucher(({ status }) => ({ status: status.replace('redeemed', 'issued') })),
  ],
  [
    'a redeemed voucher verifies as redeemable',
    'verify/already-redeemed',
    returnsData(verify, (data) => ({ ...data, redeemable: true, reason: null })),
  ],
  ['a refused redemption burns the voucher', 'idempotency-keys/after-a-refusal', burnsByRefusal],
  [
    'a replay issues again',
    'idempotency-keys/replay-data',
    issuesAgain(({ status, headers }) => status === 201 && headers['idempotent-replayed'] === 'true'),
  ],
  ['a replay redeems again', 'idempotency-keys/late-retry', forgetsKeys(redeem)],
  ['a replay reverses again', 'idempotency-keys/replay-of-a-reversal', forgetsKeys(reverse)],
  ['a key with another body is accepted', 'idempotency-keys/other-body', acceptsCode(redeem, 'IDEMPOTENCY_KEY_REUSED')],
  ['a reversal frees the quota', 'issue/exhausted-quota', reversalFreesQuota],
]

export const tenantFaults: readonly Fault[] = tenants.map(([probe, deviate]) => [`a leak of ${probe}`, probe, deviate])
