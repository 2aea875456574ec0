import { expect, it } from 'vitest'
import { deleteOldDeliveries } from '../../../src/store/delivery/deliveries.js'
import { runWorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { all } from '../../../src/store/operation.js'
import { DeliveryScene } from '../../support/server/deliveries.js'

it('delivery attempt with an expired lease counts as failed; its late result is still recorded', async () => {
  const scene = await DeliveryScene.open({ started: false })
  const { store, clock } = scene.server.deps
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const updateId = await scene.ping()
  const bots = new Map([[scene.bot.id, null]])
  const at = { ended: [], bots, lostBefore: null, room: 10 }
  const { begun } = await store.write(() => runWorkerPass({ ...at, now: clock.now(), trueNow: 1_000 }))
  expect(begun.map((it) => [it.updateId, it.manual, it.leaseUntil])).toEqual([[updateId, false, 31_000]])

  scene.server.clock.advance(40_000)
  await store.write(() => runWorkerPass({ ...at, lostBefore: 30_999, now: clock.now(), trueNow: 30_999 }))
  expect((await scene.delivery(updateId)).status).toBe('delivering')
  await store.write(() => runWorkerPass({ ...at, lostBefore: 31_000, now: clock.now(), trueNow: 31_000 }))
  expect(await scene.delivery(updateId)).toMatchObject({
    status: 'failed',
    attempt_count: 1,
    last_error: { code: 'lease_expired' },
    next_attempt_at: new Date(clock.now() + 60_000).toISOString(),
  })

  const [attempt] = begun
  if (attempt === undefined) throw new Error('nothing began')
  const outcome = { statusCode: 200, error: null, durationMs: 5 }
  const ended = [{ attempt, outcome, ipAddress: '127.0.0.1', endedAt: clock.now() }]
  await store.write(() => runWorkerPass({ ...at, ended, now: clock.now(), trueNow: 31_000 }))
  const delivered = await scene.delivery(updateId)
  expect(delivered.status).toBe('delivered')
  expect(delivered.attempts.map((it) => it.error?.code ?? null)).toEqual(['lease_expired', null])
})

it('update that waited 24 hours without an attempt is not sent', async () => {
  const scene = await DeliveryScene.open({ started: false })
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const old = await scene.ping()
  scene.server.clock.advance(86_400_000)
  const fresh = await scene.ping()
  await scene.startWorker()
  await scene.untilStatus(fresh, 'delivered')
  expect(await scene.delivery(old)).toMatchObject({ status: 'cancelled', cancel_reason: 'expired', attempts: [] })
  expect(receiver.calls.map((it) => it.updateId)).toEqual([fresh])
})

it('delivery is deleted after 30 days with its attempts and its update', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const made = scene.server.clock.now()
  await scene.untilStatus(await scene.ping(), 'delivered')
  scene.server.clock.advance(1)
  const kept = await scene.ping()
  await scene.untilStatus(kept, 'delivered')
  const { store } = scene.server.deps
  expect(await store.write(() => deleteOldDeliveries(made, 10))).toBe(0)
  expect(await store.write(() => deleteOldDeliveries(made + 1, 10))).toBe(1)
  for (const table of ['deliveries', 'delivery_attempts', 'updates']) {
    const rows = await store.read(() => all(`select bot_id from ${table} where bot_id = $1`, [scene.bot.id]))
    expect([table, rows.length]).toEqual([table, 1])
  }
  expect((await scene.deliveries()).map((it) => it.update_id)).toEqual([kept])
})
