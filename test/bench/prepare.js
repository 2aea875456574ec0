/** Creates an application, a token with every scope and an active template over HTTP, as a user would. */
export async function prepareApplication(baseUrl, operatorKey) {
  const platform = (path, body = {}) => fetchJson(`${baseUrl}/_platform/v1${path}`, { token: operatorKey, body })
  const { jwt } = await platform('/accounts/bench/token')
  const applications = `${baseUrl}/api/v1/open-platform/applications`
  const app = await fetchJson(applications, { token: jwt, body: { name: 'Benchmark' } })
  const scopes = ['read', 'templates:write', 'issue', 'verify', 'redeem', 'reverse'].map((scope) => `vouchers:${scope}`)
  const { token } = await fetchJson(`${applications}/${app.id}/tokens`, { token: jwt, body: { name: 'bench', scopes } })
  const templates = `${baseUrl}/api/v1/open-platform/vouchers/templates`
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

/** Issues a voucher from the prepared template; returns the `data` of the response. */
export function issueVoucher(baseUrl, { token, templateId }, externalIssueId) {
  return fetchJson(`${baseUrl}/api/v1/open-platform/vouchers/issue`, {
    token,
    body: { template_id: templateId, external_issue_id: externalIssueId, recipient_user_id: 'user-1' },
    headers: { 'idempotency-key': externalIssueId },
  })
}

/** Sends a POST, or a GET if `body` is undefined; returns the `data` of the response or throws. */
export async function fetchJson(url, { token, body, headers = {} }) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const envelope = await response.json()
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${JSON.stringify(envelope)}`)
  return envelope.data
}
