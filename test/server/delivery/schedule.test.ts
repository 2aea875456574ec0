import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { DeliveryScene, SECRET, until } from '../../support/server/deliveries.js'

const at = (call: { headers: Record<string, unknown> }) => Number(call.headers['x-platform-timestamp'])

describe('retry schedule', () => {
  it('failing webhook gets an update 5 times, after 0, 60, 300, 900 and 3600 s, then no more', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    receiver.respond = () => 500
    await scene.set(receiver)
    const updateId = await scene.ping()
    let failed = await scene.untilStatus(updateId, 'failed')
    for (const [index, seconds] of [60, 300, 900, 3600].entries()) {
      expect(receiver.calls).toHaveLength(index + 1)
      expect(failed).toMatchObject({ attempt_count: index + 1, manual_attempt_count: 0, last_status_code: 500 })
      expect(failed.next_attempt_at).toBe(new Date(scene.server.clock.now() + seconds * 1000).toISOString())
      scene.server.clock.advance(seconds * 1000 - 1)
      // When the worker delivers this later update, it would already have sent an earlier due one.
      receiver.respond = () => 200
      await scene.untilStatus(await scene.ping(), 'delivered')
      receiver.respond = () => 500
      expect(receiver.calls.filter((it) => it.updateId === updateId)).toHaveLength(index + 1)
      receiver.calls.splice(0, receiver.calls.length, ...receiver.calls.filter((it) => it.updateId === updateId))
      scene.server.clock.advance(1)
      await until(() => receiver.calls.length === index + 2)
      await until(async () => (await scene.delivery(updateId)).attempt_count === index + 2)
      failed = await scene.delivery(updateId)
    }
    expect(failed).toMatchObject({ status: 'dead_letter', attempt_count: 5, next_attempt_at: null, delivered_at: null })
    expect(failed.attempts.map((it) => [it.number, it.manual, it.status_code, it.error?.code])).toEqual(
      [1, 2, 3, 4, 5].map((number) => [number, false, 500, 'http_status']),
    )
    scene.server.clock.advance(29 * 86_400_000)
    receiver.respond = () => 200
    const marker = await scene.ping()
    await scene.untilStatus(marker, 'delivered')
    expect(receiver.calls.filter((it) => it.updateId === updateId)).toHaveLength(5)
    expect((await scene.info()).data).toMatchObject({ dead_letter_count: 1, failed_count: 0, pending_update_count: 0 })
  })

  it('delivery backoff starts at the end of an attempt; redirects and closed ports are failures', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    const target = await scene.receiver()
    receiver.respond = () => {
      scene.server.clock.advance(7_000)
      return { status: 307, headers: { location: target.url } }
    }
    await scene.set(receiver)
    const begun = scene.server.clock.now()
    const redirected = await scene.untilStatus(await scene.ping(), 'failed')
    expect(redirected.next_attempt_at).toBe(new Date(begun + 67_000).toISOString())
    expect(redirected).toMatchObject({ last_status_code: 307, last_error: { code: 'redirect' } })
    expect(redirected.last_attempt_at).toBe(new Date(begun).toISOString())
    expect(target.calls).toEqual([])
    expect((await scene.info()).data).toMatchObject({
      failed_count: 1,
      pending_update_count: 1,
      ip_address: '127.0.0.1',
      last_error_date: Math.floor((begun + 7_000) / 1000),
      last_success_date: null,
    })
  })

  it('delivery that succeeds is not repeated, and its update is no longer pending', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    await scene.set(receiver)
    const updateId = await scene.ping()
    const delivered = await scene.untilStatus(updateId, 'delivered')
    expect(delivered).toMatchObject({
      attempt_count: 1,
      last_status_code: 200,
      last_error: null,
      next_attempt_at: null,
    })
    expect(delivered.delivered_at).toBe(new Date(scene.server.clock.now()).toISOString())
    const { headers, path } = receiver.calls[0] as (typeof receiver.calls)[number]
    expect(path).toBe('/hook')
    expect(headers['content-type']).toBe('application/json')
    expect(headers['user-agent']).toMatch(/^voucherctl/)
    expect(headers['x-platform-update-id']).toBe(String(updateId))
    expect(scene.verdict(receiver.calls[0] as never)).toMatchObject({ ok: true, updateId: String(updateId) })
    expect((await scene.info()).data.pending_update_count).toBe(0)
    scene.server.clock.advance(86_400_000)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(receiver.calls).toHaveLength(2)
  })
})

describe('manual retry', () => {
  it('manual retry sends the body with a new timestamp and does not count as a scheduled attempt', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    receiver.respond = () => 503
    await scene.set(receiver)
    const updateId = await scene.ping()
    const failed = await scene.untilStatus(updateId, 'failed')

    scene.trueNow += 5_000
    const retried = await scene.retry(failed.id)
    expect([retried.status, retried.data.status]).toEqual([200, 'pending'])
    await until(() => receiver.calls.length === 2)
    const again = await scene.untilStatus(updateId, 'failed')
    expect(again).toMatchObject({ attempt_count: 1, manual_attempt_count: 1, next_attempt_at: failed.next_attempt_at })
    expect(again.attempts.map((it) => [it.number, it.manual])).toEqual([
      [1, false],
      [2, true],
    ])

    receiver.respond = () => 200
    scene.trueNow += 5_000
    expect((await scene.retry(String(updateId))).status).toBe(200)
    await scene.untilStatus(updateId, 'delivered')
    const [first, second, third] = receiver.calls as [(typeof receiver.calls)[0], ...typeof receiver.calls]
    expect([second?.body.equals(first.body), third?.body.equals(first.body)]).toEqual([true, true])
    expect([second, third].map((call) => at(call as never) - at(first))).toEqual([5, 10])
    expect(scene.verdict(third as never)).toMatchObject({ ok: true })
  })

  it('failed manual retry of a dead letter leaves it a dead letter', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    receiver.respond = () => 500
    await scene.set(receiver)
    const updateId = await scene.ping()
    await scene.untilStatus(updateId, 'failed')
    for (const seconds of [60, 300, 900, 3600]) {
      const { length } = receiver.calls
      scene.server.clock.advance(seconds * 1000)
      await until(async () => (await scene.delivery(updateId)).attempt_count === length + 1)
    }
    expect((await scene.delivery(updateId)).status).toBe('dead_letter')
    expect((await scene.retry(String(updateId))).data.status).toBe('pending')
    await until(() => receiver.calls.length === 6)
    expect(await scene.untilStatus(updateId, 'dead_letter')).toMatchObject({
      attempt_count: 5,
      manual_attempt_count: 1,
      next_attempt_at: null,
    })
    receiver.respond = () => 204
    await scene.retry(String(updateId))
    expect(await scene.untilStatus(updateId, 'delivered')).toMatchObject({ last_status_code: 204, last_error: null })
  })

  it('manual retry of a delivered update requires force; other delivery states are refused', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    await scene.set(receiver)
    const updateId = await scene.ping()
    const { delivered_at: deliveredAt } = await scene.untilStatus(updateId, 'delivered')
    const refused = await scene.retry(String(updateId))
    expect([refused.status, refused.code, refused.details]).toEqual([
      409,
      'DELIVERY_NOT_RETRYABLE',
      { status: 'delivered' },
    ])
    receiver.respond = () => 500
    expect((await scene.retry(String(updateId), { force: true })).status).toBe(200)
    await until(() => receiver.calls.length === 2)
    expect(await scene.untilStatus(updateId, 'delivered')).toMatchObject({
      manual_attempt_count: 1,
      delivered_at: deliveredAt,
    })
    for (const id of ['0', '99', 'dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'x', '999999999999999999']) {
      expect([id, (await scene.retry(id)).code]).toEqual([id, 'DELIVERY_NOT_FOUND'])
    }
  })

  it('manual retry is refused while the bot has no webhook', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    await scene.set(receiver)
    const updateId = await scene.ping()
    await scene.untilStatus(updateId, 'delivered')
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    const refused = await scene.retry(String(updateId), { force: true })
    expect([refused.code, refused.details]).toEqual(['DELIVERY_NOT_RETRYABLE', { status: 'delivered' }])
  })
})

describe('webhook secret', () => {
  it('delivery is signed with the new and the replaced secret during the grace period', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    await scene.set(receiver)
    await scene.set(receiver, { secret_token: 'the-new-one', secret_grace_seconds: 600 })
    await scene.untilStatus(await scene.ping(), 'delivered')
    const [both] = receiver.calls
    expect(scene.verdict(both as never, ['the-new-one'])).toMatchObject({ ok: true })
    expect(scene.verdict(both as never, [SECRET])).toMatchObject({ ok: true })
    expect(both?.headers['x-platform-signature-v2']).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/)

    scene.server.clock.advance(599_999)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(scene.verdict(receiver.calls.at(-1) as never, [SECRET])).toMatchObject({ ok: true })
    scene.server.clock.advance(1)
    await scene.untilStatus(await scene.ping(), 'delivered')
    const alone = receiver.calls.at(-1)
    expect(scene.verdict(alone as never, ['the-new-one'])).toMatchObject({ ok: true })
    expect(scene.verdict(alone as never, [SECRET])).toMatchObject({ ok: false, reason: 'bad_signature' })
  })
})
