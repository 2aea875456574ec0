import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/contract/webhook.js'
import type { DeliveryRow } from '../../../src/domain/bot/rows.js'
import { INSERT_DELIVERY } from '../../../src/store/delivery/backlog.js'
import * as deliveries from '../../../src/store/delivery/deliveries.js'
import { all, type Op, run } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import { plantBot, plantUpdates, plantWebhook } from '../../support/server/webhooks.js'
import { openTestStore } from '../../support/store/engines.js'
import { locksOf, noticesOf, stepsOf, unusedParameters } from '../../support/store/store-steps.js'

const NOW = 10_000
const states = ['pending', 'failed', 'delivered', 'dead_letter'] as const

let store: Store
beforeEach(() => {
  store = openTestStore()
})
afterEach(() => store.close())

const write = <T>(op: () => Op<T>) => store.write(op)
/** Creates a bot with a webhook and so many updates. */
const plant = (botId: string, updates: number) =>
  write(function* () {
    yield* plantBot(botId)
    yield* plantUpdates(botId, updates, NOW)
    yield* plantWebhook(botId)
  })
/** Inserts the delivery of an update, created at the time of its update id. */
const plantDelivery = (botId: string, updateId: number, change: Partial<DeliveryRow> = {}, id = `dlv_${updateId}`) =>
  write(function* () {
    yield* run(INSERT_DELIVERY, [id, botId, updateId, 'ping', `update ${updateId}`, updateId])
    for (const [column, value] of Object.entries(change)) {
      yield* run(`update deliveries set ${column} = $2 where id = $1`, [id, value])
    }
  })
const plantAttempt = (deliveryId: string, number: number) =>
  write(() =>
    run(
      `insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms)
       values ($1, $2, 'bot_1', 0, 0, 1)`,
      [deliveryId, number],
    ),
  )
const setMarkers = (markers: string) => write(() => run(`update update_queues set ${markers}`))
const list = async (filter: Parameters<typeof deliveries.list>[2] = {}) => {
  const page = await store.read(() => deliveries.list('acc', 'bot_1', filter))
  if ('ok' in page) throw new Error(page.code)
  return page.items
}
const listAll = async (filter: Parameters<typeof deliveries.listAll>[0] = {}) =>
  (await store.read(() => deliveries.listAll(filter))).items
const idsOf = (items: readonly Delivery[]) => items.map(({ id }) => id)
const retry = (deliveryId: string, force = false, accountId = 'acc') =>
  store.write(() => deliveries.retry(accountId, 'bot_1', deliveryId, force))

describe('lists of deliveries', () => {
  it('list of a bot is newest first, in pages, by status', { tags: ['lists/2', 'lists/3'] }, async () => {
    await plant('bot_1', 4)
    await plant('bot_2', 1)
    for (const [index, status] of states.entries()) await plantDelivery('bot_1', index + 1, { status })
    await plantDelivery('bot_2', 1, {}, 'dlv_other')
    expect(idsOf(await list())).toEqual(['dlv_4', 'dlv_3', 'dlv_2', 'dlv_1'])
    expect(idsOf(await list({ page: 2, limit: 3 }))).toEqual(['dlv_1'])
    for (const [index, status] of states.entries()) expect(idsOf(await list({ status }))).toEqual([`dlv_${index + 1}`])
    expect(await store.read(() => deliveries.list('other', 'bot_1', {}))).toMatchObject({ code: 'BOT_NOT_FOUND' })
  })

  it('list of all bots filters by bot and status, together and alone', async () => {
    await plant('bot_1', 2)
    await plant('bot_2', 3)
    await plantDelivery('bot_1', 1)
    await plantDelivery('bot_1', 2, { status: 'delivered' })
    await plantDelivery('bot_2', 3, {}, 'dlv_3')
    expect(idsOf(await listAll())).toEqual(['dlv_3', 'dlv_2', 'dlv_1'])
    expect(idsOf(await listAll({ bot_id: 'bot_1' }))).toEqual(['dlv_2', 'dlv_1'])
    expect(idsOf(await listAll({ status: 'pending' }))).toEqual(['dlv_3', 'dlv_1'])
    expect(idsOf(await listAll({ bot_id: 'bot_2', status: 'delivered' }))).toEqual([])
    expect(await store.read(() => deliveries.listAll({ page: 2, limit: 2 }))).toMatchObject({
      items: [{ id: 'dlv_1' }],
      pagination: { total: 3, pages: 2 },
    })
  })

  it('list has no unused SQL parameter, and an empty one reads no attempts', async () => {
    await plant('bot_1', 0)
    const steps = await stepsOf(store, () => deliveries.list('acc', 'bot_1', {}))
    expect(steps).toHaveLength(4)
    expect(unusedParameters(steps)).toEqual([])
    for (const status of [...states, 'cancelled'] as const) {
      expect(unusedParameters(await stepsOf(store, () => deliveries.list('acc', 'bot_1', { status })))).toEqual([])
    }
    expect(unusedParameters(await stepsOf(store, () => deliveries.listAll({})))).toEqual([])
  })

  it('delivery shows its own latest 100 attempts, oldest first', { tags: 'deliveries/2' }, async () => {
    await plant('bot_1', 2)
    await plantDelivery('bot_1', 1)
    await plantDelivery('bot_1', 2)
    for (let number = 1; number <= 101; number++) await plantAttempt('dlv_1', number)
    await plantAttempt('dlv_2', 1)
    const numbers = (await list()).map(({ attempts }) => attempts.map(({ number }) => number))
    expect(numbers).toEqual([[1], Array.from({ length: 100 }, (_, index) => index + 2)])
  })
})

describe('deliveries of an unfinished backlog', () => {
  /** Four open deliveries: two of the first round, and manual retries of a failed and a dead one. */
  const plantOpen = async () => {
    await plant('bot_1', 5)
    await plantDelivery('bot_1', 1, { status: 'pending' })
    await plantDelivery('bot_1', 2, { status: 'failed', next_attempt_at: NOW })
    await plantDelivery('bot_1', 3, { status: 'pending', resume_status: 'failed' })
    await plantDelivery('bot_1', 4, { status: 'pending', resume_status: 'dead_letter' })
    await plantDelivery('bot_1', 5, { status: 'failed' })
  }
  const shown = (items: readonly Delivery[]) => items.map((it) => [it.id, it.status, it.cancel_reason])

  it('delivery up to the marker is cancelled for its reason, unless it retries a dead one', async () => {
    await plantOpen()
    await setMarkers('confirmed_to = 4, dropped_to = 2')
    const expected = [
      ['dlv_5', 'failed', null],
      ['dlv_4', 'pending', null],
      ['dlv_3', 'cancelled', 'webhook_deleted'],
      ['dlv_2', 'cancelled', 'dropped'],
      ['dlv_1', 'cancelled', 'dropped'],
    ]
    expect(shown(await list())).toEqual(expected)
    expect(shown(await listAll())).toEqual(expected)
    expect(idsOf(await list({ status: 'cancelled' }))).toEqual(['dlv_3', 'dlv_2', 'dlv_1'])
    expect(idsOf(await listAll({ status: 'cancelled' }))).toEqual(['dlv_3', 'dlv_2', 'dlv_1'])
    expect((await list()).map((it) => it.next_attempt_at).at(3)).toBeNull()
  })

  it('without a webhook all open deliveries are cancelled, except retries of dead ones', async () => {
    await plantOpen()
    await write(() => run('delete from webhooks'))
    expect(idsOf(await list({ status: 'cancelled' }))).toEqual(['dlv_5', 'dlv_3', 'dlv_2', 'dlv_1'])
    expect(shown(await listAll({ status: 'pending' }))).toEqual([['dlv_4', 'pending', null]])
    expect(await retry('dlv_2')).toMatchObject({ code: 'DELIVERY_NOT_RETRYABLE', details: { status: 'cancelled' } })
  })

  it('delivery in the list of all bots has the backlog of its own bot', async () => {
    await plant('bot_1', 1)
    await plant('bot_2', 2)
    await plantDelivery('bot_1', 1)
    await plantDelivery('bot_2', 2)
    await write(() => run(`delete from webhooks where bot_id = 'bot_1'`))
    expect(shown(await listAll())).toEqual([
      ['dlv_2', 'pending', null],
      ['dlv_1', 'cancelled', 'webhook_deleted'],
    ])
  })
})

describe('one delivery', () => {
  it('detail of a delivery has schedule, bot, webhook, update and deliveries in flight', async () => {
    await plant('bot_1', 2)
    await plantDelivery('bot_1', 1)
    await plantDelivery('bot_1', 2, { status: 'delivering', lease_until: 1 })
    const show = (id: string) => store.read(() => deliveries.show(id))
    expect(await show('dlv_1')).toMatchObject({
      delivery: { id: 'dlv_1', status: 'pending' },
      bot: { id: 'bot_1' },
      webhook: { bot_id: 'bot_1' },
      body: '{}',
      inFlight: 1,
    })
    const found = await show('dlv_1')
    expect('schedule' in found && found.schedule).toHaveLength(5)
    expect(await show('dlv_3')).toMatchObject({ code: 'DELIVERY_NOT_FOUND' })
  })

  it('detail of a delivery without bytes of its update has no body', async () => {
    await plant('bot_1', 2)
    await plantDelivery('bot_1', 1)
    await plantDelivery('bot_1', 2)
    await write(() => run(`update updates set body = '' where update_id = 1`))
    await write(() => run('delete from updates where update_id = 2'))
    for (const id of ['dlv_1', 'dlv_2']) {
      expect(await store.read(() => deliveries.show(id))).toMatchObject({ body: null })
    }
  })

  it('deliveries have the order of their updates, undefined for an update without a delivery', async () => {
    await plant('bot_1', 250)
    await plant('bot_2', 1)
    for (let id = 1; id <= 249; id++) await plantDelivery('bot_1', id)
    await plantDelivery('bot_2', 1, {}, 'dlv_other')
    const updates = [
      { bot_id: 'bot_2', update_id: 1 },
      ...Array.from({ length: 250 }, (_, index) => ({ bot_id: 'bot_1', update_id: 250 - index })),
    ]
    const found = await store.read(() => deliveries.deliveriesOf(updates))
    const own = Array.from({ length: 249 }, (_, index) => `dlv_${249 - index}`)
    expect(found.map((it) => it?.id)).toEqual(['dlv_other', undefined, ...own])
    const steps = await stepsOf(store, () => deliveries.deliveriesOf(updates))
    const places = steps.flatMap((it) =>
      'sql' in it && it.sql.includes('delivery_attempts') ? [it.params.length] : [],
    )
    expect(places).toEqual([1, 100, 100, 49])
  })
})

describe('manual retry', () => {
  beforeEach(async () => {
    await plant('bot_1', 12)
    await plant('bot_2', 12)
  })

  it('retry finds the delivery of the bot by its id or its update id', { tags: 'manual-retries/1' }, async () => {
    await plantDelivery('bot_2', 12, { status: 'dead_letter' }, 'dlv_other')
    await plantDelivery('bot_1', 12, { status: 'dead_letter' })
    await plantDelivery('bot_1', 3, { status: 'dead_letter' }, '3_digit_first')
    await plantDelivery('bot_1', 4, { status: 'dead_letter' }, 'digit_last_5')
    expect(await retry('12')).toMatchObject({ id: 'dlv_12', status: 'pending' })
    expect(await retry('3_digit_first')).toMatchObject({ update_id: 3 })
    expect(await retry('digit_last_5')).toMatchObject({ update_id: 4 })
    for (const unknown of ['dlv_other', '11', '1234567890123456']) {
      expect(await retry(unknown)).toMatchObject({ code: 'DELIVERY_NOT_FOUND' })
    }
    expect(await retry('dlv_12', false, 'other')).toMatchObject({ code: 'BOT_NOT_FOUND' })
  })

  it('retry makes the delivery ready, and notifies the worker', { tags: 'manual-retries/1' }, async () => {
    await plantDelivery('bot_1', 1, { status: 'dead_letter', ready: 0 })
    await plantAttempt('dlv_1', 1)
    const op = () => deliveries.retry('acc', 'bot_1', 'dlv_1', false)
    expect(await locksOf(store, op)).toEqual(['row bots', 'row deliveries'])
    await write(() => run(`update deliveries set status = 'dead_letter', ready = 0, resume_status = null`))
    expect(await noticesOf(store, op)).toEqual(['bot_1'])
    const [row] = await store.read(() => all<DeliveryRow>('select * from deliveries'))
    expect(row).toMatchObject({ status: 'pending', resume_status: 'dead_letter', ready: 1 })
    await write(() => run(`update deliveries set status = 'failed', ready = 0, resume_status = null`))
    expect(await retry('dlv_1')).toMatchObject({ status: 'pending', attempts: [{ number: 1 }] })
  })

  it('retry of a delivered update needs force; without its bytes or a webhook it is refused', async () => {
    await plantDelivery('bot_1', 1, { status: 'delivered' })
    const refused = { code: 'DELIVERY_NOT_RETRYABLE', details: { status: 'delivered' } }
    expect(await retry('dlv_1')).toMatchObject(refused)
    await write(() => run('delete from webhooks'))
    expect(await retry('dlv_1', true)).toMatchObject(refused)
    await write(() => plantWebhook('bot_1'))
    await write(() => run(`update updates set body = ''`))
    expect(await retry('dlv_1', true)).toMatchObject(refused)
    await write(() => run(`update updates set body = '{}'`))
    expect(await retry('dlv_1', true)).toMatchObject({ status: 'pending' })
    await plantDelivery('bot_1', 2, { status: 'dead_letter' })
    await write(() => run('delete from updates'))
    expect(await retry('dlv_2')).toMatchObject({ code: 'DELIVERY_NOT_RETRYABLE' })
  })
})

describe('deletion of old deliveries', () => {
  const remove = (before: number, limit = 100) => deliveries.deleteOldDeliveries(before, limit)

  it('deletion takes ended deliveries with attempts and updates, oldest first, up to the limit', async () => {
    await plant('bot_1', 4)
    for (const id of [1, 2, 3, 4]) await plantDelivery('bot_1', id, { status: 'delivered' })
    for (const id of [1, 3]) await plantAttempt(`dlv_${id}`, 1)
    expect(await write(() => remove(3, 1))).toBe(1)
    expect(await write(() => remove(3))).toBe(1)
    expect(idsOf(await list())).toEqual(['dlv_4', 'dlv_3'])
    const left = (table: string) => store.read(() => all(`select 1 as n from ${table}`))
    expect([await left('delivery_attempts'), await left('updates')]).toMatchObject([{ length: 1 }, { length: 2 }])
  })

  it('deletion leaves running deliveries and failed ones of an active bot', async () => {
    await plant('bot_1', 3)
    await plantDelivery('bot_1', 1, { status: 'delivering', lease_until: 1 })
    await plantDelivery('bot_1', 2, { status: 'failed' })
    await plantDelivery('bot_1', 3)
    expect(await write(() => remove(NOW))).toBe(1)
    expect(idsOf(await list())).toEqual(['dlv_2', 'dlv_1'])
    await write(() => run(`update bots set status = 'disabled'`))
    expect(await write(() => remove(NOW))).toBe(1)
  })

  it('deletion skips deliveries that another process has locked', async () => {
    expect(await locksOf(store, () => remove(NOW))).toEqual(['skip deliveries'])
  })
})
