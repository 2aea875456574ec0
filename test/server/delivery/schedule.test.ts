import { describe, expect, it } from 'vitest'
import { DeliveryScene, SECRET, until } from '../../support/server/deliveries.js'

describe('retry schedule', () => {
  it('failing webhook gets 5 attempts', { tags: ['retry-schedule/1', 'deliveries/1', 'signatures/1'] }, async () => {
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
    await scene.retry(String(updateId))
    await scene.untilStatus(updateId, 'delivered')
    expect(receiver.calls.map((it) => scene.verdict(it)).filter(({ ok }) => !ok)).toEqual([])
  })

  it('delivery that succeeds is posted once, with the media type and the name of the server', async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    await scene.set(receiver)
    await scene.untilStatus(await scene.ping(), 'delivered')
    const { headers, path } = receiver.calls[0] as (typeof receiver.calls)[number]
    expect([path, headers['content-type'], headers['user-agent']]).toEqual(['/hook', 'application/json', 'voucherctl'])
    scene.server.clock.advance(86_400_000)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(receiver.calls).toHaveLength(2)
  })
})

describe('webhook secret', () => {
  it('delivery is signed by both secrets during grace', { tags: ['webhook-settings/3', 'signatures/2'] }, async () => {
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
