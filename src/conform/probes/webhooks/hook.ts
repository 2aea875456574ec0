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

/** How long a delivery of a local or near platform takes at most. */
export const ARRIVAL_MS = 3_000
const POLL_MS = 50

/** What a probe of deliveries needs. */
export const deliveryNeeds = ['jwt', 'bot id', 'webhook', 'token', 'template'] as const

/** The user's bot, whose webhook belongs to the run. */
interface Target {
  readonly botId: string
  /** Set while the webhook has the settings of `setWebhook` without changes. */
  isSet: boolean
  /** Whether the run has ever set the webhook, and with it the selected update types. */
  wasSet: boolean
}

export interface Hook extends Target {
  readonly receiver: WebhookReceiver
  /** End of the URL, by which the receiver finds its deliveries. */
  readonly end: string
  readonly url: string
  readonly secret: string
}

/** @throws NotApplicable if the bot has a webhook already */
export const target = (it: ProbeContext): Promise<Target> =>
  it.resources.once('bot of webhooks', async () => {
    const { botId } = it.resources.offer
    if (botId === undefined) return it.resources.lacking('bot id')
    // Not the record of the bot alone: its first read shows the bot's token, once.
    const { items } = it.needs(await it.call(bots.list, { limit: 100 }), 'a list of bots')
    const found = items.find((one) => one.id === botId) ?? it.notApplicable('Needs a bot of the account.')
    const hasNone = found.delivery_mode === undefined ? await readsNone(it, found) : found.delivery_mode === 'polling'
    if (!hasNone) return it.notApplicable('Needs a bot without a webhook.')
    const { fault, data } = await removeWebhook(it, botId, true)
    const selected = fault === undefined ? data.allowed_updates : defaultUpdateTypes
    const bot = { botId, isSet: false, wasSet: false }
    it.resources.removes('webhook', botId, () => restore(it, bot, selected))
    return bot
  })

/** Whether the record of a bot, whose list has no delivery_mode, says that there is no webhook. */
async function readsNone(it: ProbeContext, { id, has_token }: Bot): Promise<boolean> {
  if (!has_token) return it.notApplicable('Needs a bot with a token.')
  const { webhook: settings } = it.needs(await it.call(bots.get, { botId: id }), 'a record of a bot')
  return settings === null
}

/** Deletes the webhook, after the update types that were selected before are selected again. */
async function restore(it: ProbeContext, { botId, wasSet }: Target, selected: readonly string[]) {
  if (!wasSet) return undefined
  const allowed = isDeepStrictEqual(selected, defaultUpdateTypes) ? [] : selected
  if (it.resources.offer.receiver !== undefined) await setWebhook(it, { allowed_updates: allowed })
  const { fault, status } = await removeWebhook(it, botId, true)
  return fault === undefined ? undefined : `It could not be deleted: status ${status}.`
}

export const removeWebhook = (it: ProbeContext, botId: string, drop?: boolean): Promise<Observed<DeliveryMode>> =>
  it.call(calls.delete, { botId, ...(drop === undefined ? {} : { drop_pending_updates: drop }) })

const hook = (it: ProbeContext): Promise<Hook> =>
  it.resources.once('webhook', async () => {
    const { receiver } = it.resources.offer
    if (receiver === undefined) return it.resources.lacking('webhook')
    const end = `/${it.resources.name()}`
    const secret = randomBytes(24).toString('base64url')
    it.resources.secrets.add('WEBHOOK_SECRET', secret)
    return Object.assign(await target(it), { receiver, end, url: receiver.url + end, secret })
  })

/** Sets the webhook of the run with changed settings. */
export async function setWebhook(it: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  const own = await hook(it)
  const { botId, url, secret: secret_token } = own
  own.isSet = false
  own.wasSet = true
  return it.call(calls.set, { botId, url, secret_token, allowed_updates: ['voucher_issued'], ...changes })
}

/** The webhook of the run, set. */
export async function webhook(it: ProbeContext): Promise<Hook> {
  const own = await hook(it)
  own.receiver.respond(own.end, () => 200)
  if (own.isSet) return own
  it.needs(await setWebhook(it), 'a webhook')
  own.isSet = true
  return own
}

/** The webhook of the run, deleted; no update waits. */
export async function noWebhook(it: ProbeContext): Promise<Hook> {
  const own = await webhook(it)
  own.isSet = false
  it.needs(await removeWebhook(it, own.botId, true), 'a deleted webhook')
  return own
}

/** Ends a probe unless the bot token is that of --bot. */
export const sameBot = (it: ProbeContext): Promise<void> =>
  it.resources.once('token of the bot', async () => {
    const { url } = await webhook(it)
    const info = it.needs(await it.call(calls.info, {}), 'getWebhookInfo')
    if (info.url !== url) it.notApplicable('Needs the token of the bot that --bot names.')
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

/** Issues a voucher while the webhook is set; resolves to its delivery, if one arrives. */
export async function firstArrival(
  it: ProbeContext,
  own: Hook,
  reply: Responder = () => 200,
): Promise<Arrival | undefined> {
  own.receiver.respond(own.end, reply)
  const { id } = await voucher(it)
  const [arrival] = await arrivalsWith(own, id)
  return arrival
}

/** Like `firstArrival` on a platform that has delivered an update to this run before. */
export async function newArrival(it: ProbeContext, own: Hook, reply?: Responder): Promise<Arrival | undefined> {
  await delivered(it)
  return firstArrival(it, own, reply)
}

/** Like `newArrival`. @throws NotApplicable if nothing arrives */
export const newEvent = async (it: ProbeContext, own: Hook, reply?: Responder): Promise<Event> =>
  eventOf(it, await newArrival(it, own, reply))

const eventOf = (it: ProbeContext, arrival: Arrival | undefined): Event =>
  arrival === undefined ? noArrival(it) : { arrival, updateId: updateIdOf(arrival) }

/** A responder that waits for `release`, and then responds with a status. */
export function heldResponse(status: number) {
  let release = () => {}
  const held = new Promise<number>((resolve) => {
    release = () => resolve(status)
  })
  return { reply: () => held, release }
}

export function noArrival(it: ProbeContext): never {
  return it.notApplicable('Needs a delivery for a voucher: link the bot of --bot to the application of the token.')
}

/** A delivery to which the receiver responded with 200, shared by the probes. */
export const delivered = (it: ProbeContext): Promise<Event> =>
  it.resources.once('delivered', async () => eventOf(it, await firstArrival(it, await webhook(it))))

/** A delivery to which the receiver responded with 500, and its record. */
export const failed = (it: ProbeContext): Promise<Event & { readonly record: Delivery }> =>
  it.resources.once('failed', async () => {
    const event = await newEvent(it, await webhook(it), () => 500)
    return { ...event, record: await settled(it, event.updateId) }
  })

/** The record of an update's delivery as soon as it fits, or as it is after `ms`; undefined if there is none. */
export async function recordOf(
  it: ProbeContext,
  updateId: number,
  fits: (record: Delivery) => boolean = () => true,
  ms = ARRIVAL_MS,
): Promise<Delivery | undefined> {
  const { botId } = await target(it)
  for (let leftMs = ms; ; leftMs -= POLL_MS) {
    const { items } = it.needs(await it.call(calls.deliveries, { botId, limit: 100 }), 'a list of deliveries')
    const record = items.find((one) => one.update_id === updateId)
    if ((record !== undefined && fits(record)) || leftMs <= 0) return record
    await it.resources.pause(POLL_MS)
  }
}

/** The record of a delivery whose attempts, at least `attempts`, have ended. */
export async function settled(it: ProbeContext, updateId: number, attempts = 1, ms = ARRIVAL_MS): Promise<Delivery> {
  const fits = (one: Delivery) => one.attempts.length >= attempts && !['pending', 'delivering'].includes(one.status)
  const record = await recordOf(it, updateId, fits, ms)
  return record !== undefined && fits(record) ? record : it.notApplicable('Needs a list with this delivery.')
}
