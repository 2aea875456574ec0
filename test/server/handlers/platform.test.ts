import { setImmediate } from 'node:timers/promises'
import { inject } from 'light-my-request'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../src/contract/index.js'
import type { RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { defaultUpdateTypes } from '../../../src/contract/updates.js'
import { TokenUses } from '../../../src/server/background/counts.js'
import { Faults } from '../../../src/server/faults.js'
import { Waits } from '../../../src/server/waits.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { START_MS, sharedApp, testApp, testFaultSources } from '../../support/server/app.js'
import { newChat } from '../../support/server/chats.js'
import { callerOf, wireOf } from '../../support/server/client.js'
import { type LiveServer, liveServer } from '../../support/server/server.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'
import { HOOK_URL } from '../../support/server/webhooks.js'
import { storeName } from '../../support/store/engine-name.js'

const server = sharedApp()

describe('operator API', () => {
  it('operator API returns 404 for every method if it is switched off', { tags: 'operator-api/1' }, async () => {
    const off = testApp({ operatorKeyHash: null })
    for (const endpoint of endpoints.filter((it) => it.caller === 'operator')) {
      const path = endpoint.path.replaceAll(/:[A-Za-z]+/g, 'x')
      for (const method of [endpoint.method, 'OPTIONS', 'PUT']) {
        const headers = { authorization: `Bearer ${server.operatorKey}` }
        const response = await off.send({ method, path, headers })
        expect([path, response.status, response.code]).toEqual([path, 404, 'ROUTE_NOT_FOUND'])
      }
    }
    await off.close()
  })
})

describe('test clock', () => {
  const iso = (ms: number) => new Date(ms).toISOString()

  it('test clock moves forward, never back', { tags: ['test-clock/1', 'test-clock/2'] }, async () => {
    const own = testApp()
    const operator = callerOf(own.send, own.operatorKey)
    const { getClock, setClock, advanceClock } = contract.platform
    expect((await operator(getClock, {})).data).toEqual({ now: iso(START_MS), test_clock: true })
    expect((await operator(advanceClock, { seconds: 1.5 })).data.now).toBe(iso(START_MS + 1_500))
    expect((await operator(setClock, { now: '2027-03-02T00:00:00+00:00' })).data.now).toBe('2027-03-02T00:00:00.000Z')
    for (const now of [
      '2027-03-01T23:59:59.999Z',
      '2027-02-30T00:00:00Z',
      '9999-12-31T00:00:00Z',
      'tomorrow',
      '2027-03-03',
    ]) {
      expect([now, (await operator(setClock, { now })).code]).toEqual([now, 'VALIDATION_FAILED'])
    }
    for (const seconds of [-1, 1e12]) expect((await operator(advanceClock, { seconds })).code).toBe('VALIDATION_FAILED')
    const { data, headers } = await operator(getClock, {})
    expect([data.now, headers.date]).toEqual(['2027-03-02T00:00:00.000Z', 'Tue, 02 Mar 2027 00:00:00 GMT'])
    await own.close()
  })
})

describe('lists of the operator', () => {
  it('lists of applications and templates cover all accounts, with bots and names', async () => {
    const own = testApp()
    const [one, two] = [await newTenant(own), await newTenant(own)]
    await one.linkedBot()
    const template = await one.template({ issue_limit: 5 })
    await one.issue(template.id)
    await two.draft()
    const { applications, templates } = contract.platform
    const apps = (await one.operator(applications, {})).data.items
    const ofOne = (await one.console(contract.apps.get, { appId: one.appId })).data
    expect(apps.find((it) => it.id === one.appId)).toEqual({ ...ofOne, account_id: one.accountId })
    expect([apps.length, ofOne.linkedBots.length]).toEqual([2, 1])
    const all = (await one.operator(templates, {})).data
    expect([all.pagination.total, all.items.map((it) => it.applicationName)]).toEqual([2, ['Shop', 'Shop']])
    const filter = { application_id: one.appId, status: 'active' } as const
    expect((await one.operator(templates, filter)).data.items).toMatchObject([
      { id: template.id, issuedCount: 1, issueLimit: 5, applicationName: 'Shop' },
    ])
    expect((await one.operator(templates, { application_id: two.appId, status: 'active' })).data.items).toEqual([])
    const names = all.items.map((it) => it.externalTemplateId).sort()
    const byName = (await one.operator(templates, { sort: '-external_template_id' })).data.items
    expect(byName.map((it) => it.externalTemplateId)).toEqual(names.toReversed())
    await own.close()
  })
})

describe('bots and templates of all accounts', () => {
  it('list of bots covers all accounts, newest first, or one application', async () => {
    const own = testApp()
    const [one, two] = [await newTenant(own), await newTenant(own)]
    const linked = await one.linkedBot()
    own.clock.advance(1_000)
    const applied = await two.appliedBot()
    const { bots } = contract.platform
    const all = (await one.operator(bots, {})).data
    expect([all.pagination.total, all.items.map((it) => it.id)]).toEqual([2, [applied.id, linked.id]])
    const ofTwo = (await two.console(contract.bots.list, {})).data.items[0]
    expect(all.items[0]).toEqual({ ...ofTwo, account_id: two.accountId })
    const list = async (filter: object) => (await one.operator(bots, filter)).data.items.map((it) => it.id)
    expect(await list({ application_id: one.appId })).toEqual([linked.id])
    expect(await list({ application_id: two.appId })).toEqual([])
    expect(await list({ page: 2, limit: 1 })).toEqual([linked.id])
    await own.close()
  })

  it('bot of any account is shown with its account, and a chat, and unknown ids are 404', async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.appliedBot()
    const { bot, chat } = contract.platform
    const {
      one_time_token: _,
      profile: _p,
      webhook: _w,
      command_menus: _c,
      ...record
    } = (await tenant.console(contract.bots.get, { botId })).data
    const shown = { ...record, account_id: tenant.accountId, webhook_url: null, allowed_updates: defaultUpdateTypes }
    expect((await tenant.operator(bot, { botId })).data).toEqual(shown)
    await tenant.operator(contract.platform.approveBot, { botId })
    await tenant.console(contract.webhook.set, { botId, url: HOOK_URL, allowed_updates: ['ping'] })
    expect((await tenant.operator(bot, { botId })).data).toMatchObject({
      delivery_mode: 'webhook',
      webhook_url: 'https://hooks.example.com/…',
      allowed_updates: ['ping'],
    })
    const started = await newChat(tenant, await tenant.itsBot())
    expect((await tenant.operator(chat, { chatId: started.id })).data).toEqual(started)
    expect((await tenant.operator(bot, { botId: 'bot_unknown' })).code).toBe('BOT_NOT_FOUND')
    expect((await tenant.operator(chat, { chatId: 'chat_unknown' })).code).toBe('CHAT_NOT_FOUND')
  })

  it('template is shown with the name of its application, and unknown ids are 404', async () => {
    const tenant = await newTenant(server)
    const draft = await tenant.draft()
    const { template } = contract.platform
    expect((await tenant.operator(template, { templateId: draft.id })).data).toEqual({
      ...draft,
      applicationName: 'Shop',
    })
    expect((await tenant.operator(template, { templateId: 'tpl_unknown' })).code).toBe('TEMPLATE_NOT_FOUND')
    expect((await tenant.runtime(template, { templateId: draft.id })).code).toBe('TOKEN_TYPE_NOT_ACCEPTED')
  })

  it('list of vouchers can be limited to an application, also with one of its templates', async () => {
    const [one, two] = [await newTenant(server), await newTenant(server)]
    const [voucher] = [await one.issue(), await two.issue()]
    const list = async (filter: object) =>
      (await one.operator(contract.platform.vouchers, filter)).data.items.map((it) => it.id)
    expect(await list({ application_id: one.appId })).toEqual([voucher.id])
    expect(await list({ application_id: one.appId, template_id: voucher.templateId })).toEqual([voucher.id])
    expect(await list({ application_id: two.appId, template_id: voucher.templateId })).toEqual([])
  })
})

describe('injected faults', () => {
  it('error fault returns 503 without an effect for the given number of calls', { tags: 'faults/1' }, async () => {
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    const added = await tenant.operator(contract.platform.addFault, {
      endpoint: 'vouchers.redeem',
      kind: 'error',
      times: 2,
    })
    expect(added.data).toMatchObject({ endpoint: 'vouchers.redeem', kind: 'error', times: 2, left: 2, share: null })
    const redeem = () => tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
    for (let time = 0; time < 2; time++) {
      const response = await redeem()
      expect([response.status, response.code, response.headers['retry-after']]).toEqual([
        503,
        'SERVICE_UNAVAILABLE',
        '1',
      ])
    }
    expect((await redeem()).status).toBe(200)
  })

  it('delay fault delays the response of the next call by the given time', { tags: 'faults/1' }, async () => {
    const order: unknown[] = []
    const delay = async (ms: number) => {
      order.push(`a delay of ${ms} ms begins`)
      await setImmediate()
      order.push('the delay ends')
      return 'time' as const
    }
    const waits = Object.assign(new Waits(), { begin: (ms: number) => ({ ended: delay(ms), release: () => {} }) })
    const own = testApp({ faults: new Faults({ ...testFaultSources, waits }) })
    const tenant = await newTenant(own)
    await tenant.operator(contract.platform.addFault, { endpoint: 'apps.list', kind: 'delay', times: 1, delay_ms: 30 })
    order.push((await tenant.console(contract.apps.list, {})).status)
    expect(order).toEqual(['a delay of 30 ms begins', 'the delay ends', 200])
    await own.close()
  })

  it('faults apply in the order in which they were added, until they are removed', async () => {
    const tenant = await newTenant(server)
    const add = (kind: 'error' | 'delay') =>
      tenant.operator(contract.platform.addFault, { endpoint: 'apps.list', kind, times: 1, delay_ms: 0 })
    await add('error')
    await add('delay')
    const list = async () => (await tenant.console(contract.apps.list, {})).status
    expect([await list(), await list()]).toEqual([503, 200])
    await add('error')
    await add('error')
    expect((await tenant.operator(contract.platform.clearFaults, {})).data).toEqual({ removed: 2 })
    expect(await list()).toBe(200)
    expect((await tenant.operator(contract.platform.clearFaults, {})).data).toEqual({ removed: 0 })
  })

  it('faults are listed with the calls that are left, and removed one by one', { tags: 'faults/3' }, async () => {
    const tenant = await newTenant(server)
    const fault = { endpoint: 'apps.list', kind: 'error', times: 2, share: 1 } as const
    const one = (await tenant.operator(contract.platform.addFault, fault)).data
    const two = (await tenant.operator(contract.platform.addFault, { ...fault, kind: 'delay', delay_ms: 0 })).data
    const list = async () => (await tenant.operator(contract.platform.faults, {})).data.items
    expect((await tenant.console(contract.apps.list, {})).status).toBe(503)
    expect(await list()).toEqual([{ ...one, left: 1 }, two])
    expect((await tenant.operator(contract.platform.removeFault, { faultId: one.id })).data).toEqual({
      ...one,
      left: 1,
    })
    expect((await tenant.console(contract.apps.list, {})).status).toBe(200)
    expect(await list()).toEqual([{ ...two, left: 1 }])
    const match = { body: { credential: { value: 'secret' } } }
    await tenant.operator(contract.platform.addFault, { endpoint: 'vouchers.redeem', kind: 'error', match })
    expect((await list())[1]?.match).toEqual({ body: ['credential'] })
    await tenant.operator(contract.platform.clearFaults, {})
  })

  it.each([
    [
      { endpoint: 'vouchers.redem', kind: 'error', times: 1 },
      { pointer: '/endpoint', suggestion: 'did you mean vouchers.redeem?' },
    ],
    [{ endpoint: 'platform.addFault', kind: 'error', times: 1 }, { pointer: '/endpoint' }],
    [{ endpoint: 'apps.list', kind: 'delay', times: 1 }, { pointer: '/delay_ms' }],
    [{ endpoint: 'apps.list', kind: 'explode', times: 1 }, { pointer: '/kind' }],
    [{ endpoint: 'apps.list', kind: 'error', times: 0 }, { pointer: '/times' }],
    [{ endpoint: 'apps.list', kind: 'error', share: 0 }, { pointer: '/share' }],
    [{ endpoint: 'apps.list', kind: 'error', share: 1.5 }, { pointer: '/share' }],
    [{ endpoint: 'apps.list', kind: 'delay', times: 1, delay_ms: 60_001 }, { pointer: '/delay_ms' }],
  ])('invalid fault %j is refused', { tags: 'faults/3' }, async (input, issue) => {
    const operator = callerOf(server.send, server.operatorKey)
    const response = await operator(contract.platform.addFault, input as never)
    expect(response.status).toBe(400)
    expect(response.details.errors).toMatchObject([issue])
  })
})

describe('operator API over a real socket', () => {
  let live: LiveServer
  beforeAll(async () => {
    live = await liveServer()
  })
  afterAll(() => live.close())

  it.each(['issue', 'redeem', 'reverse'] as const)(
    'retry of %s after a dropped response gets the same response and has no further effect',
    { tags: 'faults/1' },
    async (name) => {
      const tenant = await newTenant(live)
      const voucher = await tenant.issue()
      const redemption = name === 'reverse' ? await tenant.redeem(voucher) : undefined
      const call = () => {
        if (name === 'redeem')
          return tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'K' })
        if (redemption !== undefined) {
          return tenant.runtime(contract.vouchers.reverse, { redemptionId: redemption.id }, { key: 'K' })
        }
        const input = { template_id: voucher.templateId, external_issue_id: 'dropped', recipient_user_id: 'user-1' }
        return tenant.runtime(contract.vouchers.issue, input, { key: 'K' })
      }
      await tenant.operator(contract.platform.addFault, {
        endpoint: `vouchers.${name}`,
        kind: 'drop_response',
        times: 1,
      })
      await expect(call()).rejects.toMatchObject({ code: 'ECONNRESET' })
      const retry = await call()
      expect(retry.headers['idempotent-replayed']).toBe('true')
      expect(retry.status).toBe(name === 'issue' ? 201 : 200)
      expect((await call()).sameness).toBe(retry.sameness)
      const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
      expect(template?.issuedCount).toBe(name === 'issue' ? 2 : 1)
    },
  )

  it('request log contains routes and codes, never values of a request', async () => {
    const tenant = await newTenant(live)
    await tenant.operator(contract.platform.addFault, { endpoint: 'apps.list', kind: 'error', times: 1 })
    await tenant.console(contract.apps.list, {})
    const voucher = await tenant.issue(undefined, { key: 'secret-key' })
    const input = {
      template_id: voucher.templateId,
      external_issue_id: voucher.externalIssueId,
      recipient_user_id: 'user-1',
    }
    await tenant.runtime(contract.vouchers.issue, input, { key: 'secret-key' })
    await tenant.runtime(contract.templates.list, { external_template_id: 'secret-query' })
    await tenant.runtime(contract.vouchers.redemption, { redemptionId: 'secret-id' })
    await live.send({ method: 'GET', path: '/secret/path?a=b' })
    const response = await live.send({
      method: 'GET',
      path: contract.platform.requests.path,
      headers: { authorization: `Bearer ${live.operatorKey}` },
    })
    expect(response.headers['content-type']).toBe('application/x-ndjson')
    expect(response.text).not.toContain('secret')
    const entries = response.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as RequestLogEntry)
    const last = entries.slice(-5)
    const entry = {
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      request_id: expect.stringMatching(/^req_/),
      application_id: tenant.appId,
      voucher_id: null,
      duration_ms: expect.any(Number),
      code: null,
      replayed: false,
      method: 'GET',
      status: 200,
    }
    const { issue } = contract.vouchers
    const voucherId = expect.stringMatching(/^vch_/)
    const issued = { endpoint: issue.id, method: 'POST', path: issue.path, status: 201, voucher_id: voucherId }
    expect(last).toEqual([
      { ...entry, ...issued },
      { ...entry, ...issued, replayed: true },
      { ...entry, endpoint: 'templates.list', path: contract.templates.list.path },
      {
        ...entry,
        endpoint: 'vouchers.redemption',
        path: contract.vouchers.redemption.path,
        status: 404,
        code: 'REDEMPTION_NOT_FOUND',
      },
      { ...entry, endpoint: null, path: null, status: 404, code: 'ROUTE_NOT_FOUND', application_id: null },
    ])
    const failed = entries.filter((it) => it.endpoint === 'apps.list').at(-1)
    expect(failed).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE', application_id: null })
  })

  it('request log can be streamed while calls are made', async () => {
    const tenant = await newTenant(live)
    const response = await fetch(`${live.baseUrl}${contract.platform.requests.path}?follow=true`, {
      headers: { authorization: `Bearer ${live.operatorKey}` },
    })
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    const marked = await live.send({ method: 'GET', path: '/a-marked-request' })
    let text = ''
    while (!text.includes(marked.headers['x-request-id'] as string) || !text.includes('\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error('the log ended')
      text += value
    }
    // The last chunk may end within a line.
    const lines = text.slice(0, text.lastIndexOf('\n')).split('\n')
    expect(lines.every((line) => typeof JSON.parse(line) === 'object')).toBe(true)
    await reader.cancel()
    expect(tenant.appId).toMatch(/^app_/)
  })
})

describe('health and readiness', () => {
  it('healthz and readyz return 200 while the store is readable', { tags: 'health-routes/1' }, async () => {
    for (const [path, data] of [
      ['/healthz', { status: 'ok', instanceId: 'instance' }],
      ['/readyz', { status: 'ready' }],
    ] as const) {
      const response = await server.send({ method: 'GET', path })
      expect([response.status, response.data]).toEqual([200, data])
      expect((await server.send({ method: 'HEAD', path })).status).toBe(200)
    }
  })

  it('readyz returns 503 while the store is unreadable, but healthz still returns 200', async () => {
    const own = testApp()
    await own.deps.store.close()
    const ready = await own.send({ method: 'GET', path: '/readyz' })
    expect([ready.status, ready.code, ready.headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '1'])
    expect((await own.send({ method: 'GET', path: '/healthz' })).status).toBe(200)
    await own.close()
  })

  it('/metrics counts calls by endpoint, status and failure code in the text format', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    await tenant.runtime(contract.vouchers.redemption, { redemptionId: 'rdm_secret' })
    await own.send({ method: 'GET', path: '/secret-path' })
    const { text, headers } = await own.send({ method: 'GET', path: '/metrics' })
    expect(headers['content-type']).toContain('text/plain')
    const counted = text.split('\n').filter((line) => line.startsWith('voucherctl_http_requests_total{'))
    expect(counted).toContain(
      `voucherctl_http_requests_total{endpoint="vouchers.redemption",method="GET",status="404",code="REDEMPTION_NOT_FOUND",store="${storeName}"} 1`,
    )
    expect(counted).toContain(
      `voucherctl_http_requests_total{endpoint="none",method="GET",status="404",code="ROUTE_NOT_FOUND",store="${storeName}"} 1`,
    )
    expect(text).toContain('voucherctl_http_request_duration_seconds_bucket{')
    expect(text).toContain('process_cpu_seconds_total')
    expect(text).not.toContain('secret')
    await own.close()
  })
})

describe('metrics', () => {
  const scrape = async (headers: Readonly<Record<string, string>> = {}, remoteAddress = '127.0.0.1') => {
    return inject(server.app.respond, { method: 'GET', url: '/metrics', headers, remoteAddress })
  }

  it('/metrics names end in _total exactly if they are counters', async () => {
    const { body } = await scrape()
    const types = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => ({ name, type }))
    expect(types.length).toBeGreaterThan(20)
    expect(types.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))).toEqual([])
  })
})

it('list of application tokens is readable while the store cannot write', async () => {
  const tenant = await newTenant(server)
  const store: Store = { ...server.deps.store, write: () => Promise.reject(new StoreUnavailable('disk full')) }
  const full = testApp({ store, tokenUses: new TokenUses(store) })
  const inFull = (endpoint: Endpoint, credential: string, input = {}) =>
    full.send({ ...wireOf(endpoint, input), headers: { authorization: `Bearer ${credential}` } })
  expect((await inFull(contract.templates.list, tenant.token)).status).toBe(200)
  expect((await inFull(contract.tokens.list, tenant.jwt, { appId: tenant.appId })).status).toBe(200)
  await full.close()
})
