import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Bot } from '../../../contract/bots.js'
import { contract } from '../../../contract/index.js'
import { defaultUpdateTypes } from '../../../contract/updates.js'
import type { Delivery, DeliveryMode } from '../../../contract/webhook.js'
import { parseJson } from '../../../values/json.js'
import { voucher } from '../../fixtures.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import type { Arrival, Responder, WebhookReceiver } from '../../receiver.js'
import { membersOrNone } from '../../wire.js'

const { bots, webhook: calls } = contract

/** Maximum ms until a delivery arrives from a platform on this machine or nearby. */
export const ARRIVAL_MS = 3_000
const POLL_MS = 50

/** Needs of each probe of deliveries. */
export const deliveryNeeds = ['jwt', 'bot id', 'webhook', 'token', 'template'] as const
export const deliveryRule = { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS }

/** The user's bot; during the run, the run controls its webhook. */
interface Target {
  readonly botId: string
  /** True while the webhook has the default settings of `setWebhook`. */
  isSet: boolean
  /** True if the run has ever set the webhook, and with it the selected update types. */
  wasSet: boolean
}

export interface Hook extends Target {
  readonly receiver: WebhookReceiver
  /** End of the webhook URL, by which the receiver finds the run's deliveries. */
  readonly end: string
  readonly url: string
  readonly secret: string
}

/** @throws NotApplicable if the bot has a webhook already */
export const target = (run: ProbeContext): Promise<Target> =>
  run.resources.once('bot of webhooks', async () => {
    const { botId } = run.resources.offer
    if (botId === undefined) return run.resources.lacking('bot id')
    // Read the list: the first read of the bot's record would show its token, once.
    const { items } = run.needs(await run.call(bots.list, { limit: 100 }), 'a list of bots')
    const found = items.find((one) => one.id === botId) ?? run.notUsable(`--bot ${botId} is not a bot of the account.`)
    const hasNone = found.delivery_mode === undefined ? await readsNone(run, found) : found.delivery_mode === 'polling'
    if (!hasNone) return run.notUsable(`--bot ${botId} has a webhook.`)
    const { fault, data } = await removeWebhook(run, botId, true)
    const selected = fault === undefined ? data.allowed_updates : defaultUpdateTypes
    const bot = { botId, isSet: false, wasSet: false }
    run.resources.removes('webhook', botId, () => restore(run, bot, selected))
    return bot
  })

/** True if the record of the bot shows no webhook; for lists without delivery_mode. */
async function readsNone(run: ProbeContext, { id, has_token }: Bot): Promise<boolean> {
  if (!has_token) return run.notApplicable('Needs a bot with a token.')
  const { webhook: settings } = run.needs(await run.call(bots.get, { botId: id }), 'a record of a bot')
  return settings === null
}

/** Restores the selected update types, then deletes the webhook. */
async function restore(run: ProbeContext, { botId, wasSet }: Target, selected: readonly string[]) {
  if (!wasSet) return undefined
  const allowed = isDeepStrictEqual(selected, defaultUpdateTypes) ? [] : selected
  if (run.resources.offer.receiver !== undefined) await setWebhook(run, { allowed_updates: allowed })
  const { fault, status } = await removeWebhook(run, botId, true)
  return fault === undefined ? undefined : `It could not be deleted: status ${status}.`
}

export const removeWebhook = (run: ProbeContext, botId: string, drop?: boolean): Promise<Observed<DeliveryMode>> =>
  run.call(calls.delete, { botId, ...(drop === undefined ? {} : { drop_pending_updates: drop }) })

const hook = (run: ProbeContext): Promise<Hook> =>
  run.resources.once('webhook', async () => {
    const { receiver } = run.resources.offer
    if (receiver === undefined) return run.resources.lacking('webhook')
    const end = `/${run.resources.name()}`
    const secret = randomBytes(24).toString('base64url')
    run.resources.secrets.add('WEBHOOK_SECRET', secret)
    return Object.assign(await target(run), { receiver, end, url: receiver.url + end, secret })
  })

/** Sets the webhook of the run with changed settings. */
export async function setWebhook(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  const own = await hook(run)
  const { botId, url, secret: secret_token } = own
  own.isSet = false
  own.wasSet = true
  return run.call(calls.set, { botId, url, secret_token, allowed_updates: ['voucher_issued'], ...changes })
}

export async function webhook(run: ProbeContext): Promise<Hook> {
  const own = await hook(run)
  own.receiver.respond(own.end, () => 200)
  if (own.isSet) return own
  run.needs(await setWebhook(run), 'a webhook')
  own.isSet = true
  return own
}

/** Deletes the run's webhook; afterwards no update waits. */
export async function noWebhook(run: ProbeContext): Promise<Hook> {
  const own = await webhook(run)
  own.isSet = false
  run.needs(await removeWebhook(run, own.botId, true), 'a deleted webhook')
  return own
}

/** Ends a probe unless the bot token belongs to the bot of --bot. */
export const sameBot = (run: ProbeContext): Promise<void> =>
  run.resources.once('token of the bot', async () => {
    const { url } = await webhook(run)
    const info = run.needs(await run.call(calls.info, {}), 'getWebhookInfo')
    if (info.url !== url) run.notUsable('--bot is not the bot of the bot token.')
  })

/** A delivery that arrived, and the update in it. */
export interface Event {
  readonly arrival: Arrival
  readonly updateId: number
}

export const updateIdOf = ({ rawBody }: Arrival): number =>
  Number(membersOrNone(parseJson(rawBody.toString('utf8'))).update_id)

/** Waits for the arrivals whose body contains a text; resolves as soon as there are `count`. */
export async function arrivalsWith({ receiver, end }: Hook, text: string, count = 1, ms = ARRIVAL_MS) {
  const deadline = performance.now() + ms
  for (;;) {
    const all = receiver.arrivals(end)
    const found = all.filter(({ rawBody }) => rawBody.includes(text))
    const leftMs = deadline - performance.now()
    if (found.length >= count || leftMs <= 0) return found
    await receiver.wait(end, all.length + 1, leftMs)
  }
}

/** Issues a voucher while the webhook is set; resolves to the delivery, if one arrives. */
export async function firstArrival(
  run: ProbeContext,
  own: Hook,
  reply: Responder = () => 200,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<Arrival | undefined> {
  own.receiver.respond(own.end, reply)
  const { id } = await voucher(run, changes)
  const [arrival] = await arrivalsWith(own, id)
  return arrival
}

/** Like `firstArrival`, on a platform that has already delivered an update to this run. */
export async function newArrival(run: ProbeContext, own: Hook, reply?: Responder): Promise<Arrival | undefined> {
  await delivered(run)
  return firstArrival(run, own, reply)
}

/** Like `newArrival`. @throws NotApplicable if nothing arrives */
export const newEvent = async (run: ProbeContext, own: Hook, reply?: Responder): Promise<Event> =>
  eventOf(run, await newArrival(run, own, reply))

const eventOf = (run: ProbeContext, arrival: Arrival | undefined): Event =>
  arrival === undefined ? noArrival(run) : { arrival, updateId: updateIdOf(arrival) }

/** Creates a responder that waits for `release` and then responds with a status. */
export function heldResponse(status: number) {
  let release = () => {}
  const held = new Promise<number>((resolve) => {
    release = () => resolve(status)
  })
  return { reply: () => held, release }
}

export function noArrival(run: ProbeContext): never {
  return run.notUsable('--bot gets no delivery for a voucher: link it to the application of the token.')
}

/** A delivery to which the receiver responded with 200, shared by the probes. */
export const delivered = (run: ProbeContext): Promise<Event> =>
  run.resources.once('delivered', async () => eventOf(run, await firstArrival(run, await webhook(run))))

/** A delivery to which the receiver responded with 500, and its record. */
export const failed = (run: ProbeContext): Promise<Event & { readonly record: Delivery }> =>
  run.resources.once('failed', async () => {
    const event = await newEvent(run, await webhook(run), () => 500)
    return { ...event, record: await settled(run, event.updateId) }
  })

/** Waits up to `ms` for an update's delivery record that fits; then returns the present record, or undefined. */
export async function recordOf(
  run: ProbeContext,
  updateId: number,
  fits: (record: Delivery) => boolean = () => true,
  ms = ARRIVAL_MS,
): Promise<Delivery | undefined> {
  const { botId } = await target(run)
  for (let leftMs = ms; ; leftMs -= POLL_MS) {
    const { items } = run.needs(await run.call(calls.deliveries, { botId, limit: 100 }), 'a list of deliveries')
    const record = items.find((one) => one.update_id === updateId)
    if ((record !== undefined && fits(record)) || leftMs <= 0) return record
    await run.resources.pause(POLL_MS)
  }
}

/** Record of a delivery after at least `attempts` attempts have ended. */
export async function settled(run: ProbeContext, updateId: number, attempts = 1, ms = ARRIVAL_MS): Promise<Delivery> {
  const fits = (one: Delivery) => one.attempts.length >= attempts && !['pending', 'delivering'].includes(one.status)
  const record = await recordOf(run, updateId, fits, ms)
  return record !== undefined && fits(record) ? record : run.notApplicable('Needs a list with this delivery.')
}
