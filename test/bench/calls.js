// Calls of the measured servers: the records that they need, their bytes, and the generator that sends them.
import { httpRequest } from './http-request.js'
import { program } from './processes.js'

export const CONNECTIONS = 32

const api = '/api/v1/open-platform'
export const issuePath = `${api}/vouchers/issue`
export const verifyPath = `${api}/vouchers/verify`
export const redeemPath = `${api}/vouchers/redeem`
export const reversePath = (redemptionId) => `${api}/vouchers/redemptions/${redemptionId}/reverse`

/** Pattern of the redeem code in the response to an issue. */
export const CODE = '"redeem_code","value":"([^"]+)"'

/** Sends a POST, or a GET if `body` is undefined; returns the `data` of the response or throws. */
export async function fetchJson(url, { token, body, headers = {} }) {
  const hasBody = body !== undefined
  const response = await fetch(url, {
    method: hasBody ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, ...(hasBody && { 'content-type': 'application/json' }), ...headers },
    ...(hasBody && { body: JSON.stringify(body) }),
  })
  const envelope = await response.json()
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${JSON.stringify(envelope)}`)
  return envelope.data
}

/** Calls the operator API. */
export const operatorOf = ({ baseUrl, operatorKey }) => {
  return (path, body = {}) => fetchJson(`${baseUrl}/_platform/v1${path}`, { token: operatorKey, body })
}

/** Creates an application, a token with every scope and an active template over HTTP, as a user would. */
export async function prepareApplication(server) {
  const platform = operatorOf(server)
  const { jwt } = await platform('/accounts/bench/token')
  const applications = `${server.baseUrl}${api}/applications`
  const app = await fetchJson(applications, { token: jwt, body: { name: 'Benchmark' } })
  const scopes = ['read', 'templates:write', 'issue', 'verify', 'redeem', 'reverse'].map((scope) => `vouchers:${scope}`)
  const { token } = await fetchJson(`${applications}/${app.id}/tokens`, { token: jwt, body: { name: 'bench', scopes } })
  const templates = `${server.baseUrl}${api}/vouchers/templates`
  const template = await fetchJson(templates, {
    token,
    body: {
      external_template_id: 'bench',
      name: 'One coffee',
      type: 'exchange',
      issuer_name: 'Corner Cafe',
      fulfiller_name: 'Corner Cafe',
      fulfillment_category: 'offline_service',
      acquisition_source: 'campaign_reward',
      validity: { type: 'relative', duration_days: 30 },
      issue_limit: 1_000_000_000,
    },
  })
  await fetchJson(`${templates}/${template.id}/submit`, { token, body: {} })
  await platform(`/templates/${template.id}/approve`)
  return { token, applicationId: app.id, templateId: template.id }
}

const issueBody = (templateId, order) => ({
  template_id: templateId,
  external_issue_id: order,
  recipient_user_id: `user-${order}`,
})

/** Issues a voucher from the prepared template; returns its redeem code. */
export async function issueCode({ baseUrl }, { token, templateId }, order) {
  const headers = { 'idempotency-key': order }
  const { credentials } = await fetchJson(`${baseUrl}${issuePath}`, {
    token,
    body: issueBody(templateId, order),
    headers,
  })
  return credentials.find(({ type }) => type === 'redeem_code').value
}

/** Throws unless `issuedCount` of the template equals the number of issued vouchers. */
export async function requireWhole({ baseUrl }, { token, templateId }, issued) {
  const { items } = await fetchJson(`${baseUrl}${api}/vouchers/templates`, { token })
  const { issuedCount } = items.find((it) => it.id === templateId)
  if (issuedCount !== issued) throw new Error(`${issued} vouchers were returned, ${issuedCount} are counted`)
}

export function request(path, token, body, idempotencyKey) {
  const key = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...key }
  return httpRequest(path, headers, JSON.stringify(body))
}

export const withCode = (code) => ({ credential: { type: 'redeem_code', value: code } })

/** Requests that issue `count` vouchers; a prefix is used once. */
export const issueRequests = ({ token, templateId }, prefix, count) =>
  Array.from({ length: count }, (_, n) =>
    request(issuePath, token, issueBody(templateId, `${prefix}-${n}`), `issue-${prefix}-${n}`),
  )

/**
 * Starts the load generator.
 * @returns a function that sends `count` requests to the ports of a target, and returns what it captured of the
 *   responses and a sample: the rate, the CPU time of the target in us per request, and of the generator as a share
 */
export function startLoad(start) {
  const generator = start(program('load.js'))
  return async ({ ports, cpu }, requests, { count, capture }) => {
    const before = await cpu()
    const job = { ports, connections: CONNECTIONS, requests, count, capture }
    const { refused, captured, ...sample } = await generator.ask(job)
    const used = (await cpu()) - before
    if (refused.length > 0) throw new Error(`a request was refused: ${JSON.stringify(refused[0])}`)
    return { captured, sample: { ...sample, cpu: used / count } }
  }
}
