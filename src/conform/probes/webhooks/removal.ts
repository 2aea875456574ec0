import { contract } from '../../../contract/index.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  ARRIVAL_MS,
  arrivalsWith,
  delivered,
  deliveryNeeds,
  heldResponse,
  newEvent,
  noWebhook,
  recordOf,
  removeWebhook,
  sameBot,
  settled,
  webhook,
} from './hook.js'

const probe = probesOf('webhook-removal', { needs: deliveryNeeds, partly: ['drop-in-query', 'drop-in-body'] })
const deliveries = probesOf('deliveries', { needs: deliveryNeeds })
const retries = probesOf('manual-retries', { needs: deliveryNeeds })
const { bots, webhook: calls } = contract

/** Deletes the webhook while a delivery is failed, and sets it again. */
const cancelled = (it: ProbeContext) =>
  it.resources.once('cancelled', async () => {
    if (it.resources.offer.credentials.bot !== undefined) await sameBot(it)
    const own = await webhook(it)
    const { arrival, updateId } = await newEvent(it, own, () => 500)
    const { id } = await settled(it, updateId)
    own.isSet = false
    it.needs(await removeWebhook(it, own.botId), 'a deleted webhook')
    const record = await recordOf(it, updateId)
    const retry = await it.call(calls.retry, { botId: own.botId, deliveryId: id })
    const hasBot = it.resources.offer.credentials.bot !== undefined
    const poll = hasBot ? await it.call(bots.updates, {}) : undefined
    await webhook(it)
    const arrivals = await arrivalsWith(own, arrival.rawBody.toString('utf8'), 2)
    return { updateId, record, retry, poll, arrivals, after: await settled(it, updateId, 2) }
  })

/** Ids of the updates that a poll after the deletion returned. */
async function polledIds(it: ProbeContext): Promise<readonly number[]> {
  const { poll } = await cancelled(it)
  const { items } = it.needs(poll ?? it.resources.lacking('bot'), 'a poll')
  return items.map((one) => one.update_id)
}

/** Drops an update that waits, with a DELETE as given. */
async function drops(it: ProbeContext, remove: (botId: string) => Promise<Observed<{ pending_update_count: number }>>) {
  await delivered(it)
  const { botId } = await noWebhook(it)
  await voucher(it)
  const waiting = it.needs(await removeWebhook(it, botId), 'a deleted webhook').pending_update_count
  if (waiting !== 1) it.notApplicable('Needs an update that waits.')
  it.equals('pending_update_count', it.accepts(await remove(botId)).pending_update_count, 0)
}

/** Sends a DELETE with a body, and perhaps a query. */
const removeWithBody = (it: ProbeContext, botId: string, query: string, drop: boolean) =>
  it.send({
    method: 'DELETE',
    path: calls.delete.path.replace(':botId', botId) + query,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ drop_pending_updates: drop }),
    as: 'jwt',
  }) as Promise<Observed<{ pending_update_count: number }>>

const once = { vouchers: 2, waitsMs: ARRIVAL_MS }

export const webhookRemoval = [
  probe(
    'idempotent',
    'Deleting a webhook twice is a success twice.',
    { needs: ['jwt', 'bot id', 'webhook'] },
    async (it) => {
      const { botId } = await noWebhook(it)
      it.accepts(await removeWebhook(it, botId), 200)
    },
  ),
  probe(
    'drop-in-query',
    'drop_pending_updates in the query drops the updates that wait.',
    { vouchers: 2 },
    async (it) => drops(it, (botId) => removeWebhook(it, botId, true)),
  ),
  probe('drop-in-body', 'drop_pending_updates in the body drops the updates that wait.', { vouchers: 2 }, async (it) =>
    drops(it, (botId) => removeWithBody(it, botId, '', true)),
  ),
  probe(
    'different-values',
    'Different values of drop_pending_updates in query and body are refused with 400.',
    { needs: ['jwt', 'bot id', 'webhook'] },
    async (it) => {
      const own = await webhook(it)
      own.isSet = false
      it.refuses(await removeWithBody(it, own.botId, '?drop_pending_updates=true', false), 400)
    },
  ),
  probe(
    'cancelled-polled',
    'An update whose delivery was cancelled by the deletion can be polled.',
    { needs: [...deliveryNeeds, 'bot'], ...once },
    async (it) => {
      const { updateId } = await cancelled(it)
      const ids = await polledIds(it)
      it.holds(ids.includes(updateId), `update ${updateId}`, ids)
    },
  ),
  probe(
    'delivered-not-polled',
    'A delivered update cannot be polled.',
    { needs: [...deliveryNeeds, 'bot'], ...once },
    async (it) => {
      await sameBot(it)
      const own = await webhook(it)
      const { updateId } = await newEvent(it, own)
      await settled(it, updateId)
      own.isSet = false
      it.needs(await removeWebhook(it, own.botId), 'a deleted webhook')
      const { items } = it.needs(await it.call(bots.updates, {}), 'a poll')
      it.holds(!items.some((one) => one.update_id === updateId), 'no such update', `update ${updateId}`)
    },
  ),
  probe('pending-again', 'If a webhook is set again, a cancelled delivery is attempted again.', once, async (it) => {
    const { arrivals } = await cancelled(it)
    it.holds(arrivals.length >= 2, 'a second attempt', `${arrivals.length} attempt`)
  }),
  probe(
    'old-attempts',
    'Such a delivery counts its attempts from 0 again and lists the old ones too.',
    once,
    async (it) => {
      const { after } = await cancelled(it)
      it.equals('attempt_count and attempts', [after.attempt_count, after.attempts.length], [1, 2])
    },
  ),
  probe(
    'retried-delivery',
    'A delivered delivery stays delivered if its webhook is deleted during a manual retry.',
    once,
    async (it) => {
      const own = await webhook(it)
      const { arrival, updateId } = await newEvent(it, own)
      const { id, status } = await settled(it, updateId)
      if (status !== 'delivered') it.notApplicable('Needs a delivered delivery.')
      const { reply, release } = heldResponse(500)
      own.receiver.respond(own.end, reply)
      try {
        it.needs(await it.call(calls.retry, { botId: own.botId, deliveryId: id, force: true }), 'a manual retry')
        const arrivals = await arrivalsWith(own, arrival.rawBody.toString('utf8'), 2)
        if (arrivals.length < 2) it.notApplicable('Needs an attempt of a manual retry.')
        own.isSet = false
        it.needs(await removeWebhook(it, own.botId), 'a deleted webhook')
        it.equals('status', (await recordOf(it, updateId))?.status, 'delivered')
      } finally {
        release()
      }
    },
  ),
  probe(
    'running-attempt',
    'An attempt that succeeds after its webhook was deleted counts: the delivery is delivered.',
    once,
    async (it) => {
      const own = await webhook(it)
      const { reply, release } = heldResponse(200)
      try {
        const { updateId } = await newEvent(it, own, reply)
        own.isSet = false
        it.needs(await removeWebhook(it, own.botId), 'a deleted webhook')
        release()
        const record = await recordOf(it, updateId, ({ status }) => status === 'delivered')
        it.equals('status', record?.status, 'delivered')
      } finally {
        release()
      }
    },
  ),
]

export const cancelledDeliveries = [
  deliveries('cancelled', 'A failed delivery is cancelled when its webhook is deleted.', once, async (it) =>
    it.equals('status', (await cancelled(it)).record?.status, 'cancelled'),
  ),
  retries('cancelled', 'A cancelled delivery cannot be retried.', once, async (it) => {
    const { record, retry } = await cancelled(it)
    if (record?.status !== 'cancelled') it.notApplicable('Needs a cancelled delivery.')
    it.refuses(retry, 409, 'DELIVERY_NOT_RETRYABLE')
  }),
]
