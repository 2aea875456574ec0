import { contract } from '../../../contract/index.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  arrivalsWith,
  delivered,
  deliveryNeeds,
  deliveryRule,
  heldResponse,
  newEvent,
  noWebhook,
  recordOf,
  removeWebhook,
  sameBot,
  settled,
  webhook,
} from './hook.js'

const needs = ['jwt', 'bot id', 'webhook'] as const
const settings = probesOf('webhook-removal', { needs })
const dropping = settings.with({ needs: deliveryNeeds, vouchers: 2 })
const probe = settings.with(deliveryRule)
const botProbe = probe.with({ needs: [...deliveryNeeds, 'bot'] })
const deliveries = probesOf('deliveries', deliveryRule)
const retries = probesOf('manual-retries', deliveryRule)
const { bots, webhook: calls } = contract

/** Deletes the webhook during a failed delivery, and sets it again. */
const cancelled = (run: ProbeContext) =>
  run.resources.once('cancelled', async () => {
    if (run.resources.offer.credentials.bot !== undefined) await sameBot(run)
    const own = await webhook(run)
    const { arrival, updateId } = await newEvent(run, own, () => 500)
    const { id } = await settled(run, updateId)
    own.isSet = false
    run.needs(await removeWebhook(run, own.botId), 'a deleted webhook')
    const record = await recordOf(run, updateId)
    const retry = await run.call(calls.retry, { botId: own.botId, deliveryId: id })
    const hasBot = run.resources.offer.credentials.bot !== undefined
    const poll = hasBot ? await run.call(bots.updates, {}) : undefined
    await webhook(run)
    const arrivals = await arrivalsWith(own, arrival.rawBody.toString('utf8'), 2)
    return { updateId, record, retry, poll, arrivals, after: await settled(run, updateId, 2) }
  })

/** Ids of the updates that a poll after the deletion returned. */
async function polledIds(run: ProbeContext): Promise<readonly number[]> {
  const { poll } = await cancelled(run)
  const { items } = run.needs(poll ?? run.resources.lacking('bot'), 'a poll')
  return items.map((one) => one.update_id)
}

/** Drops a waiting update with the given DELETE call. */
async function drops(
  run: ProbeContext,
  remove: (botId: string) => Promise<Observed<{ pending_update_count: number }>>,
) {
  await delivered(run)
  const { botId } = await noWebhook(run)
  await voucher(run)
  const waiting = run.needs(await removeWebhook(run, botId), 'a deleted webhook').pending_update_count
  if (waiting !== 1) run.notApplicable('Needs an update that waits.')
  run.equals('pending_update_count', run.accepts(await remove(botId)).pending_update_count, 0)
}

/** Sends a DELETE with a body, optionally with a query. */
const removeWithBody = (run: ProbeContext, botId: string, query: string, drop: boolean) =>
  run.send({
    method: 'DELETE',
    path: calls.delete.path.replace(':botId', botId) + query,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ drop_pending_updates: drop }),
    as: 'jwt',
  }) as Promise<Observed<{ pending_update_count: number }>>

export const webhookRemoval = [
  settings(1, 'idempotent', 'Deleting a webhook twice is a success twice.', async (run) => {
    const { botId } = await noWebhook(run)
    run.accepts(await removeWebhook(run, botId), 200)
  }),
  dropping.partly(1, 'drop-in-query', 'drop_pending_updates in the query drops the updates that wait.', async (it) =>
    drops(it, (botId) => removeWebhook(it, botId, true)),
  ),
  dropping.partly(1, 'drop-in-body', 'drop_pending_updates in the body drops the updates that wait.', async (run) =>
    drops(run, (botId) => removeWithBody(run, botId, '', true)),
  ),
  settings(1, 'different-values', 'Different drop_pending_updates in query and body are 400.', async (run) => {
    const own = await webhook(run)
    own.isSet = false
    run.refuses(await removeWithBody(run, own.botId, '?drop_pending_updates=true', false), 400)
  }),
  botProbe(2, 'cancelled-polled', 'An update with a cancelled delivery can be polled.', async (run) => {
    const { updateId } = await cancelled(run)
    const ids = await polledIds(run)
    run.holds(ids.includes(updateId), `update ${updateId}`, ids)
  }),
  botProbe(2, 'delivered-not-polled', 'A delivered update cannot be polled.', async (run) => {
    await sameBot(run)
    const own = await webhook(run)
    const { updateId } = await newEvent(run, own)
    await settled(run, updateId)
    own.isSet = false
    run.needs(await removeWebhook(run, own.botId), 'a deleted webhook')
    const { items } = run.needs(await run.call(bots.updates, {}), 'a poll')
    run.holds(!items.some((one) => one.update_id === updateId), 'no such update', `update ${updateId}`)
  }),
  probe(2, 'pending-again', 'If a webhook is set again, a cancelled delivery is attempted again.', async (run) => {
    const { arrivals } = await cancelled(run)
    run.holds(arrivals.length >= 2, 'a second attempt', `${arrivals.length} attempt`)
  }),
  probe(2, 'old-attempts', 'A delivery pending again counts from 0 and lists old attempts.', async (run) => {
    const { after } = await cancelled(run)
    run.equals('attempt_count and attempts', [after.attempt_count, after.attempts.length], [1, 2])
  }),
  probe(3, 'retried-delivery', 'Deletion during a manual retry leaves the delivery delivered.', async (run) => {
    const own = await webhook(run)
    const { arrival, updateId } = await newEvent(run, own)
    const { id, status } = await settled(run, updateId)
    if (status !== 'delivered') run.notApplicable('Needs a delivered delivery.')
    const { reply, release } = heldResponse(500)
    own.receiver.respond(own.end, reply)
    try {
      run.needs(await run.call(calls.retry, { botId: own.botId, deliveryId: id, force: true }), 'a manual retry')
      const arrivals = await arrivalsWith(own, arrival.rawBody.toString('utf8'), 2)
      if (arrivals.length < 2) run.notApplicable('Needs an attempt of a manual retry.')
      own.isSet = false
      run.needs(await removeWebhook(run, own.botId), 'a deleted webhook')
      run.equals('status', (await recordOf(run, updateId))?.status, 'delivered')
    } finally {
      release()
    }
  }),
  probe(3, 'running-attempt', 'Success after the deletion makes the delivery delivered.', async (run) => {
    const own = await webhook(run)
    const { reply, release } = heldResponse(200)
    try {
      const { updateId } = await newEvent(run, own, reply)
      own.isSet = false
      run.needs(await removeWebhook(run, own.botId), 'a deleted webhook')
      release()
      const record = await recordOf(run, updateId, ({ status }) => status === 'delivered')
      run.equals('status', record?.status, 'delivered')
    } finally {
      release()
    }
  }),
]

export const cancelledDeliveries = [
  deliveries(2, 'cancelled', 'A failed delivery is cancelled when its webhook is deleted.', async (run) =>
    run.equals('status', (await cancelled(run)).record?.status, 'cancelled'),
  ),
  retries(2, 'cancelled', 'A cancelled delivery cannot be retried.', async (run) => {
    const { record, retry } = await cancelled(run)
    if (record?.status !== 'cancelled') run.notApplicable('Needs a cancelled delivery.')
    run.refuses(retry, 409, 'DELIVERY_NOT_RETRYABLE')
  }),
]
