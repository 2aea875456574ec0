import { describe, expect, it } from 'vitest'
import * as yaml from 'yaml'
import { knownRoutes } from '../../src/cli/command/known-routes.js'
import { inputCheck } from '../../src/cli/scenario/check-input.js'
import { parseScenario } from '../../src/cli/scenario/parse.js'
import { endpoints } from '../../src/contract/index.js'
import type { ActivityLine, DeliveryActivity } from '../../src/contract/platform/activity.js'
import type { FaultKind } from '../../src/contract/platform/fault-kinds.js'
import { recordedScenario } from '../../src/recorder/recorded-scenario.js'

const AT = '2026-11-24T12:00:00.000Z'
const BOT = 'bot_01JC0000000000000000000001'
const CHAT = 'chat_01JC0000000000000000000002'
const base64 = (value: unknown) => (value === undefined ? null : Buffer.from(JSON.stringify(value)).toString('base64'))

interface Given {
  readonly body?: unknown
  readonly data?: unknown
  readonly token?: string
  readonly key?: string
  readonly code?: string
  readonly status?: number | null
  readonly url?: string
  readonly replayed?: boolean
  readonly isGone?: boolean
  readonly fault?: FaultKind
  readonly details?: object
  readonly application?: string
  readonly id?: string
  readonly time?: string
}

let seq = 0

/** The line of a call, with names of secrets. */
function call(id: string | null, given: Given = {}): ActivityLine {
  const endpoint = endpoints.find((it) => it.id === id)
  const { body, data, token = '[hidden 1]', key, code = null, status = code === null ? 200 : 409 } = given
  const { fault, details, application = null, time = AT } = given
  const request = {
    request_id: given.id ?? 'req_1',
    endpoint: id,
    method: endpoint?.method ?? 'GET',
    path: endpoint?.path ?? null,
  }
  const ids = {
    application_id: application,
    voucher_id: null,
    ...(fault && { fault }),
    replayed: given.replayed ?? false,
    duration_ms: 1,
  }
  const headers: [string, string][] = [
    ['Authorization', token],
    ...(key === undefined ? [] : [['Idempotency-Key', key] as [string, string]]),
  ]
  const sent = {
    method: request.method,
    url: given.url ?? endpoint?.path ?? '/',
    headers,
    body: base64(body),
    body_bytes: body === undefined ? 0 : 9,
  }
  const response = { status, headers: [], body: base64({ success: code === null, data, details }), body_bytes: 9 }
  return {
    ...{ seq: ++seq, kind: 'request', request: { time, status: status ?? 0, code, ...request, ...ids } },
    exchange: given.isGone ? null : { request: sent, response: status === null ? null : response },
  }
}

function attempt(status: number | null, error: DeliveryActivity['error'] = null, isReplay = false): ActivityLine {
  const ids = { delivery_id: 'dlv_1', update_id: 1, update_type: 'my_chat_member', bot_id: BOT, voucher_id: null }
  const verdict = { verdict: null, reason: null, explanation: null }
  const made = { at: AT, attempt: 1, manual: false, replay: isReplay, status, error, duration_ms: 1 }
  const body = base64({ my_chat_member: { chat: { id: CHAT } } })
  const request = { method: 'POST', url: 'http://127.0.0.1:9/…', headers: [], body, body_bytes: 9 }
  const delivery = { ...ids, ...made, ...verdict }
  return { seq: ++seq, kind: 'delivery', delivery, exchange: { request, response: null } }
}

/**
 * Makes a scenario, which the parser must accept.
 * @param existing records from before the recording, by the endpoint that lists them
 */
async function recorded(
  lines: readonly ActivityLine[],
  existing: Record<string, readonly object[]> = {},
  options: { readonly ids?: ReadonlySet<string>; readonly startedAt?: undefined } = {},
) {
  const read = async ({ id }: { readonly id: string }) => ({ items: existing[id] ?? [] })
  const { parts, ...made } = await recordedScenario({ lines, startedAt: AT, read, ...options })
  const text = parts?.join('') ?? ''
  const parsed = parseScenario(text, 'a.yaml', await knownRoutes(), yaml, await inputCheck())
  expect(parsed.ok ? [] : parsed.problems).toEqual([])
  const { steps, ...file } = yaml.parse(text) as { steps: Record<string, unknown>[] }
  return { ...made, text, file, steps }
}

const apply = call('bots.apply', {
  body: { name: 'Bot', username: 'my_bot' },
  status: 201,
  data: { id: BOT, status: 'active' },
})
const set = call('webhook.set', {
  url: `/api/v1/bots/my/${BOT}/webhook`,
  body: { url: '[hidden 7]', secret_token: '[hidden 8]' },
})
const oneTimeToken = call('bots.get', {
  url: `/api/v1/bots/my/${BOT}`,
  data: { id: BOT, one_time_token: '[hidden 2]' },
})
const start = call('platform.createChat', { body: { bot_id: BOT, user_id: 'user-1' }, data: { id: CHAT } })

describe('recorded scenario', () => {
  it('an attempt that precedes the call that caused it follows this call', async () => {
    const { steps, file, remarks } = await recorded([
      apply,
      set,
      attempt(503),
      start,
      attempt(null, { code: 'RESPONSE_TIMEOUT', message: '' }),
      attempt(200),
      attempt(200),
    ])
    expect(steps.map((it) => it.call ?? it.receive)).toEqual([
      ...['bots.apply', 'webhook.set', 'platform.createChat'],
      ...['my_chat_member', 'my_chat_member', 'my_chat_member'],
    ])
    expect(remarks).toEqual([expect.stringContaining('a receiver passes over what it has accepted')])
    expect(file).toMatchObject({ server: { auto_approve: true }, webhook: { respond: '503,timeout,200' } })
    expect(steps[1]).toMatchObject({
      with: { botId: '${bot}', url: '${webhook.url}', secret_token: '${webhook.secret}' },
    })
  })

  it('a delivery of a bot from before the recording gets a bot with a webhook', { tags: 'scenarios/4' }, async () => {
    const bot = { id: BOT, name: 'Bot', username: 'my_bot', scopes: ['messages:receive'], review_status: 'approved' }
    const { steps, file } = await recorded([attempt(200)], { 'platform.bots': [bot] })
    expect(file).toMatchObject({ server: { own: true } })
    expect(steps.map((it) => it.call ?? it.receive)).toEqual([
      ...['bots.apply', 'platform.approveBot', 'webhook.set', 'my_chat_member'],
    ])
  })

  it('recordedScenario keeps a malformed escape of a path', async () => {
    const refused = { url: '/_platform/v1/bots/%ZZ/approve', code: 'BOT_NOT_FOUND', status: 404 }
    const { steps } = await recorded([apply, call('platform.approveBot', refused)])
    expect(steps[1]).toMatchObject({ call: 'platform.approveBot', with: { botId: '%ZZ' } })
  })

  it('values that the platform accepts once end with ${run}', async () => {
    const texts = { name: 'Cup', type: 'gift', issuer_name: 'Shop', fulfiller_name: 'Shop' }
    const kinds = { fulfillment_category: 'physical_goods', acquisition_source: 'purchase', issue_limit: 5 }
    const validity = { type: 'relative', duration_days: 30 }
    const template = { ...texts, ...kinds, validity, external_template_id: 'cup' }
    const issue = { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
    const { steps } = await recorded([
      apply,
      call('templates.create', { body: template, status: 201, data: { id: 'tpl_1', status: 'draft' } }),
      call('vouchers.issue', { body: issue, status: 201, data: { id: 'vch_1', status: 'active' } }),
    ])
    const values = steps.flatMap((it) => Object.values(it.with ?? {}))
    expect(values).toEqual(expect.arrayContaining(['my_bot_${run}', 'cup-${run}', 'order-1-${run}']))
  })

  it('recordedScenario turns a GET with a body into a comment', async () => {
    const { steps, remarks } = await recorded([apply, call(null, { url: '/elsewhere', body: { page: 2 } })])
    expect([steps.length, remarks]).toEqual([1, [expect.stringContaining('a step cannot send a GET with a body.')]])
  })

  it('recordedScenario turns a call with more than 1,000 values into a comment', async () => {
    const update = (count: number) =>
      call('platform.addUpdate', {
        url: `/_platform/v1/bots/${BOT}/updates`,
        body: { type: 'my_chat_member', list: Array(count).fill(1) },
        code: 'VALIDATION_FAILED',
        status: 400,
      })
    const { steps, remarks } = await recorded([apply, update(2_000), update(10)])
    expect([steps.length, remarks]).toEqual([2, [expect.stringContaining('it has more than 1,000 values.')]])
  })

  it('recordedScenario divides its loops over lines and calls into pieces', async () => {
    const sizes: number[] = []
    const inPieces = <T>(items: Iterable<T>) => {
      const all = [...items]
      sizes.push(all.length)
      return all
    }
    const lines = Array.from({ length: 50 }, () => call('templates.list', { token: '[hidden 1]', data: {} }))
    await recordedScenario({ lines, startedAt: AT, read: async () => ({ items: [] }), inPieces })
    expect(sizes.filter((it) => it === 50).length).toBeGreaterThanOrEqual(5)
  })

  it('repeated reads become one step that waits for the change', async () => {
    const deliveries = (status: string) =>
      call('webhook.deliveries', {
        url: `/api/v1/bots/my/${BOT}/deliveries`,
        data: { items: [{ id: 'dlv_1', status, last_duration_ms: 3 }] },
      })
    const { steps } = await recorded([apply, deliveries('pending'), deliveries('pending'), deliveries('delivered')])
    expect(steps.slice(1)).toEqual([
      {
        call: 'webhook.deliveries',
        with: { botId: '${bot}' },
        within: '10s',
        expect: { status: 200, data: { items: [{ status: 'delivered' }] } },
      },
    ])
  })

  it('recording begins after a restored snapshot, and makes nothing of the mark of live lines', async () => {
    const restored = { seq: ++seq, kind: 'state', what: 'restore', at: AT } as const
    const { steps, remarks } = await recorded([apply, restored, { seq, kind: 'live' }, call('apps.list')])
    expect(steps.map((it) => it.call)).toEqual(['apps.list'])
    expect(remarks.join(' ')).toContain(`A snapshot was restored at ${AT}.`)
  })

  it('lines that no step can repeat become comments with their reasons', async () => {
    const { steps, remarks } = await recorded([
      call('vouchers.redeem', { isGone: true }),
      { seq: ++seq, kind: 'omitted', count: 7 },
      call('vouchers.issue', { code: 'RATE_LIMITED', status: 429 }),
      call('vouchers.issue', { code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 }),
      call('vouchers.issue', { code: 'INVALID_JSON', status: 400 }),
      call('vouchers.issue', { code: 'PAYLOAD_TOO_LARGE', status: 413 }),
      call('vouchers.issue', { status: null }),
      call('apps.get', { url: '/api/v1/open-platform/applications/app_gone', data: { id: 'app_gone' } }),
      call('platform.seedStore', { body: { seed: '[hidden 4]' } }),
      apply,
      attempt(null, { code: 'CONNECTION_REFUSED', message: 'x' }),
      attempt(200, null, true),
    ])
    expect(steps.map((it) => it.call)).toEqual(['bots.apply'])
    expect(remarks).toEqual([
      expect.stringContaining('the server has no more than its log line'),
      'The server left out 7 lines of a burst.',
      expect.stringContaining('without rate limits'),
      expect.stringContaining('a scenario sends valid JSON'),
      expect.stringContaining('a scenario sends valid JSON'),
      expect.stringContaining('has not kept its body'),
      expect.stringContaining('it got no response'),
      expect.stringContaining('app_gone was created before'),
      expect.stringContaining('a seed is secret'),
      expect.stringContaining('no receiver responded'),
      expect.stringContaining('the operator replayed it'),
    ])
  })

  it('a text of the program with line breaks adds no step', async () => {
    const text = `${AT.slice(0, 11)}\n- call: platform.reset`
    const chat = { chat_id: CHAT, text }
    const { steps, remarks } = await recorded([
      apply,
      oneTimeToken,
      start,
      call('bots.send', { body: chat, token: '[hidden 2]' }),
    ])
    expect(steps.map((it) => it.call)).toEqual(['bots.apply', 'bots.get', 'platform.createChat', 'bots.send'])
    expect(remarks).toEqual([expect.stringContaining('stays the same in each run')])
  })

  it('secrets of the program become environment variables, and texts with ${ stay texts', async () => {
    const { steps, text } = await recorded([
      apply,
      oneTimeToken,
      start,
      call('bots.send', { body: { chat_id: CHAT, text: 'price ${x}, [hidden 9], [hidden 9]' }, token: '[hidden 2]' }),
    ])
    expect(text).not.toContain('[hidden')
    expect(steps[3]).toMatchObject({ with: { text: 'price $${x}, ${env.SECRET_1}, ${env.SECRET_1}' } })
    expect(steps[1]).toMatchObject({ capture: { bot_token: '.one_time_token' }, use: { bot: '${bot_token}' } })
  })

  it('member names that are invalid as variable names, and the name run, stay usable', async () => {
    const app = call('apps.create', { body: { name: 'Shop' }, status: 201, data: { id: 'app_1', name: 'Shop' } })
    const made = call('tokens.create', {
      url: '/api/v1/open-platform/applications/app_1/tokens',
      body: { name: 'a', scopes: ['vouchers:issue'] },
      status: 201,
      data: { id: 'tok_1', token: '[hidden 5]' },
    })
    const issue = (metadata: object) =>
      call('vouchers.issue', {
        body: { template_id: 'tpl_1', external_issue_id: 'a', recipient_user_id: 'u', metadata },
        token: '[hidden 5]',
        status: 404,
        code: 'TEMPLATE_NOT_FOUND',
      })
    const { steps } = await recorded([app, made, issue({ 'my key!': 'tok_1' }), issue({ run: 'app_1' })])
    expect(steps.slice(2).map((it) => it.with)).toMatchObject([
      { metadata: { 'my key!': '${value}' } },
      { metadata: { run: '${app}' } },
    ])
  })

  it('each call that a fault affected gets its own fault', { tags: 'scenarios/4' }, async () => {
    const fault = { endpoint: 'apps.list', kind: 'status', share: 0.5, status: 418, code: 'TEAPOT' }
    const list = (given: Given) => call('apps.list', { token: '[hidden 3]', ...given })
    const { steps } = await recorded([
      call('platform.addFault', { body: fault, data: { id: 'flt_1' } }),
      list({}),
      list({ fault: 'status', status: 418, code: 'TEAPOT' }),
      list({ fault: 'cut_body', data: { items: [] } }),
      list({ fault: 'drop_response', status: null }),
      list({ fault: 'delay' }),
      list({ fault: 'hold' }),
      call('platform.releaseCalls', { data: { released: 1 } }),
      list({ fault: 'silence', data: { items: [] } }),
      list({ fault: 'hang', code: 'SERVICE_UNAVAILABLE', status: 503 }),
      call('platform.clearFaults', { data: { removed: 1 } }),
    ])
    const planted = (kind: string, more = {}) => ({
      call: 'platform.addFault',
      with: { endpoint: 'apps.list', kind, times: 1, ...more },
    })
    expect(steps).toEqual([
      { call: 'apps.list', expect: { status: 200 } },
      planted('status', { status: 418, code: 'TEAPOT' }),
      { call: 'apps.list', expect: { status: 418, code: 'TEAPOT' } },
      planted('cut_body'),
      { call: 'apps.list', expect: { code: 'NETWORK_ERROR' } },
      planted('drop_response'),
      { call: 'apps.list', expect: { code: 'NETWORK_ERROR' } },
      { call: 'apps.list', expect: { status: 200 } },
      planted('drop_response'),
      { call: 'apps.list', expect: { code: 'NETWORK_ERROR' } },
      planted('refuse_connection'),
      { call: 'apps.list', expect: { code: 'NETWORK_ERROR' } },
    ])
  })

  it('a held call whose client got no response becomes a comment', async () => {
    const { steps, remarks } = await recorded([
      apply,
      call('apps.list', { fault: 'hold', status: null }),
      call('apps.list', { fault: 'hold', code: 'SERVICE_UNAVAILABLE', status: 503 }),
    ])
    expect(steps.map((it) => it.call)).toEqual(['bots.apply'])
    expect(remarks).toEqual([
      expect.stringContaining('it got no response'),
      expect.stringContaining('the server was not ready'),
    ])
  })

  it('attempts that a fault spoiled become comments, and the others steps', async () => {
    const lost = { code: 'planted_fault', message: '' }
    const of = (line: ActivityLine, more: Partial<DeliveryActivity>): ActivityLine =>
      line.kind === 'delivery' ? { ...line, delivery: { ...line.delivery, ...more } } : line
    const { steps, remarks, file } = await recorded([
      apply,
      set,
      start,
      of(attempt(401), { fault: 'forged' }),
      of(attempt(400), { fault: 'stale' }),
      of(attempt(null, lost), { fault: 'lost' }),
      of(attempt(500), { fault: 'duplicate' }),
      of(attempt(500), { fault: 'duplicate', attempt: null }),
      of(attempt(200), { fault: 'late' }),
    ])
    expect(steps.slice(3).map((it) => it.receive)).toEqual(['my_chat_member', 'my_chat_member'])
    expect(file).toMatchObject({ webhook: { respond: '500,200' } })
    expect(remarks).toEqual(
      ['forged', 'stale', 'lost', 'duplicate'].map((it) =>
        expect.stringContaining(`a planted fault (${it}) affected it`),
      ),
    )
  })

  it('a refusal that depends on an earlier record, or on a lost voucher, becomes a comment', async () => {
    const texts = { externalTemplateId: 'tea', name: 'Tea', issuerName: 'Shop', fulfillerName: 'Shop' }
    const kind = {
      type: 'gift',
      fulfillmentCategory: 'offline_service',
      acquisitionSource: 'free_claim',
      issueLimit: 1,
    }
    const validity = { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null }
    const template = { id: 'tpl_1', applicationId: 'app_1', status: 'active', ...texts, ...kind, validity }
    const existing = { 'platform.templates': [template], 'platform.applications': [{ id: 'app_1', name: 'Shop' }] }
    const credential = { type: 'redeem_code', value: '[hidden 6]' }
    const issue = { template_id: 'tpl_1', external_issue_id: 'a', recipient_user_id: 'u' }
    const { remarks } = await recorded(
      [
        apply,
        call('vouchers.issue', { body: issue, code: 'TEMPLATE_QUOTA_EXHAUSTED', application: 'app_1' }),
        call('vouchers.redeem', { body: { credential }, code: 'VOUCHER_ALREADY_REDEEMED', application: 'app_1' }),
        call('bots.apply', { body: { name: 'B', username: 'b2' }, code: 'BOT_LIMIT_REACHED', details: { limit: 20 } }),
      ],
      existing,
    )
    expect(remarks).toEqual([
      expect.stringContaining('what happened before the recording'),
      expect.stringContaining('the server no longer has a record that it names'),
      expect.stringContaining('what happened before the recording'),
    ])
  })

  it('a selection counts lines that are gone, and measures time by lines that were not chosen', async () => {
    const clock = (now: string, time: string) =>
      call('platform.setClock', { body: { now }, data: { now }, id: `req_${now.slice(0, 4)}`, time })
    const ids = new Set(['req_2028', 'req_gone'])
    const lines = [clock('2027-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z')]
    const chosen = clock('2028-01-01T00:00:00.000Z', '2028-01-01T00:00:00.000Z')
    const { steps, remarks } = await recorded([...lines, chosen], {}, { ids })
    expect(steps).toEqual([{ advance: '365d' }])
    expect(remarks).toEqual(['The server no longer has 1 of the chosen lines.'])
    const first = await recorded([chosen, apply], {}, { startedAt: undefined })
    expect(first.remarks).toEqual([expect.stringContaining('no longer has the time before it')])
  })

  it('calls of two accounts log in, and calls of one account use the scenario account', async () => {
    const login = (accountId: string, jwt: string) =>
      call('platform.issueAccountToken', { url: `/_platform/v1/accounts/${accountId}/token`, data: { jwt } })
    const one = await recorded([login('a', '[hidden 3]'), call('apps.list', { token: '[hidden 3]' })])
    expect(one.steps.map((it) => it.call)).toEqual(['apps.list'])
    const list = (token: string) => call('apps.list', { token, url: '/api/v1/open-platform/applications?page=2' })
    const two = await recorded([
      login('a', '[hidden 3]'),
      list('[hidden 3]'),
      login('b', '[hidden 4]'),
      list('[hidden 4]'),
    ])
    expect(two.steps.map((it) => [it.call, it.use])).toEqual([
      ['platform.issueAccountToken', { jwt: '${jwt}' }],
      ['apps.list', undefined],
      ['platform.issueAccountToken', { jwt: '${jwt2}' }],
      ['apps.list', undefined],
    ])
    expect(two.steps[1]).toMatchObject({ with: { page: 2 } })
  })
})
