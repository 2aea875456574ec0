import { expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import type { WorkerPassResult } from '../../../src/store/delivery/worker-pass.js'
import { StoreUnavailable } from '../../../src/store/store.js'
import { DeliveryScene, until } from '../../support/server/deliveries.js'

/**
 * Makes the first write whose result satisfies `wanted` reject although its commit took effect.
 * @param meanwhile runs between the commit and the rejection, so before the worker can retry
 */
function loseCommit(
  scene: DeliveryScene,
  wanted: (result: WorkerPassResult) => boolean | Promise<boolean>,
  meanwhile: () => Promise<unknown> = async () => {},
) {
  const { store } = scene.server.deps
  const { write } = store
  const lost = { yet: false }
  store.write = async (op, shared) => {
    const result = await write(op, shared)
    const isPass = typeof result === 'object' && result !== null && 'begun' in result
    if (lost.yet || !isPass || !(await wanted(result as unknown as WorkerPassResult))) return result
    await meanwhile()
    lost.yet = true
    throw new StoreUnavailable('the result of the commit was lost')
  }
  return lost
}

it('delivery is sent once and counts one attempt if the commit result of its claim is lost', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const lost = loseCommit(scene, (result) => result.begun.length > 0)
  const updateId = await scene.ping()
  await until(() => lost.yet)
  // A new update wakes the worker, which would otherwise retry after a second.
  const next = await scene.ping()
  const delivered = await scene.untilStatus(updateId, 'delivered')
  expect(delivered).toMatchObject({ attempt_count: 1, last_error: null })
  expect(delivered.attempts.map((it) => it.status_code)).toEqual([200])
  await scene.untilStatus(next, 'delivered')
  expect(receiver.calls.map((it) => it.updateId).sort()).toEqual([updateId, next])
  expect(scene.workerErrors.splice(0)).toMatchObject([{ name: 'StoreUnavailable' }])
})

it('delivery is claimed again if the commit of its claim failed', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const { store } = scene.server.deps
  const { write } = store
  let failed = false
  store.write = (op, shared) => {
    let fails = false
    return write(function* () {
      const result = yield* op()
      const isPass = typeof result === 'object' && result !== null && 'begun' in result
      fails ||= !failed && isPass && (result as unknown as WorkerPassResult).begun.length > 0
      failed ||= fails
      if (fails) throw new StoreUnavailable('not committed')
      return result
    }, shared)
  }
  const updateId = await scene.ping()
  await until(() => failed)
  const next = await scene.ping()
  for (const id of [updateId, next]) {
    expect(await scene.untilStatus(id, 'delivered')).toMatchObject({ attempt_count: 1 })
  }
  expect(receiver.calls.length).toBe(2)
  expect(scene.workerErrors.splice(0)).toHaveLength(1)
})

it('delivery attempt is recorded once if the commit result of its record is lost', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const lost = loseCommit(scene, async () => (await scene.deliveries({ status: 'delivered' })).length > 0)
  const updateId = await scene.ping()
  await until(() => lost.yet)
  const next = await scene.ping()
  await scene.untilStatus(next, 'delivered')
  const delivered = await scene.delivery(updateId)
  expect([delivered.attempt_count, delivered.attempts.length]).toEqual([1, 1])
  expect(receiver.calls.length).toBe(2)
  expect(scene.workerErrors.splice(0)).toHaveLength(1)
})

it('delivery goes to the new webhook if the claim for the old one lost its commit result', async () => {
  const scene = await DeliveryScene.open()
  const old = await scene.receiver()
  const present = await scene.receiver()
  await scene.set(old)
  const lost = loseCommit(
    scene,
    (result) => result.begun.length > 0,
    () => scene.set(present),
  )
  const updateId = await scene.ping()
  await until(() => lost.yet)
  // A clock that moves wakes the worker.
  scene.server.clock.advance(1)
  await scene.untilStatus(updateId, 'delivered')
  expect([old.calls.length, present.calls.length]).toEqual([0, 1])
  expect(scene.workerErrors.splice(0)).toHaveLength(1)
})

it('delivery waits if the commit result of its claim was lost before its bot was disabled', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const { operator } = scene.tenant
  const lost = loseCommit(
    scene,
    (result) => result.begun.length > 0,
    () => operator(contract.platform.disableBot, { botId: scene.bot.id }),
  )
  const updateId = await scene.ping()
  await until(() => lost.yet)
  // A clock that moves wakes the worker.
  scene.server.clock.advance(1)
  await scene.untilStatus(updateId, 'pending')
  expect(await scene.delivery(updateId)).toMatchObject({ attempt_count: 0, last_attempt_at: null, attempts: [] })
  await operator(contract.platform.enableBot, { botId: scene.bot.id })
  expect(await scene.untilStatus(updateId, 'delivered')).toMatchObject({ attempt_count: 1 })
  expect(receiver.calls.length).toBe(1)
  expect(scene.workerErrors.splice(0)).toHaveLength(1)
})
