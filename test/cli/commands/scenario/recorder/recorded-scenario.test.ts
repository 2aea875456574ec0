import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Existing } from '../../../../../src/cli/commands/scenario/recorder/preparation.js'
import { recordedScenario } from '../../../../../src/cli/commands/scenario/recorder/recorded-scenario.js'
import { endpoints } from '../../../../../src/contract/index.js'
import type { ActivityLine, DeliveryActivity } from '../../../../../src/contract/platform/activity.js'

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
}

let seq = 0

/** The line of a call, with names of secrets. */
function call(id: string | null, given: Given = {}): ActivityLine {
  const endpoint = endpoints.find((it) => it.id === id)
  const { body, data, token = '[hidden 1]', key, code = null, status = code === null ? 200 : 409 } = given
  const request = { request_id: 'req_1', endpoint: id, method: endpoint?.method ?? 'GET', path: endpoint?.path ?? null }
  const ids = { application_id: null, voucher_id: null, replayed: given.replayed ?? false, duration_ms: 1 }
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
  const response = { status, headers: [], body: base64({ success: code === null, data }), body_bytes: 9 }
  return {
    ...{ seq: ++seq, kind: 'request', request: { time: AT, status: status ?? 0, code, ...request, ...ids } },
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

async function recorded(lines: readonly ActivityLine[], existing: Existing = new Map()) {
  const made = await recordedScenario({ lines, startedAt: AT, file: 'a.yaml', read: async () => existing })
  const { steps, ...file } = parse(made.text) as { steps: Record<string, unknown>[] }
  return { ...made, file, steps }
}

const apply = call('bots.apply', {
  body: { name: 'Bot', username: 'my_bot' },
  status: 201,
  data: { id: BOT, status: 'inactive' },
})
const set = call('webhook.set', {
  url: `/api/v1/bots/my/${BOT}/webhook`,
  body: { url: '[hidden 7]', secret_token: '[hidden 8]' },
})
const start = call('platform.createChat', { body: { bot_id: BOT, user_id: 'user-1' }, data: { id: CHAT } })

describe('recorded scenario', () => {
  it('an attempt that precedes the call that caused it follows this call', async () => {
    const { steps, file } = await recorded([
      apply,
      set,
      attempt(503),
      start,
      attempt(200),
      attempt(null, { code: 'RESPONSE_TIMEOUT', message: '' }),
    ])
    expect(steps.map((it) => it.call ?? it.receive)).toEqual([
      ...['bots.apply', 'webhook.set', 'platform.createChat'],
      ...['my_chat_member', 'my_chat_member', 'my_chat_member'],
    ])
    expect(file).toMatchObject({ server: { auto_approve: true }, webhook: { respond: '503,200,timeout' } })
    expect(steps[1]).toMatchObject({
      with: { botId: '${bot}', url: '${webhook.url}', secret_token: '${webhook.secret}' },
    })
  })

  it('a delivery of a bot from before the recording gets a bot with a webhook', async () => {
    const bot = { name: 'Bot', username: 'my_bot', scopes: ['messages:receive'], review_status: 'approved' }
    const { steps } = await recorded([attempt(200)], new Map([[BOT, bot]]))
    expect(steps.map((it) => it.call ?? it.receive)).toEqual([
      ...['bots.apply', 'platform.approveBot', 'webhook.set', 'my_chat_member'],
    ])
  })

  it('repeated reads become one step that waits for what changed', async () => {
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
      expect.stringContaining('no longer had its request'),
      'The server left out 7 lines of a burst.',
      expect.stringContaining('without rate limits'),
      expect.stringContaining('a scenario sends JSON'),
      expect.stringContaining('a scenario sends valid JSON'),
      expect.stringContaining('has not kept its body'),
      expect.stringContaining('it got no response'),
      expect.stringContaining('app_gone was created before'),
      expect.stringContaining('a seed is secret'),
      expect.stringContaining('no receiver responded'),
      expect.stringContaining('the operator replayed it'),
    ])
  })

  it('a step that the parser refuses becomes a comment of one line', async () => {
    const name = 'a\n- call: platform.reset'
    const { steps, remarks } = await recorded([
      apply,
      call('apps.create', { body: { nme: name }, status: 201, data: {} }),
    ])
    expect(steps.map((it) => it.call)).toEqual(['bots.apply'])
    expect(remarks).toEqual([expect.stringContaining('apps.create was left out: with.name is required')])
  })

  it('secrets of the program become environment variables, and texts with ${ stay texts', async () => {
    const metadata = { note: 'price ${x}', password: '[hidden 9]', again: '[hidden 9]' }
    const { steps, text } = await recorded([
      apply,
      call('apps.create', { body: { name: 'price ${x}', metadata }, status: 201 }),
    ])
    expect(text).not.toContain('[hidden')
    expect(steps).toHaveLength(1)
    const sent = call('bots.send', { body: { chat_id: 'x', text: 'price ${x}, [hidden 9]' }, token: '[hidden 2]' })
    const kept = await recorded([
      apply,
      call('bots.get', { url: `/api/v1/bots/my/${BOT}`, data: { id: BOT, one_time_token: '[hidden 2]' } }),
      sent,
    ])
    expect(kept.steps[2]).toMatchObject({ with: { text: 'price $${x}, ${env.SECRET_1}' } })
    expect(kept.steps[1]).toMatchObject({ capture: { bot_token: '.one_time_token' }, use: { bot: '${bot_token}' } })
  })

  it('calls of two accounts log in, and calls of one account use that of the scenario', async () => {
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
