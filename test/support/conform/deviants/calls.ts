import type { TransportRequest, TransportResponse } from '../../../../src/client/transport.js'
import { parseJson } from '../../../../src/values/json.js'
import {
  any,
  bodyOf,
  both,
  type Call,
  type Deviate,
  deviants,
  type Json,
  membersOf,
  on,
  refusal,
  refuses,
  responds,
  returns,
  returnsData,
  sends,
  sendsBody,
} from '../deviants.js'

const open = '/api/v1/open-platform'
const runtime = `${open}/vouchers`

const statusFor = (call: string, from: number, to: number): Deviate =>
  responds(on(call), ({ status }) => ({ status: status === from ? to : status }))

const renamed = (call: string, from: string, to: string): Deviate =>
  returnsData(on(call), ({ [from]: value, ...data }) => ({ ...data, [to]: value }))

const id = '[^/?]+'
const createApplication = `POST ${open}/applications`
const createToken = `POST ${open}/applications/${id}/tokens`
const list = `GET ${runtime}/templates.*`
const createTemplate = `POST ${runtime}/templates`
const submit = `POST ${runtime}/templates/${id}/submit`
const issue = `POST ${runtime}/issue`
const verify = `POST ${runtime}/verify`
const redeem = `POST ${runtime}/redeem`
const read = `GET ${runtime}/redemptions/${id}`
const secureCall: Call = ({ path }) => path.startsWith('/api/v1/secure')

const has = (request: TransportRequest, name: string) => request.headers[name] !== undefined
const isEmpty: Call = ({ body }) => body === '{}'
const isLong: Call = ({ path, body = '' }) => path.startsWith(runtime) && body.length > 65_536
const unknownTemplate: Call = (request) => bodyOf(request).template_id === 'tpl_00000000000000000000000000'
const otherRecipient: Call = (request) => bodyOf(request).recipient_user_id === 'conform-other'
const withMember =
  (name: string, value: unknown): Call =>
  (request) =>
    bodyOf(request)[name] === value
const hasText =
  (text: string): Call =>
  ({ body = '' }) =>
    body.includes(text)

/** Refuses runtime calls by the policy that the owner has set last, before any other check. */
const policyFirst =
  (refuse: (policy: Json) => TransportResponse | undefined): Deviate =>
  (next) => {
    let policy: Json = {}
    return async (request) => {
      if (request.method === 'PATCH') policy = bodyOf(request)
      return (request.path.startsWith(runtime) ? refuse(policy) : undefined) ?? next(request)
    }
  }

const applicationFirst = policyFirst(({ status }) =>
  status === 'disabled' ? refusal(403, 'APPLICATION_DISABLED') : undefined,
)
const encryptionFirst = policyFirst(({ secure_transport }) =>
  secure_transport === 'required' ? refusal(426, 'SECURE_TRANSPORT_REQUIRED') : undefined,
)

/** Lets a token that lacks the scope repeat a call: it gets the response of the first one. */
const replaysFirst: Deviate = (next) => {
  const responses = new Map<string, TransportResponse>()
  return async (request) => {
    const key = request.headers['idempotency-key']
    const response = await next(request)
    if (key === undefined) return response
    if (response.status === 403) return responses.get(key) ?? response
    responses.set(key, response)
    return response
  }
}

/** Tells a caller without the scope so before the encryption that its application requires. */
const scopeBeforeEncryption: Deviate = (next) => {
  const lacking = new Set<string>()
  return async (request) => {
    const response = await next(request)
    const authorization = request.headers.authorization ?? ''
    if (response.body.includes('INSUFFICIENT_SCOPE')) lacking.add(authorization)
    return response.status === 426 && lacking.has(authorization) ? refusal(403, 'INSUFFICIENT_SCOPE') : response
  }
}

const codes = [
  'TOKEN_MISSING',
  'TOKEN_INVALID',
  'TOKEN_REVOKED',
  'INSUFFICIENT_SCOPE',
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'TEMPLATE_NOT_FOUND',
  'REDEMPTION_NOT_FOUND',
  'APPLICATION_NOT_FOUND',
  'BOT_NOT_FOUND',
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
]
/** Paths of lists, by the records that they contain. */
const listPaths: Readonly<Record<string, string>> = {
  templates: `${runtime}/templates`,
  applications: `${open}/applications`,
  bots: '/api/v1/bots/my',
}
const limits = ['reads', 'issue', 'verify', 'redeem', 'reverse', 'template_writes', 'bot_issue', 'bot_calls']

/** Deviant servers for the probes of a rule that are named after codes or limits. */
const byName = (rule: string, names: readonly string[], deviate: (name: string) => Deviate) =>
  Object.fromEntries(names.map((it) => [`${rule}/${it.toLowerCase().replaceAll('_', '-')}`, deviate(it)]))

/** Returns another code in place of this one. */
const withoutCode = (code: string) =>
  returns(any, 4, (json) => ({ ...json, code: json.code === code ? 'OTHER' : json.code }))

/** Announces a limit of 10 calls. */
const withLimit = (name: string) =>
  responds(any, ({ headers: { 'ratelimit-policy': policy = '', ...headers } }) => ({
    headers: { ...headers, 'ratelimit-policy': policy.replace(new RegExp(`"${name}";q=\\d+`), `"${name}";q=10`) },
  }))

/** Replaces a part of the bodies of requests. */
const replaces = (when: Call, part: string | RegExp, by: string): Deviate =>
  sends(when, ({ body = '' }) => ({ body: body.replace(part, by) }))

/** Sends a read in place of the calls with this body. */
const readsInstead = (text: string): Deviate =>
  sends(
    ({ body }) => body === text,
    () => ({ method: 'GET', path: `${runtime}/templates` }),
  )

/** Declares the bodies of these calls as JSON. */
const asJson = (when: Call): Deviate =>
  sends(when, ({ headers }) => ({ headers: { ...headers, 'content-type': 'application/json' } }))

const withoutMetadata = (part: string): Deviate =>
  sendsBody(both(on(issue), hasText(part)), (it) => ({ ...it, metadata: {} }))

const withItems = (change: (items: readonly Json[], request: TransportRequest) => readonly Json[]) =>
  returnsData(on(list), (data, request) => ({ ...data, items: change(data.items as Json[], request) }))

/** Lets a call pass that the platform must refuse, by another value in the request. */
const accepts = (call: string, member: string, value: unknown, instead: unknown): Deviate =>
  sendsBody(both(on(call), withMember(member, value)), (body) => ({ ...body, [member]: instead }))

/** Reads an id of a run in lower case. */
const lowers = (call: string, member: string): Deviate =>
  sendsBody(on(call), (body) => {
    const value = String(body[member])
    return value.startsWith('CONFORM-') ? { ...body, [member]: value.toLowerCase() } : body
  })

/** Counts the calls of each token separately. */
const countsByToken: Deviate = (next) => {
  const calls = new Map<string, number>()
  return async (request) => {
    const response = await next(request)
    const token = request.headers.authorization ?? ''
    calls.set(token, (calls.get(token) ?? 0) + 1)
    const ratelimit = `"reads";r=${6_000 - (calls.get(token) ?? 0)};t=60`
    return { ...response, headers: { ...response.headers, ratelimit } }
  }
}

/** Accepts an external_issue_id with this end. */
const acceptsEnd = (call: string, end: string): Deviate =>
  sendsBody(on(call), (body) => {
    const id = String(body.external_issue_id)
    return id.endsWith(end) ? { ...body, external_issue_id: `${id.slice(0, -end.length)}-end` } : body
  })

/** Deviant servers by the probes that report them. */
export const callDeviants = deviants({
  'envelope/success': returns(on(list), 2, ({ requestId: _, ...json }) => json),
  'envelope/failure': returns(any, 4, ({ retryable: _, ...json }) => json),
  'envelope/request-id-header': responds(any, ({ headers }) => ({ headers: { ...headers, 'x-request-id': 'other' } })),
  'envelope/data-of-a-template': returnsData(on(createTemplate), (template) => ({ template })),
  'envelope/data-of-an-issue': returnsData(on(issue), ({ credentials: _, ...voucher }) => voucher),
  'envelope/data-of-a-bot-issue': returnsData(on('POST /api/v1/bots/vouchers/issue'), ({ delivery: _, ...it }) => it),
  'envelope/items-of-bots': returnsData(on('GET /api/v1/bots/my'), ({ items }) => items),
  'envelope/delivery-mode': returnsData(on(`DELETE /api/v1/bots/my/${id}/webhook`), () => ({})),
  'envelope/status-of-a-created-application': statusFor(createApplication, 201, 200),
  'envelope/status-of-a-created-token': statusFor(createToken, 201, 200),
  'envelope/status-of-a-created-template': statusFor(createTemplate, 201, 200),
  'envelope/status-of-an-issue': statusFor(issue, 201, 200),
  'envelope/status-of-a-list': statusFor(list, 200, 206),
  'envelope/status-of-a-submission': statusFor(submit, 200, 202),
  'envelope/status-of-a-redemption': statusFor(redeem, 200, 201),
  'envelope/status-of-a-verification': statusFor(verify, 200, 201),
  'envelope/status-of-a-removal': statusFor(`DELETE ${open}/applications/.*`, 200, 204),
  'envelope/names-of-an-application': renamed(createApplication, 'allowedOrigins', 'allowed_origins'),
  'envelope/names-of-a-token': renamed(createToken, 'tokenPrefix', 'token_prefix'),
  'envelope/names-of-a-template': renamed(createTemplate, 'issuerName', 'issuer_name'),
  'envelope/names-of-a-voucher': renamed(issue, 'codeHint', 'code_hint'),
  'envelope/names-of-a-redemption': renamed(redeem, 'credentialType', 'credential_type'),
  'envelope/names-of-a-bot': returnsData(on('GET /api/v1/bots/my.*'), ({ items, ...data }) => ({
    ...data,
    items: (items as Json[]).map(({ has_token: hasToken, ...bot }) => ({ ...bot, hasToken })),
  })),
  'envelope/encrypted-transport': returns(secureCall, 2, (data) => ({ ...data, data })),
  'envelope/failure-of-the-encrypted-transport': returns(secureCall, 4, ({ code }) => ({ error: code })),

  'order-of-checks/unknown-path-before-credential': refuses(
    (it) => !has(it, 'authorization') && it.path === `${open}/conform`,
    401,
    'TOKEN_MISSING',
  ),
  'order-of-checks/wrong-method-before-credential': refuses(
    (it) => !has(it, 'authorization') && on(`GET ${runtime}/issue`)(it),
    401,
    'TOKEN_MISSING',
  ),
  'order-of-checks/credential-before-application': applicationFirst,
  'order-of-checks/application-before-encryption': encryptionFirst,
  'order-of-checks/encryption-before-scope': scopeBeforeEncryption,
  'order-of-checks/credential-before-members': refuses(both(on(verify), isEmpty), 400, 'VALIDATION_FAILED'),
  'order-of-checks/scope-before-members': refuses(both(on(issue), isEmpty), 400, 'VALIDATION_FAILED'),
  'order-of-checks/media-type-before-size': refuses(isLong, 413, 'PAYLOAD_TOO_LARGE'),
  'order-of-checks/size-before-json': refuses(
    both(isLong, ({ body = '' }) => parseJson(body) === undefined),
    400,
    'INVALID_JSON',
  ),
  'order-of-checks/members-before-idempotency-key': refuses(
    both(on(issue), (it) => !has(it, 'idempotency-key')),
    400,
    'IDEMPOTENCY_KEY_REQUIRED',
  ),
  'order-of-checks/idempotency-key-before-objects order-of-checks/reused-key-before-objects': refuses(
    both(on(issue), unknownTemplate),
    404,
    'TEMPLATE_NOT_FOUND',
  ),
  'order-of-checks/unknown-object-before-state': refuses(
    both(on('POST /api/v1/bots/vouchers/issue'), (it) => bodyOf(it).template_id !== 'tpl_coffee'),
    409,
    'TEMPLATE_NOT_ACTIVE',
  ),
  'order-of-checks/scope-before-replay': replaysFirst,
  'order-of-checks/malformed-id': refuses(on(`GET ${runtime}/redemptions/conform`), 400, 'VALIDATION_FAILED'),
  'order-of-checks/object-of-another-tenant': returns(on(read), 4, (json, { path }) => ({
    ...json,
    details: { known: !path.endsWith('0000000000') },
  })),
  'order-of-checks/redeemed-before-recipient order-of-checks/future-before-recipient order-of-checks/expired-before-recipient':
    returnsData(both(on(verify), otherRecipient), (data) => ({ ...data, reason: 'recipient_mismatch' })),
  'order-of-checks/redeemed-before-expired': returnsData(on(verify), (data) => {
    const { validUntil } = membersOf(data.voucher)
    return String(validUntil) < String(data.checkedAt) ? { ...data, reason: 'expired' } : data
  }),

  'failure-codes/invalid-token': responds(
    (it) => it.headers.authorization === 'Bearer conform',
    () => ({ status: 403 }),
  ),
  ...byName('failure-codes', codes, withoutCode),

  'lists/pagination': sends(on(`GET ${runtime}/templates`), ({ path }) => ({ path: `${path}?limit=19` })),
  'lists/limit-of-0': sends(on(`${list}limit=0`), () => ({ path: `${runtime}/templates` })),
  'lists/limit-of-101': sends(on(`${list}limit=101`), () => ({ path: `${runtime}/templates` })),
  'lists/limit-of-100': refuses(on(`GET ${runtime}/templates.limit=100`), 400, 'VALIDATION_FAILED'),
  'lists/second-page lists/all-pages-of-templates': sends(on(`${list}page=2.*`), ({ path }) => ({
    path: path.replace('page=2', 'page=1'),
  })),
  ...byName('lists', ['all-pages-of-templates', 'all-pages-of-applications', 'all-pages-of-bots'], (name) =>
    returnsData(on(`GET ${listPaths[name.split('-').at(-1) ?? '']}(?:\\?.*)?`), (data) => {
      const { items, pagination } = data as { items: Json[]; pagination: Json }
      return { items, pagination: { ...pagination, total: items.length, pages: items.length === 0 ? 0 : 1 } }
    }),
  ),
  'lists/page-after-the-last': refuses(on(`${list}page=1000000`), 404, 'PAGE_NOT_FOUND'),
  'lists/newest-first': withItems((items, { path }) => (path.includes('limit=100') ? items.toReversed() : items)),
  'lists/status-filter': sends(on(`${list}status=active.*`), () => ({ path: `${runtime}/templates` })),
  'lists/external-id-filter': sends(on(`${list}external_template_id=.*`), () => ({
    path: `${runtime}/templates?limit=100`,
  })),
  'lists/revoked-tokens': returnsData(on(`GET ${open}/applications/.*/tokens.*`), ({ items, ...data }) => ({
    ...data,
    items: (items as Json[]).filter(({ status }) => status === 'active'),
  })),

  'times/template': returnsData(on(createTemplate), (it) => ({ ...it, createdAt: String(it.createdAt).slice(0, 19) })),
  'times/voucher': returnsData(on(issue), (it) => ({ ...it, issuedAt: Date.parse(String(it.issuedAt)) })),
  'times/redemption': returnsData(on(redeem), (it) => ({
    ...it,
    redeemedAt: String(it.redeemedAt).replace('Z', '+00:00'),
  })),
  'times/offset': refuses(both(on(createTemplate), hasText('+02:00')), 400, 'VALIDATION_FAILED'),
  'times/no-offset': replaces(on(createTemplate), 'T12:00:00"', 'T12:00:00Z"'),

  'ids/req': responds(any, ({ status, headers, body }) =>
    status < 400 ? {} : { headers: { ...headers, 'x-request-id': '1' }, body: body.replace(/"req_[^"]*"/, '"1"') },
  ),
  'ids/app': returnsData(on(createApplication), (it) => ({ ...it, id: 'application_1' })),
  'ids/tpl': returnsData(on(createTemplate), (it) => ({ ...it, id: String(it.id).toLowerCase() })),
  'ids/vch': returnsData(on(issue), (it) => ({ ...it, id: 'voucher-1' })),
  'ids/rdm': returnsData(on(redeem), (it) => ({ ...it, id: 'redemption-1' })),
  'ids/tok': returnsData(on(createToken), (it) => ({ ...it, id: 'token-1' })),

  'text/nfc': returnsData(on(createTemplate), (it) => ({ ...it, name: String(it.name).normalize('NFD') })),
  'text/unchanged': returnsData(on(createTemplate), (it) => ({ ...it, name: String(it.name).trim() })),
  'text/code-points': refuses((it) => String(bodyOf(it).description ?? '').length > 500, 400, 'VALIDATION_FAILED'),
  'text/control-character': accepts(createTemplate, 'name', 'conform\u0007', 'conform'),
  'text/lone-surrogate': accepts(createTemplate, 'name', 'conform\ud800', 'conform'),
  'text/direction-override': accepts(createTemplate, 'name', 'conform\u202e', 'conform'),
  'text/combining-marks': accepts(createTemplate, 'name', `e${'\u0323'.repeat(31)}`, 'conform'),
  'text/30-combining-marks': refuses(hasText('\u0323'.repeat(30)), 400, 'VALIDATION_FAILED'),
  'text/kelvin-sign': refuses(both(on(createTemplate), hasText('\u212a')), 400, 'VALIDATION_FAILED'),
  'text/space-in-an-id': acceptsEnd(issue, ' 1'),
  'text/letter-in-an-id': acceptsEnd(issue, 'é'),
  'text/kelvin-sign-in-an-id': acceptsEnd(issue, '\u212a'),
  'text/space-in-a-recipient': accepts(issue, 'recipient_user_id', 'conform 1', 'conform-1'),
  'text/space-in-a-reference': accepts(redeem, 'reference', 'conform 1', 'conform-1'),
  'text/case-of-ids': refuses(both(on(createTemplate), hasText('CONFORM-')), 409, 'EXTERNAL_TEMPLATE_ID_EXISTS'),
  'text/case-of-an-issue-id': lowers(issue, 'external_issue_id'),
  'text/case-of-a-recipient': lowers(verify, 'recipient_user_id'),
  'text/metadata': refuses(both(on(createTemplate), hasText('k'.repeat(38))), 400, 'VALIDATION_FAILED'),
  'text/metadata-21-pairs': withoutMetadata('20key'),
  'text/metadata-key-of-41': withoutMetadata('k'.repeat(41)),
  'text/metadata-value-of-501': withoutMetadata('v'.repeat(501)),
  'text/metadata-number': withoutMetadata('{"key":1}'),
  'text/metadata-equal-keys': withoutMetadata('e\u0301'),

  'bodies/not-json': readsInstead('{'),
  'bodies/list': readsInstead('[]'),
  'bodies/text': readsInstead('"conform"'),
  'bodies/at-most-64-kib': refuses(
    ({ body = '' }) => body.length > 60_000 && body.length <= 65_536,
    413,
    'PAYLOAD_TOO_LARGE',
  ),
  'bodies/more-than-64-kib': sendsBody(
    both(isLong, (it) => it.headers['content-type'] === 'application/json' && parseJson(it.body ?? '') !== undefined),
    (it) => ({ ...it, recipient_user_id: 'conform' }),
  ),
  'bodies/media-type': asJson((it) => !isLong(it) && it.headers['content-type'] === 'text/plain'),
  'bodies/charset': asJson((it) => /charset/.test(it.headers['content-type'] ?? '')),
  'bodies/content-encoding': sends(any, ({ headers: { 'content-encoding': _, ...headers } }) => ({ headers })),
  'bodies/empty-body': refuses(
    both(on('POST .*/reverse'), (it) => !has(it, 'content-type') && it.body === undefined),
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ),
  'bodies/empty-json': refuses(
    both(on('POST .*/reverse'), (it) => has(it, 'content-type') && it.body === undefined),
    400,
    'INVALID_JSON',
  ),
  'bodies/type-of-a-get': refuses(
    (it) => it.method === 'GET' && has(it, 'content-type'),
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ),
  'bodies/proto': replaces(on(verify), '"__proto__":{"a":"b"},', ''),
  'bodies/proto-inside': replaces(on(issue), '"__proto__":"conform"', ''),
  'bodies/name-twice': replaces(on(verify), /("recipient_user_id":"[^"]*",)"recipient_user_id":"[^"]*",/, '$1'),
  'bodies/no-store': responds(any, ({ headers: { 'cache-control': _, ...headers } }) => ({ headers })),
  'bodies/malformed-escape': refuses(({ path }) => path.endsWith('%zz'), 400, 'VALIDATION_FAILED'),

  'unknown-members/body unknown-members/pointers': sendsBody(
    both(on(verify), withMember('conform', true)),
    ({ conform: _, 'con/form': __, ...it }) => it,
  ),
  'unknown-members/inside': replaces(hasText('"credential":{'), /(\{[^{}]*),"conform":true\}/, '$1}'),
  'unknown-members/query': sends(any, ({ path }) => ({ path: path.replace('?conform=true', '') })),
  'unknown-members/repeated': sends(any, ({ path }) => ({ path: path.replace('page=1&page=1', 'page=1') })),
  'unknown-members/pointers': returns(on(verify), 4, ({ details: _, ...json }) => json),
  'unknown-members/suggestion': responds(on(verify), ({ body }) => ({
    body: body.replace(/,"suggestion":"[^"]*"/, ''),
  })),
  'unknown-members/no-conversion': accepts(verify, 'recipient_user_id', 1, '1'),

  'rate-limits/headers': responds(any, ({ headers: { ratelimit: _, 'ratelimit-policy': __, ...headers } }) => ({
    headers,
  })),
  ...byName('rate-limits', limits, withLimit),
  'rate-limits/all-tokens': countsByToken,
  'rate-limits/refused-calls': responds(any, ({ headers, status }) =>
    status === 400 ? { headers: { ...headers, ratelimit: '"reads";r=5;t=60' } } : {},
  ),

  'versions/announced-removal': responds(on(list), ({ headers }) => ({
    headers: { ...headers, deprecation: '@1798761600', sunset: 'Mon, 01 Mar 2027 00:00:00 GMT' },
  })),
})
