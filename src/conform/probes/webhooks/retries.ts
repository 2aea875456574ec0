import { contract } from '../../../contract/index.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import {
  ARRIVAL_MS,
  arrivalsWith,
  delivered,
  deliveryRule,
  type Event,
  failed,
  type Hook,
  heldResponse,
  newArrival,
  newEvent,
  noArrival,
  noWebhook,
  settled,
  setWebhook,
  updateIdOf,
  webhook,
} from './hook.js'

const retries = probesOf('manual-retries', { ...deliveryRule })
const order = probesOf('delivery-order', deliveryRule)
const { retry } = contract.webhook

/** Ms after which an unblocked delivery has arrived. */
const QUIET_MS = 500

const bodyOf = ({ arrival }: Event) => arrival.rawBody.toString('utf8')

const retried = async (run: ProbeContext, { botId }: Hook, deliveryId: string, force?: boolean) =>
  run.call(retry, { botId, deliveryId, ...(force === undefined ? {} : { force }) })

/** Retries a failed delivery, which fails again; tests that an attempt was made. */
async function attemptsAgain(
  run: ProbeContext,
  idOf: (event: Awaited<ReturnType<typeof failed>>) => string,
): Promise<void> {
  const event = await failed(run)
  const own = await webhook(run)
  if ((await settled(run, event.updateId)).status !== 'failed') run.notApplicable('Needs a failed delivery.')
  const before = (await arrivalsWith(own, bodyOf(event))).length
  own.receiver.respond(own.end, () => 500)
  run.accepts(await retried(run, own, idOf(event)))
  const arrivals = await arrivalsWith(own, bodyOf(event), before + 1)
  run.holds(arrivals.length > before, 'another attempt', 'none')
  await settled(run, event.updateId, before + 1)
}

export const manualRetries = [
  retries.specified(1, 'by-delivery-id', 'A failed delivery is attempted again by its delivery id.', async (run) =>
    attemptsAgain(run, ({ record }) => record.id),
  ),
  retries.specified(1, 'by-update-id', 'A failed delivery is attempted again by its update id.', async (run) =>
    attemptsAgain(run, ({ updateId }) => String(updateId)),
  ),
  retries(2, 'outside-the-schedule', 'A manual retry that fails changes neither status nor schedule.', async (run) => {
    const own = await webhook(run)
    const event = await newEvent(run, own, () => 500)
    const before = await settled(run, event.updateId)
    if (before.status !== 'failed') run.notApplicable('Needs a failed delivery.')
    run.needs(await retried(run, own, before.id), 'a manual retry')
    if ((await arrivalsWith(own, bodyOf(event), 2)).length < 2) run.notApplicable('Needs an attempt of a manual retry.')
    const after = await settled(run, event.updateId, 2)
    const shown = ({ status, attempt_count, next_attempt_at }: typeof after) => ({
      status,
      attempt_count,
      next_attempt_at,
    })
    run.equals('status and schedule', shown(after), shown(before))
  }),
  retries(2, 'delivered', 'A delivered delivery is not retried without force.', async (run) => {
    const { updateId } = await delivered(run)
    const { id, status } = await settled(run, updateId)
    if (status !== 'delivered') run.notApplicable('Needs a delivered delivery.')
    run.refuses(await retried(run, await webhook(run), id), 409, 'DELIVERY_NOT_RETRYABLE')
  }),
  retries(2, 'force', 'A delivered delivery is attempted again with force.', async (run) => {
    const own = await webhook(run)
    const event = await newEvent(run, own)
    const { id, status } = await settled(run, event.updateId)
    if (status !== 'delivered') run.notApplicable('Needs a delivered delivery.')
    run.accepts(await retried(run, own, id, true))
    run.holds((await arrivalsWith(own, bodyOf(event), 2)).length >= 2, 'a second attempt', 'none')
  }),
  retries(2, 'immediate-response', 'The call returns before the attempt ends.', async (run) => {
    const own = await webhook(run)
    const event = await newEvent(run, own, () => 500)
    const { id } = await settled(run, event.updateId)
    const { reply, release } = heldResponse(200)
    own.receiver.respond(own.end, reply)
    try {
      const response = retried(run, own, id)
      const first = await Promise.race([
        response.then(() => 'response'),
        run.resources.pause(ARRIVAL_MS).then(() => 'pause'),
      ])
      release()
      run.needs(await response, 'a manual retry')
      run.equals('what came first, the response or 3 s without one', first, 'response')
    } finally {
      release()
    }
  }),
]

export const deliveryOrder = [
  order.with({ vouchers: 4, waitsMs: ARRIVAL_MS })(
    1,
    'lowest-first',
    'Over one connection, the lowest update id is delivered first.',
    async (run) => {
      await delivered(run)
      const own = await noWebhook(run)
      const ids: string[] = []
      for (let n = 0; n < 3; n += 1) ids.push((await voucher(run)).id)
      run.needs(await setWebhook(run, { max_connections: 1 }), 'a webhook with one connection')
      const arrivals = []
      for (const id of ids) arrivals.push((await arrivalsWith(own, id))[0] ?? noArrival(run))
      const byTime = arrivals.toSorted((a, b) => a.at - b.at).map(updateIdOf)
      const sorted = byTime.toSorted((a, b) => a - b)
      run.equals('update ids in the order of arrival', byTime, sorted)
    },
  ),
  order.with({ vouchers: 3, waitsMs: ARRIVAL_MS })(
    1,
    'failed-update',
    'A failed update does not delay a later one.',
    async (run) => {
      const own = await webhook(run)
      const { status } = await settled(run, (await newEvent(run, own, () => 500)).updateId)
      if (status !== 'failed') run.notApplicable('Needs a failed delivery.')
      run.holds((await newArrival(run, own)) !== undefined, 'a delivery of the later update', 'none')
    },
  ),
  order.with({ vouchers: 4, waitsMs: ARRIVAL_MS })(
    1,
    'failing-endpoint',
    'From a failed attempt until the next success, one delivery at a time is sent.',
    async (run) => {
      const own = await webhook(run)
      const { status } = await settled(run, (await newEvent(run, own, () => 500)).updateId)
      if (status !== 'failed') run.notApplicable('Needs a failed delivery.')
      const { reply, release } = heldResponse(200)
      own.receiver.respond(own.end, reply)
      try {
        const ids = [(await voucher(run)).id, (await voucher(run)).id]
        await run.resources.pause(QUIET_MS)
        const arrived = ids.filter((id) => own.receiver.arrivals(own.end).some(({ rawBody }) => rawBody.includes(id)))
        if (arrived.length === 0) noArrival(run)
        run.equals('deliveries in flight', arrived.length, 1)
      } finally {
        release()
      }
    },
  ),
]
