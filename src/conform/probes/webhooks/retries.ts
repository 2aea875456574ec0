import { contract } from '../../../contract/index.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import {
  ARRIVAL_MS,
  arrivalsWith,
  delivered,
  deliveryNeeds,
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

const retries = probesOf('manual-retries', { needs: deliveryNeeds, specified: ['by-delivery-id', 'by-update-id'] })
const order = probesOf('delivery-order', { needs: deliveryNeeds })
const { retry } = contract.webhook

/** A delivery that does not wait for another one has arrived by then. */
const QUIET_MS = 500

const one = { vouchers: 2, waitsMs: ARRIVAL_MS }

const bodyOf = ({ arrival }: Event) => arrival.rawBody.toString('utf8')

const retried = async (it: ProbeContext, { botId }: Hook, deliveryId: string, force?: boolean) =>
  it.call(retry, { botId, deliveryId, ...(force === undefined ? {} : { force }) })

/** Retries a failed delivery, which fails again; says that it was attempted. */
async function attemptsAgain(
  it: ProbeContext,
  idOf: (event: Awaited<ReturnType<typeof failed>>) => string,
): Promise<void> {
  const event = await failed(it)
  const own = await webhook(it)
  if ((await settled(it, event.updateId)).status !== 'failed') it.notApplicable('Needs a failed delivery.')
  const before = (await arrivalsWith(own, bodyOf(event))).length
  own.receiver.respond(own.end, () => 500)
  it.accepts(await retried(it, own, idOf(event)))
  const arrivals = await arrivalsWith(own, bodyOf(event), before + 1)
  it.holds(arrivals.length > before, 'another attempt', 'none')
  await settled(it, event.updateId, before + 1)
}

export const manualRetries = [
  retries('by-delivery-id', 'A failed delivery is attempted again by its delivery id.', one, async (it) =>
    attemptsAgain(it, ({ record }) => record.id),
  ),
  retries('by-update-id', 'A failed delivery is attempted again by its update id.', one, async (it) =>
    attemptsAgain(it, ({ updateId }) => String(updateId)),
  ),
  retries(
    'outside-the-schedule',
    'A manual retry that fails changes neither the status nor the schedule of the delivery.',
    one,
    async (it) => {
      const own = await webhook(it)
      const event = await newEvent(it, own, () => 500)
      const before = await settled(it, event.updateId)
      if (before.status !== 'failed') it.notApplicable('Needs a failed delivery.')
      it.needs(await retried(it, own, before.id), 'a manual retry')
      if ((await arrivalsWith(own, bodyOf(event), 2)).length < 2)
        it.notApplicable('Needs an attempt of a manual retry.')
      const after = await settled(it, event.updateId, 2)
      const shown = ({ status, attempt_count, next_attempt_at }: typeof after) => ({
        status,
        attempt_count,
        next_attempt_at,
      })
      it.equals('status and schedule', shown(after), shown(before))
    },
  ),
  retries('delivered', 'A delivered delivery is not retried without force.', one, async (it) => {
    const { updateId } = await delivered(it)
    const { id, status } = await settled(it, updateId)
    if (status !== 'delivered') it.notApplicable('Needs a delivered delivery.')
    it.refuses(await retried(it, await webhook(it), id), 409, 'DELIVERY_NOT_RETRYABLE')
  }),
  retries('force', 'A delivered delivery is attempted again with force.', one, async (it) => {
    const own = await webhook(it)
    const event = await newEvent(it, own)
    const { id, status } = await settled(it, event.updateId)
    if (status !== 'delivered') it.notApplicable('Needs a delivered delivery.')
    it.accepts(await retried(it, own, id, true))
    it.holds((await arrivalsWith(own, bodyOf(event), 2)).length >= 2, 'a second attempt', 'none')
  }),
  retries('immediate-response', 'The call returns before the attempt ends.', one, async (it) => {
    const own = await webhook(it)
    const event = await newEvent(it, own, () => 500)
    const { id } = await settled(it, event.updateId)
    const { reply, release } = heldResponse(200)
    own.receiver.respond(own.end, reply)
    try {
      const response = retried(it, own, id)
      const first = await Promise.race([
        response.then(() => 'response'),
        it.resources.pause(ARRIVAL_MS).then(() => 'pause'),
      ])
      release()
      it.needs(await response, 'a manual retry')
      it.equals('what came first, the response or 3 s without one', first, 'response')
    } finally {
      release()
    }
  }),
]

export const deliveryOrder = [
  order(
    'lowest-first',
    'Over one connection, the lowest update id is delivered first.',
    { vouchers: 4, waitsMs: ARRIVAL_MS },
    async (it) => {
      await delivered(it)
      const own = await noWebhook(it)
      const ids: string[] = []
      for (let n = 0; n < 3; n += 1) ids.push((await voucher(it)).id)
      it.needs(await setWebhook(it, { max_connections: 1 }), 'a webhook with one connection')
      const arrivals = []
      for (const id of ids) arrivals.push((await arrivalsWith(own, id))[0] ?? noArrival(it))
      const byTime = arrivals.toSorted((a, b) => a.at - b.at).map(updateIdOf)
      it.equals(
        'update ids in the order of arrival',
        byTime,
        byTime.toSorted((a, b) => a - b),
      )
    },
  ),
  order(
    'failed-update',
    'A failed update does not delay a later one.',
    { vouchers: 3, waitsMs: ARRIVAL_MS },
    async (it) => {
      const own = await webhook(it)
      const { status } = await settled(it, (await newEvent(it, own, () => 500)).updateId)
      if (status !== 'failed') it.notApplicable('Needs a failed delivery.')
      it.holds((await newArrival(it, own)) !== undefined, 'a delivery of the later update', 'none')
    },
  ),
  order(
    'failing-endpoint',
    'From a failed attempt until the next success, one delivery at a time is sent.',
    { vouchers: 4, waitsMs: ARRIVAL_MS },
    async (it) => {
      const own = await webhook(it)
      const { status } = await settled(it, (await newEvent(it, own, () => 500)).updateId)
      if (status !== 'failed') it.notApplicable('Needs a failed delivery.')
      const { reply, release } = heldResponse(200)
      own.receiver.respond(own.end, reply)
      try {
        const ids = [(await voucher(it)).id, (await voucher(it)).id]
        await it.resources.pause(QUIET_MS)
        const arrived = ids.filter((id) => own.receiver.arrivals(own.end).some(({ rawBody }) => rawBody.includes(id)))
        if (arrived.length === 0) noArrival(it)
        it.equals('deliveries in flight', arrived.length, 1)
      } finally {
        release()
      }
    },
  ),
]
