import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { applyBacklog, BACKLOG_ROWS_PER_WRITE } from '../../../src/store/delivery/backlog.js'
import { run } from '../../../src/store/operation.js'
import { newChat, say } from '../../support/server/chats.js'
import { DeliveryScene, type Received, type ReceiverResponse, until } from '../../support/server/deliveries.js'

/** A webhook receiver whose responses wait until the test sends them, by update. */
function heldResponses() {
  const waiting = new Map<number, (response: ReceiverResponse) => void>()
  return {
    waiting,
    /** The updates that wait, lowest first: their connections can be read in another order. */
    updateIds: () => [...waiting.keys()].sort((a, b) => a - b),
    respond: ({ updateId }: Received) =>
      new Promise<ReceiverResponse>((resolve) => {
        waiting.set(updateId, resolve)
      }),
    release(updateId: number, response: ReceiverResponse = 200) {
      const resolve = waiting.get(updateId)
      waiting.delete(updateId)
      if (resolve === undefined) throw new Error(`update ${updateId} is not held`)
      resolve(response)
    },
  }
}

const textOf = ({ body }: Received) => (JSON.parse(body.toString()) as { message?: { text: string } }).message?.text

describe('order of deliveries', () => {
  it('updates of each chat are delivered one at a time, by ascending id', { tags: 'delivery-order/1' }, async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    const held = heldResponses()
    receiver.respond = (call) => (textOf(call)?.startsWith('slow') ? held.respond(call) : 200)
    await scene.set(receiver, { allowed_updates: ['message'], max_connections: 4 })
    const [slow, quick] = [await newChat(scene.tenant, scene.bot), await newChat(scene.tenant, scene.bot)]
    // Give one chat far more updates than max_connections before the other chats get any.
    for (let n = 0; n < 12; n++) await say(scene.tenant, slow, `slow ${n}`)
    for (let n = 0; n < 5; n++) await say(scene.tenant, quick, `quick ${n}`)
    await scene.startWorker()
    await until(() => receiver.calls.length === 6)
    expect(receiver.calls.map(textOf).sort()).toEqual(['quick 0', 'quick 1', 'quick 2', 'quick 3', 'quick 4', 'slow 0'])
    expect(receiver.calls.map(textOf).filter((text) => text?.startsWith('quick'))).toEqual([
      'quick 0',
      'quick 1',
      'quick 2',
      'quick 3',
      'quick 4',
    ])
    for (let updateId = 1; updateId <= 3; updateId++) {
      await until(() => held.waiting.has(updateId))
      expect(held.updateIds()).toEqual([updateId])
      held.release(updateId)
    }
    await until(() => held.waiting.has(4))
  })

  it('max_connections limits the concurrent deliveries of a bot, lowest update ids first', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    const held = heldResponses()
    receiver.respond = held.respond
    await scene.set(receiver, { max_connections: 3 })
    for (let n = 0; n < 12; n++) await scene.ping()
    await scene.startWorker()
    for (let updateId = 1; updateId <= 12; updateId++) {
      const expected = [updateId, updateId + 1, updateId + 2].filter((it) => it <= 12)
      await until(() => expected.every((it) => held.waiting.has(it)))
      expect(held.updateIds()).toEqual(expected)
      held.release(updateId)
    }
    await scene.untilStatus(12, 'delivered')
    expect(receiver.held.most).toBe(3)
  })

  it('chat with a long backlog leaves connections to other chats, and every chat keeps its order', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    const held = heldResponses()
    receiver.respond = held.respond
    await scene.set(receiver, { allowed_updates: ['message'], max_connections: 2 })
    const chats = await Promise.all(Array.from({ length: 6 }, () => newChat(scene.tenant, scene.bot)))
    for (const [index, chat] of chats.entries())
      for (let n = 0; n < 6; n++) await say(scene.tenant, chat, `${index} ${n}`)
    await scene.startWorker()
    await until(() => held.waiting.size === 2)
    expect(receiver.calls.map(textOf)).toContain('0 0')
    receiver.respond = () => 200
    for (const updateId of [...held.waiting.keys()]) held.release(updateId)
    await until(() => receiver.calls.length === 36)
    await scene.untilStatus(36, 'delivered')
    for (const index of chats.keys()) {
      const texts = receiver.calls.map(textOf).filter((text) => text?.startsWith(`${index} `))
      expect(texts).toEqual(Array.from({ length: 6 }, (_, n) => `${index} ${n}`))
    }
  })
})

describe('deliveries of several bots', () => {
  it('hanging webhook does not delay deliveries of other bots', async () => {
    const scene = await DeliveryScene.open()
    const [hanging, other] = [await scene.receiver(), await scene.receiver()]
    hanging.respond = () => new Promise(() => {})
    await scene.set(hanging)
    const quick = await scene.tenant.bot()
    await scene.set(other, {}, quick)
    await Promise.all(Array.from({ length: 60 }, () => scene.ping()))
    await until(() => hanging.held.now === 40)
    for (let n = 0; n < 5; n++) await scene.ping(quick)
    await until(() => other.calls.length === 5)
    expect(hanging.held.now).toBe(40)
  })

  it('disabled bot gets no deliveries until it is enabled again', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    await scene.set(receiver)
    const waiting = await scene.ping()
    await scene.tenant.operator(contract.platform.disableBot, { botId: scene.bot.id })
    await scene.startWorker()
    const other = await scene.tenant.bot()
    await scene.set(receiver, {}, other)
    await scene.ping(other)
    await until(() => receiver.calls.length === 1)
    expect((await scene.delivery(waiting)).status).toBe('pending')
    await scene.tenant.operator(contract.platform.enableBot, { botId: scene.bot.id })
    await scene.untilStatus(waiting, 'delivered')
    expect(receiver.calls).toHaveLength(2)
  })
})

describe('webhook deleted or replaced during an attempt', () => {
  it('webhook delete during the manual retry of a dead letter leaves it a dead letter', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    const held = heldResponses()
    receiver.respond = held.respond
    await scene.set(receiver, { max_connections: 1 })
    const [inFlight, waiting] = [await scene.ping(), await scene.ping()]
    await scene.server.deps.store.write(function* () {
      yield* run("update deliveries set status = 'dead_letter', ready = 0, next_attempt_at = null, attempt_count = 5")
      yield* run('update updates set pending = 0')
    })
    for (const updateId of [inFlight, waiting]) await scene.retry(String(updateId))
    await scene.startWorker()
    await until(() => held.waiting.has(inFlight))
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    for (const updateId of [inFlight, waiting]) {
      expect(await scene.delivery(updateId)).toMatchObject({ status: 'dead_letter', cancel_reason: null })
    }
    expect((await scene.info()).data).toMatchObject({ dead_letter_count: 2, pending_update_count: 0 })
    held.release(inFlight, 500)
    await until(async () => (await scene.delivery(inFlight)).attempts.length === 1)
    expect(await scene.delivery(inFlight)).toMatchObject({ status: 'dead_letter', manual_attempt_count: 1 })
  })

  it('manually retried dead letter is delivered after later updates were dropped', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    await scene.set(receiver)
    const dead = await scene.ping()
    const { store } = scene.server.deps
    await store.write(function* () {
      yield* run("update deliveries set status = 'dead_letter', ready = 0, next_attempt_at = null, attempt_count = 5")
      yield* run('update updates set pending = 0')
    })
    // In groups: on PostgreSQL the server refuses a call that waits 2 s for a connection.
    for (let made = 0; made <= BACKLOG_ROWS_PER_WRITE; made += 20) {
      await Promise.all(Array.from({ length: 20 }, () => scene.ping()))
    }
    await scene.set(receiver, { drop_pending_updates: true })
    expect((await scene.retry(String(dead))).data.status).toBe('pending')
    // Returns when the worker has looked for due deliveries and found none.
    await scene.startWorker()
    expect(receiver.calls).toEqual([])
    const maker = { now: scene.server.clock.now(), newDeliveryId: () => scene.server.deps.newId('dlv') }
    while ((await store.write(() => applyBacklog(maker))) > 0) continue
    await until(() => receiver.calls.length > 0)
    expect(receiver.calls.map((it) => it.updateId)).toEqual([dead])
  })

  it('late failure at a replaced webhook does not slow deliveries to the new one', async () => {
    const scene = await DeliveryScene.open()
    const [before, after] = [await scene.receiver(), await scene.receiver()]
    const held = heldResponses()
    before.respond = held.respond
    await scene.set(before)
    const updateId = await scene.ping()
    await until(() => held.waiting.has(updateId))
    scene.server.clock.advance(1)
    await scene.set(after)
    held.release(updateId, 500)
    await scene.untilStatus(updateId, 'failed')
    expect((await scene.info()).data).toMatchObject({ last_error_date: null, last_error_message: null })
    // A webhook marked as failing would get one delivery at a time.
    after.respond = held.respond
    for (let n = 0; n < 3; n++) await scene.ping()
    await until(() => held.waiting.size === 3)
  })
})

describe('stopping worker', () => {
  it('stopping delivery worker waits for running attempts and claims no other deliveries', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const receiver = await scene.receiver()
    const held = heldResponses()
    receiver.respond = held.respond
    await scene.set(receiver, { max_connections: 1 })
    await scene.ping()
    await scene.ping()
    await scene.startWorker()
    await until(() => held.waiting.has(1))
    const stopped = scene.stopWorker(60_000)
    held.release(1)
    await stopped
    expect((await scene.delivery(1)).status).toBe('delivered')
    expect(await scene.delivery(2)).toMatchObject({ status: 'pending', attempts: [] })
    expect(receiver.calls).toHaveLength(1)
    receiver.respond = () => 200
    await scene.startWorker()
    await scene.untilStatus(2, 'delivered')
  })

  it('stopping worker aborts attempts after a grace time, to be retried', { tags: 'delivery-attempts/3' }, async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    receiver.respond = () => new Promise(() => {})
    await scene.set(receiver)
    const updateId = await scene.ping()
    await until(() => receiver.held.now === 1)
    await scene.stopWorker(0)
    expect(await scene.delivery(updateId)).toMatchObject({
      status: 'failed',
      attempt_count: 1,
      last_error: { code: 'aborted' },
    })
    // An aborted attempt is no failure of the webhook.
    expect((await scene.info()).data).toMatchObject({ last_error_date: null, last_error_message: null })
    receiver.respond = () => 200
    await scene.startWorker()
    scene.server.clock.advance(60_000)
    expect(await scene.untilStatus(updateId, 'delivered')).toMatchObject({ attempt_count: 2 })
  })
})
