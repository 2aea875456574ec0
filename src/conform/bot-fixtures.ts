import type { Bot, BotDetail } from '../contract/bots.js'
import { contract } from '../contract/index.js'
import type { Update, UpdateType } from '../contract/updates.js'
import { leftAfter, voucher } from './fixtures.js'
import type { Observed, ProbeContext } from './probe-context.js'
import { membersOrNone } from './wire.js'

const { bots, webhook } = contract
const POLL_MS = 250
const ARRIVES_MS = 2_000

const NAME_MAX = 100
const USERNAME_MAX = 64

/** Members of a valid application for a bot: name and username have the greatest lengths. */
function botInput({ resources }: ProbeContext) {
  const username = resources.name().toLowerCase().replaceAll('-', '_')
  return { name: `conform-${resources.run}`.padEnd(NAME_MAX, '.'), username: username.padEnd(USERNAME_MAX, '_') }
}

/** Sends the one application for a bot that a run makes. */
export function applied(it: ProbeContext): Promise<Observed<Bot>> {
  return it.resources.once('application for a bot', () => apply(it, {}))
}

/** Sends an application for a bot; a bot that it creates is left over. */
export async function apply(it: ProbeContext, changes: Readonly<Record<string, unknown>>): Promise<Observed<Bot>> {
  const response = await it.call(bots.apply, { ...botInput(it), ...changes })
  if (response.isSuccess) it.resources.leaves('bot', response.data.id)
  return response
}

/** The bot of the run, and whether the platform approved it when it was submitted. */
function ownBot(it: ProbeContext): Promise<Bot> {
  return it.resources.once('bot', async () => {
    const { id } = it.needs(await applied(it), 'a bot')
    return listedBot(it, id)
  })
}

/** A bot of the account, read without the call that shows its token once. */
export async function listedBot(it: ProbeContext, botId: string): Promise<Bot> {
  const { items } = it.needs(await it.call(bots.list, { limit: 100 }), 'a list of bots')
  return items.find(({ id }) => id === botId) ?? it.notApplicable('Needs a bot of the account.')
}

/** The run's bot if the platform has not decided about it. */
export async function pendingBot(it: ProbeContext): Promise<Bot> {
  const bot = await ownBot(it)
  return bot.review_status === 'pending' ? bot : it.notApplicable('Needs a platform that reviews bots.')
}

/** The run's bot if the platform has approved it. */
export async function approvedBot(it: ProbeContext): Promise<Bot> {
  const bot = await ownBot(it)
  if (bot.review_status === 'approved') return bot
  return it.notApplicable('Needs a platform that approves a bot when it is submitted.')
}

/** The bot that the user offers. It has a token already: another first read would lose it. */
export async function userBot(it: ProbeContext): Promise<Bot> {
  const bot = await listedBot(it, it.resources.offer.botId ?? it.resources.lacking('bot id'))
  return bot.has_token ? bot : it.notApplicable('Needs a bot with a token.')
}

/** What calls showed of the first token of the run's bot, in the order of the calls. */
interface FirstToken {
  readonly patched: Observed<BotDetail>
  /** Undefined through the encrypted transport, which does not carry HEAD. */
  readonly head: Observed | undefined
  readonly listed: Bot
  /** Of reads that were sent concurrently. */
  readonly first: readonly Observed<BotDetail>[]
  readonly later: Observed<BotDetail>
}

/** Reads the run's approved bot for the first time, after calls that must not create its token. */
export function firstToken(it: ProbeContext): Promise<FirstToken> {
  return it.resources.once('first token', async () => {
    const { id: botId } = await approvedBot(it)
    const patched = await it.call(bots.update, { botId, name: `conform-${it.resources.run}` })
    const path = bots.get.path.replace(':botId', botId)
    const head = await it.send({ method: 'HEAD', path, headers: {}, as: 'jwt' }).catch(() => undefined)
    const listed = await listedBot(it, botId)
    const first = await Promise.all([1, 2, 3].map(() => it.call(bots.get, { botId })))
    return { patched, head, listed, first, later: await it.call(bots.get, { botId }) }
  })
}

/** The token of the run's approved bot. */
export async function botToken(it: ProbeContext): Promise<string> {
  const { first } = await firstToken(it)
  const shown = first.map(({ data }) => data.one_time_token).find((token) => token !== undefined)
  return shown ?? it.notApplicable('Needs the token of a bot.')
}

/** The detailed record of the run's bot, before probes change its profile. */
export async function ownDetail(it: ProbeContext): Promise<BotDetail> {
  const { id: botId, review_status } = await ownBot(it)
  const read = () => it.resources.once('record of the bot', () => it.call(bots.get, { botId }))
  return it.needs(review_status === 'approved' ? (await firstToken(it)).later : await read(), 'a record of a bot')
}

/** Id of an approved bot whose profile may change: the run's, or the user's, which gets its profile back at the end. */
export async function editableBot(it: ProbeContext): Promise<string> {
  const own = await ownBot(it)
  if (own.review_status === 'approved') {
    await firstToken(it)
    return own.id
  }
  const { id: botId } = await userBot(it)
  await it.resources.once('profile of the bot', async () => {
    const { name, profile, command_menus } = it.needs(await it.call(bots.get, { botId }), 'a profile')
    const isReadable = profile === membersOrNone(profile) && Array.isArray(command_menus)
    if (!isReadable) it.notApplicable('Needs a profile that can be read, to put it back at the end.')
    const before = { botId, name, ...profile, command_menus }
    it.resources.removes('profile', botId, async () => leftAfter(await it.call(bots.update, before), 'put back'))
  })
  return botId
}

/** Confirms updates of the user's bot up to the newest one, unless the platform returns confirmed ones again. */
async function drain(it: ProbeContext): Promise<void> {
  for (let offset = 0; ; ) {
    const { items } = it.needs(await poll(it, { limit: 100, ...(offset > 0 ? { offset } : {}) }), 'a bot that polls')
    const last = Math.max(-1, ...items.map(({ update_id }) => update_id))
    if (last < offset) return
    offset = last + 1
  }
}

/** Reads updates of the user's bot. */
export const poll = (it: ProbeContext, input: Readonly<Record<string, unknown>> = {}) =>
  it.call(bots.updates, { timeout: 0, ...input })

/** Selects types of updates of the user's bot, which gets its selection back at the end. */
export async function select(it: ProbeContext, types: readonly UpdateType[]): Promise<void> {
  await it.resources.once('selection of updates', async () => {
    const { allowed_updates } = it.needs(await it.call(webhook.info, {}), 'a bot that polls')
    it.resources.removes('selection of updates', 'of the bot', async () =>
      leftAfter(await poll(it, { allowed_updates }), 'put back'),
    )
  })
  it.needs(await poll(it, { allowed_updates: types, limit: 1 }), 'a bot that polls')
}

/** Confirms all updates of the user's bot; from now on it gets those about vouchers. */
export async function listen(it: ProbeContext, types: readonly UpdateType[] = ['voucher_issued']): Promise<void> {
  await select(it, types)
  await drain(it)
}

/** Confirms all updates of the user's bot, and requires that none waits. */
export async function quiet(it: ProbeContext): Promise<void> {
  await listen(it)
  const { items } = it.needs(await poll(it), 'a bot that polls')
  if (items.length > 0) it.notApplicable('Needs a bot without other updates.')
}

/** Updates that wait for the user's bot, at least `count`: vouchers are issued for those that are missing. */
export async function waiting(it: ProbeContext, count: number): Promise<readonly Update[]> {
  await it.resources.once('empty queue', () => listen(it))
  await select(it, ['voucher_issued'])
  let { items } = it.needs(await poll(it), 'a bot that polls')
  for (let missing = count - items.length; missing > 0; missing -= 1) await voucher(it)
  for (let leftMs = ARRIVES_MS; items.length < count; leftMs -= POLL_MS) {
    if (leftMs < ARRIVES_MS) await it.resources.pause(POLL_MS)
    if (leftMs <= 0)
      it.notApplicable('Needs updates about vouchers, which a bot gets that is linked to the application of the token.')
    items = it.needs(await poll(it), 'a bot that polls').items
  }
  return items
}
