import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryRow, UpdateQueueRow, UpdateRow } from '../../../src/domain/bot/rows.js'
import {
  applyBacklog,
  beginDeliveries,
  cancelledTo,
  confirmTo,
  dropAll,
  endDeliveries,
  INSERT_DELIVERY,
  lockQueue,
  waitingCount,
} from '../../../src/store/delivery/backlog.js'
import { runWorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { all, type Op, run } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import { plantBot, plantUpdates, plantWebhook } from '../../support/server/webhooks.js'
import { openTestStore } from '../../support/store/engines.js'
import { locksOf, noticesOf, stepsOf } from '../../support/store/store-steps.js'

const BOT = 'bot_1'
const NOW = 10_000

let store: Store
let made: number
beforeEach(async () => {
  store = openTestStore()
  made = 0
  await store.write(() => plantBot(BOT))
})
afterEach(() => store.close())

const maker = { now: NOW, newDeliveryId: () => `dlv_new_${++made}` }
/** An operation on the locked queue of the bot. */
const onQueue =
  <T>(change: (queue: UpdateQueueRow) => Op<T>) =>
  () =>
    (function* () {
      return yield* change(yield* lockQueue(BOT))
    })()
const confirm = (to: number) => onQueue((queue) => confirmTo(queue, to))
const drop = onQueue(dropAll)
const begin = onQueue((queue) => beginDeliveries(queue, maker))
const end = onQueue(endDeliveries)
const apply = () => applyBacklog(maker)
const write = <T>(op: () => Op<T>) => store.write(op)
const plant = (count: number) => write(() => plantUpdates(BOT, count, NOW))
const plantDelivery = (updateId: number, change: string) =>
  write(function* () {
    yield* run(INSERT_DELIVERY, [`dlv_${updateId}`, BOT, updateId, 'ping', `update ${updateId}`, NOW])
    yield* run(`update deliveries set ${change} where update_id = $1`, [updateId])
  })
const queue = () => store.read(() => lockQueue(BOT))
const waiting = () => store.read(() => waitingCount(BOT))
const deliveries = () => store.read(() => all<DeliveryRow>('select * from deliveries order by update_id'))
const updates = () => store.read(() => all<UpdateRow>('select * from updates order by update_id'))
const noMarkers = { confirmed_to: null, dropped_to: null, switched_to: null }

describe('confirmation of updates', () => {
  it('confirmation of few updates changes their rows only, with no marker, notice or delivery', async () => {
    await plant(3)
    const steps = await stepsOf(store, confirm(2))
    expect(steps.map(({ kind }) => kind)).toEqual(['one', 'all', 'run'])
    expect((await updates()).map((it) => [it.pending, it.body])).toEqual([
      [0, ''],
      [0, ''],
      [1, '{}'],
    ])
    expect(await queue()).toMatchObject(noMarkers)
  })

  it('statement has 10 places for up to 10 updates, else 200, so that each is prepared once', async () => {
    await plant(21)
    const placesFor = async (to: number) => {
      const change = (await stepsOf(store, confirm(to))).at(-1)
      return change !== undefined && 'params' in change ? change.params.length - 1 : undefined
    }
    expect([await placesFor(10), await placesFor(21)]).toEqual([10, 200])
    expect(await waiting()).toBe(0)
  })

  it('confirmation of many updates stores a marker and notifies processes of the backlog once', async () => {
    await plant(450)
    expect(await noticesOf(store, confirm(420))).toEqual(['backlog'])
    expect(await queue()).toMatchObject({ ...noMarkers, confirmed_to: 420 })
    expect(await waiting()).toBe(30)
    expect((await updates()).filter(({ pending }) => pending === 1)).toHaveLength(250)
    expect(await noticesOf(store, confirm(430))).toEqual([])
    expect(await queue()).toMatchObject({ confirmed_to: 430 })
  })

  it('confirmation of fewer updates than an unfinished backlog confirms none of them again', async () => {
    await plant(450)
    await write(confirm(440))
    await write(confirm(10))
    expect(await queue()).toMatchObject({ confirmed_to: 440 })
    expect(await waiting()).toBe(10)
  })
})

describe('drop of updates', () => {
  it('drop without pending updates only counts them', async () => {
    await plant(2)
    await write(confirm(2))
    expect((await stepsOf(store, drop)).map(({ kind }) => kind)).toEqual(['one', 'one', 'all'])
    expect(await write(drop)).toEqual({ queue: await queue(), dropped: 0 })
  })

  it('drop cancels a running delivery immediately, even behind the first rows of the backlog', async () => {
    await plant(201)
    await plantDelivery(201, `status = 'delivering', lease_until = 1`)
    expect(await write(drop)).toMatchObject({ dropped: 201, queue: { confirmed_to: 201, dropped_to: 201 } })
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', cancel_reason: 'dropped', lease_until: null }])
    expect(await waiting()).toBe(0)
  })

  it('update confirmed behind a dropped backlog is confirmed, not dropped', async () => {
    await plant(450)
    await write(drop)
    await plant(2)
    for (const id of [450, 451]) await plantDelivery(id, `status = 'failed', last_attempt_at = 1`)
    await write(confirm(452))
    expect(await queue()).toMatchObject({ confirmed_to: 452, dropped_to: 450 })
    expect(await store.read(() => cancelledTo(BOT))).toEqual({ cancelledTo: 452, droppedTo: 450 })
    while ((await write(apply)) > 0) continue
    expect((await deliveries()).map((it) => [it.update_id, it.status, it.cancel_reason])).toEqual([
      [450, 'cancelled', 'dropped'],
      [451, 'cancelled', 'webhook_deleted'],
    ])
    expect((await updates()).filter(({ body }) => body !== '').map((it) => it.update_id)).toEqual([451])
    expect(await queue()).toMatchObject(noMarkers)
  })
})

describe('deliveries of a backlog', () => {
  it('first deliveries of a new webhook store a marker and notify processes of the backlog', async () => {
    await plant(250)
    await write(() => plantWebhook(BOT))
    expect(await noticesOf(store, begin)).toEqual(['backlog'])
    expect(await queue()).toMatchObject({ ...noMarkers, switched_to: 200 })
    expect((await deliveries()).map((it) => it.update_id).at(-1)).toBe(200)
    await write(apply)
    expect(await deliveries()).toHaveLength(250)
    expect(await queue()).toMatchObject(noMarkers)
    expect(await write(apply)).toBe(0)
  })

  it('one operation changes at most 200 updates, confirmed and switched together', async () => {
    await plant(650)
    await write(confirm(250))
    await write(() => plantWebhook(BOT))
    await write(begin)
    expect((await deliveries()).map((it) => it.update_id).at(0)).toBe(251)
    await write(apply)
    expect(await deliveries()).toHaveLength(350)
    expect(await queue()).toMatchObject({ ...noMarkers, switched_to: 600 })
  })

  it('worker is notified once confirmed updates are complete; other updates get no delivery', async () => {
    await plant(450)
    await write(confirm(440))
    await write(() => plantWebhook(BOT))
    expect(await noticesOf(store, apply)).toEqual([])
    expect(await noticesOf(store, apply)).toEqual([BOT])
    expect(await deliveries()).toEqual([])
    expect(await waiting()).toBe(10)
  })

  it('backlog of a bot without a webhook notifies no worker', async () => {
    await plant(250)
    await write(confirm(250))
    expect(await noticesOf(store, apply)).toEqual([])
    expect(await queue()).toMatchObject(noMarkers)
  })

  it('deletion of a webhook cancels deliveries, and ends manual retries', { tags: 'webhook-removal/3' }, async () => {
    await plant(4)
    await plantDelivery(1, `status = 'delivering', lease_until = 1`)
    await plantDelivery(2, `status = 'pending', resume_status = 'dead_letter'`)
    await plantDelivery(3, `status = 'delivering', resume_status = 'delivered', lease_until = 1`)
    await plantDelivery(4, `status = 'failed'`)
    expect(await noticesOf(store, end)).toEqual([])
    expect((await deliveries()).map((it) => [it.status, it.cancel_reason, it.ready, it.lease_until])).toEqual([
      ['cancelled', 'webhook_deleted', 0, null],
      ['dead_letter', null, 0, null],
      ['delivered', null, 0, null],
      ['cancelled', 'webhook_deleted', 0, null],
    ])
  })

  it('shortest backlog comes first; the operation locks its queue', async () => {
    await plant(450)
    await write(confirm(450))
    await write(() => plantBot('bot_2'))
    await write(() => plantUpdates('bot_2', 300, NOW))
    await write(function* () {
      yield* confirmTo(yield* lockQueue('bot_2'), 300)
    })
    const [choice, change] = await stepsOf(store, apply)
    expect([choice, change]).toMatchObject([{ params: [] }, { params: ['bot_2', 0, 300, 200] }])
    expect((await locksOf(store, apply))[0]).toBe('row update_queues')
  })

  it('worker claims only deliveries that are neither confirmed nor still to be switched', async () => {
    await plant(3)
    await write(() => plantWebhook(BOT))
    await write(begin)
    await write(() => run('update update_queues set confirmed_to = 1, switched_to = 2'))
    const pass = { ended: [], bots: new Map([[BOT, null]]), lostBefore: null, room: 10, now: NOW, trueNow: NOW }
    expect((await write(() => runWorkerPass(pass))).begun.map(({ updateId }) => updateId)).toEqual([2])
  })

  it('unknown bot has no cancelled deliveries', async () => {
    expect(await store.read(() => cancelledTo('bot_2'))).toEqual({ cancelledTo: 0, droppedTo: 0 })
  })
})
