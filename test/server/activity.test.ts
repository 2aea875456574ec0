import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import type { ActivityLine } from '../../src/contract/platform/activity.js'
import { Activity } from '../../src/server/observe/activity.js'
import { leaksIn } from '../support/canary.js'
import { securely } from '../support/secure/send.js'
import { START_MS, type TestApp, testApp } from '../support/server/app.js'
import { callerOf } from '../support/server/client.js'
import { DeliveryScene, SECRET } from '../support/server/deliveries.js'
import { type LiveServer, liveServer, standaloneServer } from '../support/server/server.js'
import { codeOf, newTenant, type Tenant } from '../support/server/tenant.js'

const parse = (text: string) =>
  text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as ActivityLine)))

async function linesOf(server: Pick<TestApp, 'send' | 'operatorKey'>, query = 'bodies=true'): Promise<ActivityLine[]> {
  const response = await server.send({
    method: 'GET',
    path: `${contract.platform.activity.path}?${query}`,
    headers: { authorization: `Bearer ${server.operatorKey}` },
  })
  return parse(response.text)
}

const textOf = (body: string | null | undefined) => Buffer.from(body ?? '', 'base64').toString()

/** The last request of an endpoint, with its bodies as text. */
function lastOf(lines: readonly ActivityLine[], endpoint: string | null) {
  const line = lines.findLast((it) => it.kind === 'request' && it.request.endpoint === endpoint)
  if (line?.kind !== 'request') throw new Error(`there is no request of ${endpoint}`)
  const { exchange, request } = line
  return { request, exchange, sent: textOf(exchange?.request.body), received: textOf(exchange?.response?.body) }
}

describe('activity of a server that captures', () => {
  let server: TestApp
  let tenant: Tenant
  beforeAll(async () => {
    server = testApp({ activity: new Activity({ now: () => START_MS, inspect: true }) })
    tenant = await newTenant(server)
  })
  afterAll(() => server.close())

  it('captured activity has request and response of a call', async () => {
    const voucher = await tenant.issue()
    await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher), reference: 'till-4' }, { key: 'r1' })
    const { request, exchange, sent, received } = lastOf(await linesOf(server), 'vouchers.redeem')
    expect(request).toMatchObject({ status: 200, voucher_id: voucher.id, application_id: tenant.appId })
    expect(exchange?.request).toMatchObject({ method: 'POST', url: contract.vouchers.redeem.path })
    expect(exchange?.request.headers).toContainEqual(['idempotency-key', 'r1'])
    expect(sent).toContain('"reference":"till-4"')
    expect(exchange?.response?.headers).toContainEqual(['x-request-id', request.request_id])
    expect(JSON.parse(received)).toMatchObject({ success: true, data: { voucherId: voucher.id } })
  })

  it('captured activity has the decrypted call of an encrypted one', async () => {
    const voucher = await tenant.issue()
    const encrypted = callerOf(securely(server.send), tenant.token)
    await encrypted(contract.vouchers.verify, { credential: codeOf(voucher) })
    const lines = await linesOf(server)
    const { exchange, received } = lastOf(lines, 'vouchers.verify')
    expect(exchange?.request.url).toBe(contract.vouchers.verify.path)
    expect(JSON.parse(received)).toMatchObject({ data: { redeemable: true } })
    expect(lines.some((it) => it.kind === 'request' && it.request.endpoint === 'secure.dispatch')).toBe(false)
  })

  it('captured activity has no secret of plain or encrypted calls', { tags: 'secrets-of-exchanges/1' }, async () => {
    const bot = await tenant.bot()
    const voucher = await tenant.issue()
    const replaced = await tenant.console(contract.bots.regenerateToken, { botId: bot.id })
    const made = await tenant.newToken()
    const url = 'https://hooks.example.com/path-of-the-webhook'
    const webhook = await tenant.console(contract.webhook.set, { botId: bot.id, url, secret_token: 'signing-secret' })
    const issued = await tenant.operator(contract.platform.issueAccountToken, { accountId: 'other' })
    const { send } = server
    for (const call of [tenant.runtime, callerOf(securely(send), tenant.token)]) {
      for (const credential of voucher.credentials) await call(contract.vouchers.verify, { credential })
    }
    const code = codeOf(voucher).value
    const headers = { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json', cookie: `a=${code}` }
    const path = contract.vouchers.verify.path
    for (const body of [`{"code":"${code}"}`, `{"credential":"${code}"`, `"${code}"`]) {
      await send({ method: 'POST', path, headers, body })
    }
    await send({ method: 'POST', path: `${path}?code=${code}`, headers, body: '{}' })
    await send({ method: 'GET', path: `/unknown/${code}`, headers })

    const secrets = {
      jwt: tenant.jwt,
      'issued jwt': issued.data.jwt,
      'operator key': server.operatorKey,
      'application token': tenant.token,
      'new token': made.token,
      'bot token': bot.token,
      'new bot token': replaced.data.one_time_token,
      'webhook path': 'path-of-the-webhook',
      'webhook secret': 'signing-secret',
      ...Object.fromEntries(voucher.credentials.map((it) => [it.type, it.value])),
    }
    expect(webhook.status).toBe(200)
    const lines = await linesOf(server)
    const exchanges = lines.flatMap((it) => ('exchange' in it && it.exchange !== null ? [it.exchange] : []))
    const bodies = exchanges.map((it) => `${textOf(it.request.body)} ${textOf(it.response?.body)}`)
    expect(leaksIn(`${JSON.stringify(lines)} ${bodies.join(' ')}`, secrets)).toEqual([])
    expect(bodies.join(' ')).toContain('[hidden]')
  })

  it('captured activity has no exchange without bodies=true', { tags: 'activity/3' }, async () => {
    await tenant.issue()
    expect(lastOf(await linesOf(server, 'follow=false'), 'vouchers.issue').exchange).toBeNull()
  })

  it('captured activity has no response for a call whose response a fault dropped', async () => {
    const own = await standaloneServer({ inspect: true })
    try {
      const at = await newTenant(own)
      await at.operator(contract.platform.addFault, { endpoint: 'apps.list', kind: 'drop_response', times: 1 })
      await expect(at.console(contract.apps.list, {})).rejects.toMatchObject({ code: 'ECONNRESET' })
      expect(lastOf(await linesOf(own), 'apps.list').exchange?.response).toBeNull()
    } finally {
      await own.close()
    }
  })

  it('captured activity tells that the clock moved, faults changed or struck', { tags: 'activity/1' }, async () => {
    const { activity, faults } = server.deps
    const told: string[] = []
    activity.changed = (what) => told.push(what)
    server.clock.advance(1)
    await tenant.operator(contract.platform.addFault, { endpoint: 'apps.list', kind: 'error', times: 2 })
    await tenant.console(contract.apps.list, {})
    faults.clear()
    expect(told).toEqual(['clock', 'faults', 'faults', 'faults'])
  })
})

it('activity has each attempt of a delivery with its exchange', { tags: 'activity/1' }, async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  receiver.respond = () => ({ status: 401, headers: { 'set-cookie': 'a=cookie-secret' }, body: `not ${SECRET}` })
  await scene.set(receiver)
  const following = scene.server.deps.activity.stream({ follow: true, bodies: true })
  const updateId = await scene.ping()
  await scene.untilStatus(updateId, 'failed')
  following.destroy()
  const line = (await linesOf(scene.server)).findLast((it) => it.kind === 'delivery')
  if (line?.kind !== 'delivery') throw new Error('there is no delivery')
  expect(line.delivery).toMatchObject({ update_id: updateId, update_type: 'ping', bot_id: scene.bot.id, attempt: 1 })
  expect(line.delivery).toMatchObject({ status: 401, error: { code: 'http_status' }, manual: false, replay: false })
  expect(line.exchange?.request).toMatchObject({ method: 'POST', url: `${new URL(receiver.url).origin}/…` })
  expect(JSON.parse(textOf(line.exchange?.request.body))).toMatchObject({ update_id: updateId })
  expect(line.exchange?.response?.headers).toContainEqual(['set-cookie', '[hidden]'])
  expect(textOf(line.exchange?.response?.body)).toBe('not [hidden]')
})

describe('activity stream', () => {
  let live: LiveServer
  let tenant: Tenant
  beforeAll(async () => {
    // Unlike the server of a test, it captures only for followers.
    live = await standaloneServer({ testClock: true })
    tenant = await newTenant(live)
  })
  afterAll(() => live.close())

  /** Follows the activity; `until` resolves to all lines once one of them matches. */
  async function follow(query: string) {
    const response = await fetch(`${live.baseUrl}${contract.platform.activity.path}?follow=true&${query}`, {
      headers: { authorization: `Bearer ${live.operatorKey}` },
    })
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    return {
      until: async (matches: (line: ActivityLine) => boolean): Promise<ActivityLine> => {
        for (;;) {
          const found = parse(text.slice(0, text.lastIndexOf('\n') + 1)).findLast(matches)
          if (found !== undefined) return found
          const { value, done } = await reader.read()
          if (done) throw new Error('the stream ended')
          text += value
        }
      },
      ended: async () => {
        while (!(await reader.read()).done);
      },
      cancel: () => reader.cancel(),
    }
  }
  const isVerify = (it: ActivityLine) => it.kind === 'request' && it.request.endpoint === 'vouchers.verify'

  it('activity stream sends calls as they happen, with exchanges of calls since it was opened', async () => {
    const voucher = await tenant.issue()
    const credential = codeOf(voucher)
    await tenant.runtime(contract.vouchers.verify, { credential })
    const stream = await follow('bodies=true')
    expect(await stream.until(isVerify)).toMatchObject({ exchange: null })
    await tenant.runtime(contract.vouchers.verify, { credential, recipient_user_id: 'user-1' })
    const isCaptured = (it: ActivityLine) => isVerify(it) && 'exchange' in it && it.exchange !== null
    const line = await stream.until(isCaptured)
    expect(textOf(line.kind === 'request' ? line.exchange?.request.body : '')).toContain('"recipient_user_id":"user-1"')
    await stream.cancel()
  })

  it('activity stream continues after a reset or restore, and tells which it was', { tags: 'activity/1' }, async () => {
    const stream = await follow('bodies=false')
    const isChange = (what: string) => (it: ActivityLine) => it.kind === 'state' && it.what === what
    await tenant.operator(contract.platform.saveSnapshot, { name: 'now' })
    await tenant.operator(contract.platform.reset, { shared: true })
    await stream.until(isChange('reset'))
    await tenant.operator(contract.platform.restoreSnapshot, { name: 'now', shared: true })
    await stream.until(isChange('restore'))
    await tenant.operator(contract.platform.removeSnapshot, { name: 'now' })
    await stream.until((it) => it.kind === 'request' && it.request.endpoint === 'platform.removeSnapshot')
    await stream.cancel()
  })

  it('activity stream sends its head before there is a line', async () => {
    const own = await liveServer()
    try {
      const path = `${own.baseUrl}${contract.platform.activity.path}?follow=true`
      const response = await fetch(path, { headers: { authorization: `Bearer ${own.operatorKey}` } })
      expect(response.headers.get('content-type')).toBe('application/x-ndjson')
      await response.body?.cancel()
    } finally {
      await own.close()
    }
  })

  it('activity stream ends when the server stops', async () => {
    const stream = await follow('bodies=true')
    await live.close()
    await stream.ended()
  })
})
