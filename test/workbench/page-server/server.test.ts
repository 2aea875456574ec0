import { createServer, get } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ActivityLine } from '../../../src/contract/platform/activity.js'
import type { DeliveryDetail, DeliveryReplay } from '../../../src/contract/platform/deliveries.js'
import type { Reference } from '../../../src/contract/platform/reference.js'
import type { Delivery } from '../../../src/contract/webhook.js'
import { explainMismatch, verifyWebhook } from '../../../src/webhook/index.js'
import { Forwarder } from '../../../src/workbench/forwarding.js'
import { pairsOf } from '../../../src/workbench/header-pairs.js'
import { Inbox } from '../../../src/workbench/inbox.js'
import { emptyResponse, type ListenerOptions } from '../../../src/workbench/listener.js'
import { type ListenerPage, startListenerPage } from '../../../src/workbench/page-server/server.js'
import { listen } from '../../support/listen.js'
import { type PageClient, pageClient } from '../../support/page/client.js'
import { chunksOf } from '../../support/server/request-body.js'
import {
  deliver,
  listening,
  nowSeconds,
  type Running,
  secret,
  signed,
  updateBody,
} from '../../support/webhook/listener.js'

interface Application {
  readonly url: URL
  readonly received: { readonly headers: readonly string[]; readonly body: Buffer }[]
}

/** An application that responds with these statuses in turn. */
async function application(...statuses: readonly number[]): Promise<Application> {
  const received: { headers: string[]; body: Buffer }[] = []
  const server = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    const index = received.push({ headers: request.rawHeaders, body: Buffer.concat(chunks) }) - 1
    response.writeHead(statuses[index] ?? 200, { 'X-App': 'yes' }).end(`response ${index}`)
  })
  return { url: new URL(`http://127.0.0.1:${await listen(server)}/hook`), received }
}

/** Resolves with a delivery when the inbox has the response of the application: the listener responds before that. */
const withResponse = ({ send }: PageClient, id: string) =>
  vi.waitFor(async () => {
    const detail: DeliveryDetail = (await send('GET', `/_platform/v1/deliveries/${id}`)).body
    expect(detail.responses).toHaveLength(1)
    return detail
  }, 30_000)

interface Page {
  readonly listener: Running
  readonly page: ListenerPage
  readonly client: PageClient
}

async function pageOf(app?: URL, options: Partial<ListenerOptions> = {}): Promise<Page> {
  const forwarder = new Forwarder()
  let page: ListenerPage | undefined
  const listener = await listening({
    app: async (delivery) => (app === undefined ? emptyResponse(200) : forwarder.send(app, delivery)),
    onRequest: (event) => page?.add(event),
    ...options,
  })
  const { dir, inbox, url: address } = listener
  const now = () => nowSeconds * 1000
  const secrets = options.secrets ?? [secret]
  page = await startListenerPage({ dir, inbox, address, secrets, forwarder, now, appOf: async () => app })
  onTestFinished(async () => {
    await page.close()
    forwarder.close()
  })
  return { listener, page, client: await pageClient(page.newLink()) }
}

const deliveryOf = (line: ActivityLine) => (line.kind === 'delivery' ? line.delivery : undefined)

test('page of a listener streams the inbox, then arriving deliveries', { tags: 'page-of-a-listener/2' }, async () => {
  const { listener, client } = await pageOf((await application(500)).url)
  await deliver(listener.url, 7)
  const stream = await client.follow('/_platform/v1/activity?follow=true&bodies=true')
  const first: ActivityLine = await stream.next()
  expect(deliveryOf(first)).toMatchObject({ delivery_id: '1-1', update_id: 7, status: 500, verdict: 'ok' })
  expect(await stream.next()).toMatchObject({ kind: 'live' })
  const body = updateBody(8)
  await fetch(listener.url, { method: 'POST', body: `${body}\n`, headers: signed(body, 8) })
  const second: ActivityLine = await stream.next()
  expect(second.seq).toBeGreaterThan(first.seq)
  expect(deliveryOf(second)).toMatchObject({
    delivery_id: '1-2',
    update_id: null,
    status: 401,
    verdict: 'refused',
    reason: 'bad_signature',
    explanation: expect.stringContaining('ends with a line break that was not signed'),
  })
})

test('page of a listener that starts on an older inbox streams its deliveries, oldest first', async () => {
  const { listener, page } = await pageOf((await application(503)).url)
  await deliver(listener.url, 7)
  await fetch(listener.url, { method: 'POST', body: updateBody(8), headers: signed(updateBody(8), 8, ['another']) })
  await page.close()
  await listener.close()
  const { dir, inbox } = listener
  const now = () => nowSeconds * 1000
  const forwarder = new Forwarder()
  const options = { dir, inbox, address: listener.url, secrets: [secret], forwarder, now, appOf: async () => undefined }
  const later = await startListenerPage(options)
  onTestFinished(() => later.close())
  const stream = await (await pageClient(later.newLink())).follow('/_platform/v1/activity')
  const lines = [deliveryOf(await stream.next()), deliveryOf(await stream.next())]
  expect(lines).toMatchObject([
    { delivery_id: '1-1', status: 503, error: { code: 'http_status' }, explanation: null },
    { delivery_id: '1-2', status: 401, explanation: expect.stringContaining('the secret differs') },
  ])
})

test('page of a listener gets the path of a replay', { tags: 'page-of-a-listener/1' }, async () => {
  const { client } = await pageOf()
  const { groups }: Reference = (await client.send('GET', '/_platform/v1/reference')).body
  const replay = groups.flatMap((it) => it.endpoints).find((it) => it.id === 'platform.replayDelivery')
  expect(replay).toMatchObject({ method: 'POST', path: '/_platform/v1/deliveries/:deliveryId/replay' })
})

test('page of a listener shows why it refused, like verify --explain', { tags: 'page-of-a-listener/1' }, async () => {
  const { listener, client } = await pageOf(undefined, { secrets: [secret, 'an-older-secret'] })
  const body = updateBody(8)
  const headers = signed(body, 8)
  await fetch(`${listener.url}/hook?a=1`, { method: 'POST', body: `${body}\n`, headers })
  const detail: DeliveryDetail = (await client.send('GET', '/_platform/v1/deliveries/1-1')).body
  const stored = new Inbox(listener.dir).read('1-1')
  const rawBody = stored?.body ?? Buffer.alloc(0)
  const input = { headers: pairsOf(stored?.headers ?? []), rawBody, secrets: [secret], now: stored?.at ?? 0 }
  const { explanation, fix } = explainMismatch(input) ?? {}
  expect(detail.verification).toEqual({ ok: false, reason: 'bad_signature', explanation, fix })
  expect(detail).toMatchObject({
    delivery: { id: '1-1', status: 'failed', last_status_code: 401, attempts: [] },
    url: `${listener.url}/hook?a=1`,
    body: Buffer.from(`${body}\n`).toString('base64'),
    responses: [],
    signature: {
      timestamp: nowSeconds,
      prefix: `${nowSeconds}.`,
      signed_bytes: body.length + 12,
      secrets: [
        { which: 'current', sent: false },
        { which: 'previous', sent: false },
      ],
    },
  })
  expect(JSON.stringify(detail)).not.toContain(secret)
})

test('page of a listener names the planted fault of a delivery, and no other text', async () => {
  const { listener, client } = await pageOf((await application(200)).url)
  const send = (id: number, fault: string, secrets = [secret]) => {
    const body = updateBody(id)
    const headers = { ...signed(body, id, secrets), 'X-Platform-Fault': fault }
    return fetch(listener.url, { method: 'POST', body, headers })
  }
  await send(7, 'forged', ['another'])
  await send(8, 'late')
  await send(9, 'any text')
  const stream = await client.follow('/_platform/v1/activity?follow=true')
  const lines = [await stream.next(), await stream.next(), await stream.next()].map(deliveryOf)
  expect(lines.map((it) => [it?.update_id, it?.fault])).toEqual([
    [null, 'forged'],
    [8, 'late'],
    [9, undefined],
  ])
  const { delivery, responses } = await withResponse(client, '1-2')
  expect([delivery.attempts[0]?.fault, responses[0]?.fault]).toEqual(['late', 'late'])
  const other = await withResponse(client, '1-3')
  expect(other.delivery.attempts[0]).not.toHaveProperty('fault')
})

test('listener page marks the signature of a delivery and shows the response of the app', async () => {
  const { listener, client } = await pageOf((await application(422)).url)
  await deliver(listener.url, 7)
  const detail = await withResponse(client, '1-1')
  const signature = signed(updateBody(7), 7)['X-Platform-Signature-V2']
  expect(detail.verification?.ok).toBe(true)
  expect(detail.signature?.secrets).toEqual([{ which: 'current', signature, sent: true, until: null }])
  expect(detail.responses).toMatchObject([
    {
      attempt: 1,
      replay: false,
      status: 422,
      error: { code: 'http_status' },
      response: { status: 422, body: Buffer.from('response 0').toString('base64'), body_bytes: 10 },
    },
  ])
  expect(detail.responses[0]?.response?.headers).toContainEqual(['X-App', 'yes'])
})

test('page of a listener names likely causes of a refusal by the app, also after a replay', async () => {
  const { listener, client } = await pageOf((await application(403, 401)).url)
  const codesOf = ({ hints }: Pick<DeliveryDetail, 'hints'>) =>
    // The app has the true time, and the listener of the tests a fixed one.
    hints.map((it) => it.code).filter((it) => it !== 'app_clock')
  await deliver(listener.url, 7)
  expect(codesOf(await withResponse(client, '1-1'))).toEqual(['other_secret', 'raw_body', 'csrf'])
  const order = { body: { mode: 'as_sent', body: updateBody(7, 'message', 'Edited').toString('base64') } }
  const replay: DeliveryReplay = (await client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)).body
  expect(codesOf(replay)).toEqual(['body_edited'])
})

test('page of a listener without an app has no causes for the refusal that --respond asks for', async () => {
  const { listener, client } = await pageOf(undefined, { app: async () => emptyResponse(401) })
  await deliver(listener.url, 7)
  expect(await withResponse(client, '1-1')).toMatchObject({ responses: [{ status: 401 }], hints: [] })
})

test.each(['soon', '99999999999999999999'])(
  'page of a listener shows a delivery with the timestamp %s at its time of arrival',
  async (timestamp) => {
    const { listener, client } = await pageOf()
    const body = updateBody(8)
    const headers = { ...signed(body, 8), 'X-Platform-Timestamp': timestamp }
    await fetch(listener.url, { method: 'POST', body, headers })
    const detail: DeliveryDetail = (await client.send('GET', '/_platform/v1/deliveries/1-1')).body
    expect(detail.signature?.timestamp).toBe(nowSeconds)
    expect(detail.verification?.ok).toBe(false)
  },
)

test('page of a listener replays a delivery with the bytes and headers as they were recorded', async () => {
  const app = await application(500, 204)
  const { listener, client } = await pageOf(app.url)
  const stream = await client.follow('/_platform/v1/activity?follow=true')
  await deliver(listener.url, 7)
  for (let line = 0; line < 2; line += 1) await stream.next()
  const order = { body: { mode: 'as_sent' } }
  const replay: DeliveryReplay = (await client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)).body
  expect(replay).toMatchObject({ status: 204, error: null, exchange: { response: { status: 204 } } })
  expect(replay.exchange.request.url).toBe(app.url.href)
  expect(app.received[1]).toEqual(app.received[0])
  expect(deliveryOf(await stream.next())).toMatchObject({ delivery_id: '1-1', replay: true, status: 204 })
  const stored = new Inbox(listener.dir).read('1-1')
  expect(stored?.responses.map(({ status, replay }) => [status, replay])).toEqual([
    [500, false],
    [204, true],
  ])
  const detail: DeliveryDetail = (await client.send('GET', '/_platform/v1/deliveries/1-1')).body
  expect(detail.delivery).toMatchObject({ status: 'delivered', attempt_count: 1, manual_attempt_count: 1 })
})

test('page of a listener signs edited bytes again, so that an application accepts them', async () => {
  const app = await application(500)
  const { listener, client } = await pageOf(app.url)
  await deliver(listener.url, 7)
  const edited = updateBody(9, 'message', 'Edited')
  const order = { body: { mode: 'resigned', body: edited.toString('base64') } }
  const replay: DeliveryReplay = (await client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)).body
  expect(replay.verification.ok).toBe(true)
  const { headers = [], body } = app.received[1] ?? {}
  expect(body).toEqual(edited)
  const input = { headers: pairsOf(headers), rawBody: edited, secrets: [secret], now: nowSeconds * 1000 }
  expect(verifyWebhook(input)).toMatchObject({ ok: true, updateId: '9' })
})

test('page of a listener says that edited bytes do not fit the signature that was recorded', async () => {
  const { listener, client } = await pageOf((await application()).url)
  await deliver(listener.url, 7)
  const order = { body: { mode: 'as_sent', body: updateBody(7, 'message', 'Edited').toString('base64') } }
  const replay: DeliveryReplay = (await client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)).body
  expect(replay).toMatchObject({ status: 200, verification: { ok: false, reason: 'bad_signature' } })
})

test.each([
  ['without an application', { mode: 'as_sent' }, 409, 'DELIVERY_NOT_REPLAYABLE', 'no_app'],
  ['with an unknown mode', { mode: 'twice' }, 400, 'VALIDATION_FAILED', undefined],
  ['with a body that is not base64', { mode: 'as_sent', body: '{}' }, 400, 'VALIDATION_FAILED', undefined],
  ['with null for the whole order', null, 400, 'VALIDATION_FAILED', undefined],
])('listener page refuses a replay %s', { tags: 'page-of-a-listener/2' }, async (_, body, status, code, reason) => {
  const { listener, client } = await pageOf()
  await deliver(listener.url, 7)
  const refused = await client.send('POST', '/_platform/v1/deliveries/1-1/replay', { body })
  expect([refused.status, refused.body]).toMatchObject([status, { success: false, code }])
  if (reason === undefined) return
  expect(refused.body).toMatchObject({ message: expect.stringContaining('--forward-to'), details: { reason } })
})

test('page of a listener refuses to sign without secret or update id', { tags: 'page-of-a-listener/2' }, async () => {
  const app = await application()
  const unverified = await pageOf(app.url, { secrets: [] })
  await deliver(unverified.listener.url, 7)
  const order = { body: { mode: 'resigned' } }
  const noSecret = await unverified.client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)
  expect(noSecret.body).toMatchObject({ code: 'DELIVERY_NOT_REPLAYABLE', details: { reason: 'no_secret' } })
  const { listener, client } = await pageOf(app.url)
  await fetch(listener.url, { method: 'POST', body: '[]' })
  const noId = await client.send('POST', '/_platform/v1/deliveries/1-1/replay', order)
  expect(noId.body).toMatchObject({ code: 'DELIVERY_NOT_REPLAYABLE', details: { reason: 'no_update_id' } })
  expect(app.received).toEqual([])
})

test('page of a listener lists the deliveries of the inbox in pages, by state and by age', async () => {
  const { listener, client } = await pageOf((await application(200, 500)).url)
  for (let id = 1; id <= 22; id++) await deliver(listener.url, id)
  await withResponse(client, '1-22')
  const list = async (query: string) => {
    const { body } = await client.send('GET', `/_platform/v1/deliveries${query}`)
    const { items, pagination } = body as { items: Delivery[]; pagination: object }
    return [items.map(({ update_id, status }) => [update_id, status]), pagination]
  }
  const newest = Array.from({ length: 20 }, (_, index) => [22 - index, 'delivered'])
  expect(await list('')).toEqual([newest, { page: 1, limit: 20, total: 22, pages: 2 }])
  expect(await list('?page=2')).toEqual([
    [
      [2, 'failed'],
      [1, 'delivered'],
    ],
    { page: 2, limit: 20, total: 22, pages: 2 },
  ])
  expect(await list('?status=failed')).toEqual([[[2, 'failed']], { page: 1, limit: 20, total: 1, pages: 1 }])
  expect(await list('?sort=created_at&limit=2&page=11')).toEqual([
    [
      [21, 'delivered'],
      [22, 'delivered'],
    ],
    { page: 11, limit: 2, total: 22, pages: 11 },
  ])
  expect(await list('?limit=101')).toMatchObject([{ length: 22 }, { limit: 100 }])
})

test.each([
  ['another host', { host: 'rebound.test' }, 403, 'HOST_NOT_ALLOWED'],
  ['another origin', { origin: 'http://127.0.0.1:1' }, 403, 'CROSS_SITE_REQUEST'],
  ['another site', { 'sec-fetch-site': 'cross-site' }, 403, 'CROSS_SITE_REQUEST'],
  ['a forged token', { 'page-token': 'A'.repeat(43) }, 401, 'PAGE_SESSION_REQUIRED'],
  ['an empty token', { 'page-token': '' }, 401, 'PAGE_SESSION_REQUIRED'],
])('page of a listener refuses every call with %s', async (_, headers, status, code) => {
  const { listener, client } = await pageOf((await application()).url)
  await deliver(listener.url, 7)
  for (const [method, path] of [
    ['GET', '/_platform/v1/activity'],
    ['GET', '/_platform/v1/deliveries'],
    ['GET', '/_platform/v1/deliveries/1-1'],
    ['POST', '/_platform/v1/deliveries/1-1/replay'],
  ] as const) {
    const refused = await client.send(method, path, { headers })
    expect([refused.status, refused.body]).toMatchObject([status, { code }])
  }
})

test('page of a listener filters deliveries by type, update id and state together', async () => {
  const { listener, client } = await pageOf()
  await deliver(listener.url, 7)
  await deliver(listener.url, 8)
  await deliver(listener.url, 8, 'ping')
  const found = async (query: string) => {
    const { body } = await client.send('GET', `/_platform/v1/deliveries?${query}`)
    return (body as { items: Delivery[] }).items.map((it) => `${it.update_type} ${it.update_id}`)
  }
  await vi.waitFor(async () => expect(await found('status=delivered')).toHaveLength(3), 30_000)
  expect(await found('type=message')).toEqual(['message 8', 'message 7'])
  expect(await found('update_id=8')).toEqual(['ping 8', 'message 8'])
  expect(await found('update_id=8&type=ping&status=delivered')).toEqual(['ping 8'])
  expect(await found('update_id=8&type=ping&status=failed')).toEqual([])
})

test('link of a listener page works once', async () => {
  const { page } = await pageOf()
  const link = page.newLink()
  await pageClient(link)
  await expect(pageClient(link)).rejects.toThrow('401')
})

test('page of a listener refuses the ticket and the token of another listener', async () => {
  const [one, another] = [await pageOf(), await pageOf()]
  const ticket = new URL(another.page.newLink()).hash
  await expect(pageClient(`${one.client.origin}/_platform/ui/${ticket}`)).rejects.toThrow('401')
  const headers = { 'page-token': another.client.token }
  const refused = await one.client.send('GET', '/_platform/v1/deliveries', { headers })
  expect([refused.status, refused.body]).toMatchObject([401, { code: 'PAGE_SESSION_REQUIRED' }])
  expect((await another.client.send('GET', '/_platform/v1/deliveries')).status).toBe(200)
})

test('page of a listener sets no cookie, and serves its files without a token', async () => {
  const { client } = await pageOf()
  for (const path of ['/_platform/ui/', '/_platform/ui/app.js', '/_platform/ui/features', '/_platform/v1/deliveries']) {
    const { status, headers } = await client.send('GET', path)
    expect([path, status, headers['set-cookie']]).toEqual([path, 200, undefined])
    const bare = await fetch(client.origin + path, { headers: { 'sec-fetch-site': 'same-origin' } })
    expect([path, bare.status]).toEqual([path, /ui\/(app|$)/.test(path) ? 200 : 401])
  }
})

test.each(['/', '/_platform/v1/vouchers', '/_platform/v2/deliveries', '/_platform/v1/deliveries/2-9'])(
  'page of a listener responds to GET %s with 404',
  { tags: 'page-of-a-listener/1' },
  async (path) => {
    const { client } = await pageOf()
    const { status, headers } = await client.send('GET', path)
    expect([status, headers['access-control-allow-origin']]).toEqual([404, undefined])
  },
)

test.each(['/x/../_platform/v1/deliveries', '/%2e/_platform/v1/deliveries', '//host/_platform/v1/deliveries'])(
  'page of a listener refuses %s without a session',
  async (path) => {
    const { page } = await pageOf()
    const { hostname, port } = new URL(page.newLink())
    const status = await new Promise((resolve, reject) => {
      // Unlike fetch, this sends the path as it is.
      get({ hostname, port, path }, (response) => resolve(response.resume().statusCode)).on('error', reject)
    })
    expect(status).toBe(404)
  },
)
