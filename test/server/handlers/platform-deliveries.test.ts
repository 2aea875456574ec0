import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { HIDDEN } from '../../../src/contract/platform/activity.js'
import { type DeliveryDetail, REPLAY_BYTES_MAX } from '../../../src/contract/platform/deliveries.js'
import { WebhookSender } from '../../../src/server/delivery/sender.js'
import { run } from '../../../src/store/operation.js'
import { signWebhook, verifyWebhook, webhookHeaders } from '../../../src/webhook/signature.js'
import { DAY_MS, START_MS, testApp } from '../../support/server/app.js'
import { newChat, say } from '../../support/server/chats.js'
import { callerOf } from '../../support/server/client.js'
import { DeliveryScene, type Received, type Receiver, SECRET, until } from '../../support/server/deliveries.js'
import { HOOK_URL } from '../../support/server/webhooks.js'

const { platform } = contract
const OLD_SECRET = 'the-secret-before-it'

/** A scene whose true time is the start of the test clock. */
async function open(): Promise<DeliveryScene> {
  const scene = await DeliveryScene.open()
  scene.trueNow = START_MS
  return scene
}

const show = async ({ tenant }: DeliveryScene, deliveryId: string): Promise<DeliveryDetail> =>
  (await tenant.operator(platform.delivery, { deliveryId })).data

type ReplayInput = { mode: 'as_sent' | 'resigned'; body?: string }
const replay = ({ tenant }: DeliveryScene, deliveryId: string, input: ReplayInput) =>
  tenant.operator(platform.replayDelivery, { deliveryId, ...input })

const base64 = (text: string) => Buffer.from(text).toString('base64')
const lastOf = ({ calls }: Receiver) => calls.at(-1) as Received
const headerOf = ({ headers }: Received, name: string) => headers[name.toLowerCase()]

/** Delivers a ping to a receiver that responds with a status. */
async function delivered(status: number, headers: Record<string, string> = {}, body = '') {
  const scene = await open()
  const receiver = await scene.receiver()
  receiver.respond = () => ({ status, headers, body })
  await scene.set(receiver)
  const delivery = await scene.untilStatus(await scene.ping(), status === 200 ? 'delivered' : 'failed')
  return { scene, receiver, delivery }
}

describe('deliveries of all bots', () => {
  it('list has deliveries of every bot, newest first, by bot and status', { tags: 'lists/3' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const other = await scene.tenant.bot()
    receiver.respond = () => 500
    await scene.set(receiver, {}, other)
    scene.server.clock.advance(1_000)
    await scene.ping(other)
    await until(async () => (await scene.deliveries({ status: 'failed' }, other)).length === 1)
    const list = async (filter: object) => (await scene.tenant.operator(platform.deliveries, filter)).data
    const all = await list({})
    expect(all.items.map((it) => it.bot_id)).toEqual([other.id, scene.bot.id])
    expect(all.items[1]).toEqual(delivery)
    expect(all.pagination.total).toBe(2)
    expect((await list({ bot_id: other.id })).items.map((it) => it.status)).toEqual(['failed'])
    expect((await list({ status: 'delivered' })).items.map((it) => it.id)).toEqual([delivery.id])
    expect((await list({ status: 'delivered', bot_id: other.id })).items).toEqual([])
    expect((await list({ page: 2, limit: 1 })).items.map((it) => it.id)).toEqual([delivery.id])
    expect((await list({ sort: 'created_at' })).items.map((it) => it.bot_id)).toEqual([scene.bot.id, other.id])
    expect((await list({ sort: 'created_at', bot_id: other.id })).items.map((it) => it.status)).toEqual(['failed'])
    const bots = [scene.bot.id, other.id].sort()
    expect((await list({ sort: 'bot_id' })).items.map((it) => it.bot_id)).toEqual(bots)
    expect((await list({ sort: '-bot_id' })).items.map((it) => it.bot_id)).toEqual(bots.toReversed())
  })

  it('list can be limited to a type of update and to an update id, of one bot or of all', async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const other = await scene.tenant.bot()
    await scene.set(receiver, {}, other)
    const chat = await scene.tenant.operator(platform.createChat, { bot_id: other.id, user_id: 'user-1' })
    await scene.ping(other)
    await until(async () => (await scene.deliveries({ status: 'delivered' }, other)).length === 2)
    const list = async (filter: object) => {
      const { items, pagination } = (await scene.tenant.operator(platform.deliveries, filter)).data
      expect(pagination.total).toBe(items.length)
      return items.map((it) => [it.bot_id, it.update_type, it.update_id]).sort()
    }
    const ping = [scene.bot.id, 'ping', delivery.update_id]
    const started = [other.id, 'my_chat_member', 1]
    expect(chat.status).toBe(200)
    expect(await list({ type: 'ping' })).toEqual([ping, [other.id, 'ping', 2]].sort())
    expect(await list({ type: 'my_chat_member' })).toEqual([started])
    expect(await list({ type: 'my_chat_member', bot_id: scene.bot.id })).toEqual([])
    expect(await list({ update_id: 1 })).toEqual([ping, started].sort())
    expect(await list({ update_id: 1, bot_id: other.id, status: 'delivered' })).toEqual([started])
    expect(await list({ update_id: 2, type: 'my_chat_member' })).toEqual([])
    expect(await list({ update_id: 2, status: 'failed' })).toEqual([])
    for (const filter of [{ type: 'unknown' }, { update_id: 0 }, { update_id: 'x' }]) {
      expect((await scene.tenant.operator(platform.deliveries, filter as never)).code).toBe('VALIDATION_FAILED')
    }
  })

  it('list can be limited to a chat, also with other filters', async () => {
    const { scene } = await delivered(200)
    const { tenant, bot } = scene
    const [chat, other] = [await newChat(tenant, bot), await newChat(tenant, bot)]
    scene.server.clock.advance(1_000)
    await say(tenant, chat, 'Hello')
    await say(tenant, other, 'Hello')
    await until(async () => (await scene.deliveries({ status: 'delivered' })).length === 5)
    const list = async (filter: object) => {
      const { items, pagination } = (await tenant.operator(platform.deliveries, filter)).data
      return [items.map((it) => [it.update_type, it.update_id]), pagination.total]
    }
    const [started, said] = [
      ['my_chat_member', 2],
      ['message', 4],
    ]
    expect(await list({ chat_id: chat.id })).toEqual([[said, started], 2])
    expect(await list({ chat_id: chat.id, bot_id: bot.id, limit: 1, page: 2 })).toEqual([[started], 2])
    expect(await list({ chat_id: chat.id, type: 'message' })).toEqual([[said], 1])
    expect(await list({ chat_id: chat.id, update_id: 2 })).toEqual([[started], 1])
    expect(await list({ chat_id: chat.id, status: 'failed' })).toEqual([[], 0])
    expect(await list({ chat_id: chat.id, bot_id: 'bot_unknown' })).toEqual([[], 0])
    expect(await list({ chat_id: 'chat_unknown' })).toEqual([[], 0])
  })

  it('list shows failed deliveries as cancelled after the webhook is deleted', async () => {
    const { scene, delivery } = await delivered(500)
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    // The row of a long backlog, which is not updated yet.
    await scene.server.deps.store.write(() =>
      run("update deliveries set status = 'failed', cancel_reason = null where id = $1", [delivery.id]),
    )
    const list = async (status: 'failed' | 'cancelled') =>
      (await scene.tenant.operator(platform.deliveries, { status })).data.items
    expect(await list('failed')).toEqual([])
    expect(await list('cancelled')).toMatchObject([{ id: delivery.id, cancel_reason: 'webhook_deleted' }])
  })
})

describe('delivery of the operator', () => {
  it('detail has the parts of the signature that the receiver got', async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const call = lastOf(receiver)
    const detail = await show(scene, delivery.id)
    const signature = headerOf(call, webhookHeaders.signature) as string
    expect(detail).toMatchObject({
      delivery,
      bot_name: expect.any(String),
      account_id: expect.any(String),
      url: receiver.url,
      voucher_id: null,
      body: call.body.toString('base64'),
      request: { of: 'last_attempt' },
      signature: {
        timestamp: START_MS / 1000,
        prefix: `${START_MS / 1000}.`,
        signed_bytes: call.body.length + 11,
        algorithm: 'HMAC-SHA256',
        secrets: [{ which: 'current', signature, sent: true, until: null }],
      },
      verification: { ok: true, reason: null, fix: null },
      responses: [{ status: 200, replay: false, at: delivery.attempts[0]?.started_at }],
      hints: [],
    })
    for (const [name, value] of detail.request?.headers ?? []) expect(headerOf(call, name)).toBe(value)
  })

  it('detail has the signatures of both secrets during the grace period', async () => {
    const scene = await open()
    const receiver = await scene.receiver()
    await scene.set(receiver, { secret_token: OLD_SECRET })
    await scene.set(receiver, { secret_grace_seconds: 60 })
    const { id } = await scene.untilStatus(await scene.ping(), 'delivered')
    const { signature } = await show(scene, id)
    const [current, previous] = signature?.secrets ?? []
    expect(`${current?.signature},${previous?.signature}`).toBe(headerOf(lastOf(receiver), webhookHeaders.signature))
    expect(previous).toMatchObject({
      which: 'previous',
      sent: true,
      until: new Date(START_MS + 60_000).toISOString(),
    })
  })

  it('detail names the voucher of an update about a voucher', async () => {
    const scene = await open()
    const receiver = await scene.receiver()
    const bot = await scene.tenant.linkedBot()
    await scene.set(receiver, { allowed_updates: ['voucher_issued'] }, bot)
    const voucher = await scene.tenant.issue()
    await until(async () => (await scene.deliveries({ status: 'delivered' }, bot)).length === 1)
    const [delivery] = await scene.deliveries({}, bot)
    expect((await show(scene, delivery?.id as string)).voucher_id).toBe(voucher.id)
  })

  it('detail computes headers of an attempt of another process', { tags: 'replays-by-the-operator/1' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const { request } = await show(scene, delivery.id)
    scene.server.deps.attempts.clear()
    const again = await show(scene, delivery.id)
    expect(again.request).toEqual({ of: 'recomputed', headers: request?.headers })
    expect(again.responses).toEqual([])
    expect(receiver.calls).toHaveLength(1)
  })

  it('detail has neither URL nor signature without a webhook, but the responses', async () => {
    const { scene, delivery } = await delivered(500)
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    expect(await show(scene, delivery.id)).toMatchObject({
      delivery: { status: 'cancelled', cancel_reason: 'webhook_deleted' },
      url: null,
      request: null,
      signature: null,
      verification: null,
      responses: [{ status: 500 }],
      schedule: [{ state: 'made' }, { state: 'never' }, { state: 'never' }, { state: 'never' }, { state: 'never' }],
    })
  })

  it('detail has no secret, even if the application writes it into its response', async () => {
    const { scene, delivery } = await delivered(401, { 'X-Expected': SECRET }, `expected ${SECRET}`)
    const shown = await scene.tenant.operator(platform.delivery, { deliveryId: delivery.id })
    const replayed = await replay(scene, delivery.id, { mode: 'as_sent' })
    for (const { text } of [shown, replayed]) {
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain(base64(`expected ${SECRET}`))
      expect(text).toContain(base64(`expected ${HIDDEN}`))
    }
  })
})

describe('hints for a refused delivery', () => {
  const codesOf = ({ hints }: Pick<DeliveryDetail, 'hints'>) => hints.map((it) => it.code)

  it('hint app_clock comes first if the Date of the response is wrong', async () => {
    const date = new Date(START_MS - 600_000).toUTCString()
    const { scene, delivery } = await delivered(401, { date })
    const detail = await show(scene, delivery.id)
    expect(codesOf(detail)).toEqual(['app_clock', 'other_secret', 'raw_body'])
    expect(detail.hints[0]?.text).toContain('10 min behind')
  })

  it('hint test_clock is given if the test clock is ahead', async () => {
    const scene = await open()
    const receiver = await scene.receiver()
    receiver.respond = () => ({ status: 401, headers: { date: new Date(START_MS).toUTCString() } })
    await scene.set(receiver)
    scene.server.clock.advance(DAY_MS)
    const { id } = await scene.untilStatus(await scene.ping(), 'failed')
    expect(codesOf(await show(scene, id))[0]).toBe('test_clock')
  })

  it('hints name a secret that was replaced after the attempt', async () => {
    const { scene, receiver, delivery } = await delivered(401, { date: new Date(START_MS).toUTCString() })
    await scene.set(receiver, { secret_token: 'another-secret' })
    const detail = await show(scene, delivery.id)
    expect(detail.verification).toMatchObject({ ok: false, reason: 'bad_signature' })
    expect(codesOf(detail)).toEqual(['secret_replaced'])
    expect(detail.signature?.secrets).toMatchObject([{ which: 'current', sent: false }])
  })

  it('hints name two signatures, or the end of the previous secret', async () => {
    const scene = await open()
    const receiver = await scene.receiver()
    receiver.respond = () => ({ status: 403, headers: { date: new Date(START_MS).toUTCString() } })
    await scene.set(receiver, { secret_token: OLD_SECRET })
    await scene.set(receiver, { secret_grace_seconds: 60 })
    const during = await scene.untilStatus(await scene.ping(), 'failed')
    expect(codesOf(await show(scene, during.id))).toEqual(['two_signatures', 'other_secret', 'raw_body', 'csrf'])
    scene.server.clock.advance(59_999)
    scene.server.clock.advance(1)
    const after = await scene.untilStatus(await scene.ping(), 'failed')
    expect(codesOf(await show(scene, after.id))).toEqual(['previous_secret_ended', 'other_secret', 'raw_body', 'csrf'])
  })

  it('hints name a login that stands before the webhook', async () => {
    const { scene, delivery } = await delivered(401, { date: '', 'www-authenticate': 'Basic' })
    expect(codesOf(await show(scene, delivery.id))[0]).toBe('login')
  })

  it('hints name the content type of a delivery that is refused with 415', async () => {
    const { scene, delivery } = await delivered(415, { date: '' })
    expect(codesOf(await show(scene, delivery.id))[0]).toBe('content_type')
  })

  it('delivery that the application failed with 500 has no hints', async () => {
    const { scene, delivery } = await delivered(500)
    expect((await show(scene, delivery.id)).hints).toEqual([])
  })
})

describe('replay by the operator', () => {
  it('replay as_sent repeats all bytes and changes nothing', { tags: 'replays-by-the-operator/2' }, async () => {
    const { scene, receiver, delivery } = await delivered(401, {}, 'no')
    scene.server.clock.advance(30_000)
    const { data } = await replay(scene, delivery.id, { mode: 'as_sent' })
    expect(data).toMatchObject({
      status: 401,
      error: { code: 'http_status' },
      exchange: { request: { url: receiver.url }, response: { status: 401, body: base64('no') } },
      verification: { ok: true },
    })
    const [first, second] = receiver.calls
    expect(second?.body).toEqual(first?.body)
    for (const name of Object.values(webhookHeaders)) {
      expect(headerOf(second as Received, name)).toBe(headerOf(first as Received, name))
    }
    expect(await scene.delivery(delivery.update_id)).toEqual(delivery)
    expect((await scene.info()).data.last_error_date).toBe(START_MS / 1000)
    expect((await show(scene, delivery.id)).responses).toMatchObject([
      { replay: false, attempt: 1 },
      { replay: true, attempt: null, manual: false, status: 401 },
    ])
  })

  it('replay resigned has the present time and a valid signature', { tags: 'replays-by-the-operator/2' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    await scene.set(receiver, { secret_token: 'another-secret' })
    await replay(scene, delivery.id, { mode: 'resigned' })
    expect(scene.verdict(lastOf(receiver), ['another-secret'])).toMatchObject({ ok: true })
  })

  it('replay resigned signs edited bytes with their update id', { tags: 'replays-by-the-operator/2' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const body = '{"update_id": 99, "type":"ping", "note":"<script>alert(1)</script> ü"}'
    const { data } = await replay(scene, delivery.id, { mode: 'resigned', body: base64(body) })
    const call = lastOf(receiver)
    expect(call.body.toString()).toBe(body)
    expect(scene.verdict(call)).toMatchObject({ ok: true, updateId: '99' })
    expect(data.exchange.request.body).toBe(base64(body))
  })

  it('replay as_sent of edited bytes has a wrong signature', { tags: 'replays-by-the-operator/4' }, async () => {
    const { scene, receiver, delivery } = await delivered(401)
    const body = lastOf(receiver).body.toString().replace('ping', 'pong')
    const { data } = await replay(scene, delivery.id, { mode: 'as_sent', body: base64(body) })
    expect(scene.verdict(lastOf(receiver))).toMatchObject({ ok: false, reason: 'bad_signature' })
    expect(data.verification).toMatchObject({ ok: false, reason: 'bad_signature' })
    expect(data.hints[0]?.code).toBe('body_edited')
  })

  it('replay as_sent of a reserialised body names the cause like webhook verify --explain', async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const body = JSON.stringify(JSON.parse(lastOf(receiver).body.toString()), null, 2)
    const { data } = await replay(scene, delivery.id, { mode: 'as_sent', body: base64(body) })
    expect(data.verification).toMatchObject({ ok: false, explanation: expect.stringContaining('written again') })
  })

  it('as_sent after 300 s is stale', { tags: ['replays-by-the-operator/2', 'replays-by-the-operator/4'] }, async () => {
    const { scene, delivery } = await delivered(401, { date: '' })
    const twin = { ...scene.server.deps.attempts.of(delivery.id)[0] }
    scene.server.deps.attempts.clear()
    const seconds = String(START_MS / 1000 - 301)
    const headers = { ...twin.headers, [webhookHeaders.timestamp]: seconds }
    scene.server.deps.attempts.add({ ...twin, headers } as Parameters<typeof scene.server.deps.attempts.add>[0])
    const { data } = await replay(scene, delivery.id, { mode: 'as_sent' })
    expect(data.verification.reason).toBe('stale')
    expect(data.hints[0]?.code).toBe('stale')
  })

  it('replay to an address that the guard refuses sends nothing', async () => {
    const { scene, receiver, delivery } = await delivered(200)
    scene.ports.delete(receiver.port)
    const { data } = await replay(scene, delivery.id, { mode: 'resigned' })
    expect(data).toMatchObject({
      status: null,
      error: { code: 'url_refused' },
      exchange: { response: null },
      hints: [],
    })
    expect(receiver.calls).toHaveLength(1)
  })

  it.each([
    ['a private address', '10.0.0.7', 'address_forbidden'],
    ['an address outside allowed_ips', '93.184.215.15', 'address_not_allowed'],
  ])('replay to %s opens no connection', { tags: 'replays-by-the-operator/2' }, async (_, address, code) => {
    const scene = await DeliveryScene.open({ started: false })
    await scene.set({ url: HOOK_URL }, { allowed_ips: ['93.184.215.14'] })
    const { id: deliveryId } = await scene.delivery(await scene.ping())
    const connectTcp = vi.fn()
    const sender = new WebhookSender({ lookup: async () => [address], connectTcp })
    const twin = testApp({ store: scene.server.deps.store, sender })
    onTestFinished(() => twin.close())
    const { data } = await callerOf(twin.send, twin.operatorKey)(platform.replayDelivery, {
      deliveryId,
      mode: 'resigned',
    })
    expect(data).toMatchObject({
      status: null,
      error: { code },
      exchange: { request: { url: HOOK_URL }, response: null },
    })
    expect(connectTcp).not.toHaveBeenCalled()
  })

  it('replay of a delivered, dead or cancelled delivery is sent', { tags: 'replays-by-the-operator/2' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    for (const status of ['dead_letter', 'cancelled']) {
      await scene.server.deps.store.write(() =>
        run('update deliveries set status = $2 where id = $1', [delivery.id, status]),
      )
      expect((await replay(scene, delivery.id, { mode: 'resigned' })).data.status).toBe(200)
      expect((await show(scene, delivery.id)).delivery.status).toBe(status)
    }
    expect(receiver.calls).toHaveLength(3)
  })

  it('replay is 409 without webhook, active bot, bytes or attempt', { tags: 'replays-by-the-operator/3' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const { bot, tenant } = scene
    const reasonOf = async (input: ReplayInput = { mode: 'resigned' }, id = delivery.id) => {
      const { status, code, text } = await replay(scene, id, input)
      return [status, code, JSON.parse(text).details?.reason]
    }
    const refused = (reason: string) => [409, 'DELIVERY_NOT_REPLAYABLE', reason]
    await scene.stopWorker(0)
    const waiting = await scene.delivery(await scene.ping())
    expect(await reasonOf({ mode: 'as_sent' }, waiting.id)).toEqual(refused('not_attempted'))
    await scene.server.deps.store.write(() =>
      run("update updates set body = '' where bot_id = $1 and update_id = $2", [bot.id, delivery.update_id]),
    )
    expect(await reasonOf()).toEqual(refused('bytes_deleted'))
    expect(await reasonOf({ mode: 'as_sent', body: base64('{}') })).toEqual(refused('bytes_deleted'))
    expect(await reasonOf({ mode: 'resigned', body: base64('{}') })).toEqual([200, null, undefined])
    await tenant.operator(platform.disableBot, { botId: bot.id })
    expect(await reasonOf()).toEqual(refused('bot_disabled'))
    await tenant.operator(platform.enableBot, { botId: bot.id })
    await tenant.console(contract.webhook.delete, { botId: bot.id })
    expect(await reasonOf()).toEqual(refused('no_webhook'))
    expect(receiver.calls).toHaveLength(2)
  })

  it('replay beyond max_connections is 429', { tags: 'replays-by-the-operator/3' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    await scene.set(receiver, { max_connections: 1 })
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    receiver.respond = () => held.then(() => 200)
    const first = replay(scene, delivery.id, { mode: 'resigned' })
    await until(() => receiver.held.now === 1)
    const second = await replay(scene, delivery.id, { mode: 'resigned' })
    expect([second.status, second.code, second.headers['retry-after']]).toEqual([429, 'RATE_LIMITED', '1'])
    end()
    expect((await first).data.status).toBe(200)
    expect((await replay(scene, delivery.id, { mode: 'resigned' })).data.status).toBe(200)
  })

  it('replay beyond 16 concurrent ones of a process is 429', { tags: 'replays-by-the-operator/3' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    await scene.set(receiver, { max_connections: 100 })
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    receiver.respond = () => held.then(() => 200)
    const again = () => replay(scene, delivery.id, { mode: 'resigned' })
    const first = Array.from({ length: 16 }, again)
    await until(() => receiver.held.now === 16)
    expect((await again()).code).toBe('RATE_LIMITED')
    end()
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array(16).fill(200))
  })

  it('reset does not wait for a replay', async () => {
    const { scene, receiver, delivery } = await delivered(200)
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    onTestFinished(end)
    receiver.respond = () => held.then(() => 200)
    const running = replay(scene, delivery.id, { mode: 'resigned' })
    await until(() => receiver.held.now === 1)
    await scene.server.deps.gate.runExclusive(
      async () => scene.server.deps.attempts.clear(),
      () => {},
    )
    end()
    expect((await running).data.status).toBe(200)
    expect(scene.server.deps.attempts.of(delivery.id)).toEqual([])
  })

  it.each([
    ['no base64', 'not base64!'],
    ['base64 without its padding', 'YQ'],
    ['bits after the last byte', 'YR=='],
    ['more than 1 MiB', Buffer.alloc(REPLAY_BYTES_MAX + 1).toString('base64')],
  ])('replay is 400 for a body with %s', { tags: 'replays-by-the-operator/2' }, async (_, body) => {
    const { scene, receiver, delivery } = await delivered(200)
    expect((await replay(scene, delivery.id, { mode: 'resigned', body })).code).toBe('VALIDATION_FAILED')
    expect(receiver.calls).toHaveLength(1)
  })

  it('replay sends a body of 1 MiB', { tags: 'bodies/2' }, async () => {
    const { scene, receiver, delivery } = await delivered(200)
    const start = '{"update_id":1,"x":"'
    const bytes = Buffer.from(`${start}${'x'.repeat(REPLAY_BYTES_MAX - start.length - 2)}"}`)
    const { data } = await replay(scene, delivery.id, { mode: 'resigned', body: bytes.toString('base64') })
    expect(data.exchange.request.body_bytes).toBe(REPLAY_BYTES_MAX)
    const { headers, body } = lastOf(receiver)
    expect(verifyWebhook({ headers, rawBody: body, secrets: [SECRET], now: START_MS }).ok).toBe(true)
    expect(headers[webhookHeaders.signature.toLowerCase()]).toBe(
      signWebhook({ rawBody: bytes, secrets: [SECRET], timestamp: START_MS / 1000, updateId: 1 })[
        webhookHeaders.signature
      ],
    )
  })
})
