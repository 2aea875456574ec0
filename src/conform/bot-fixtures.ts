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

/** Members of a valid application for a bot. Name and username have the maximum length. */
function botInput({ resources }: ProbeContext) {
  const username = resources.name().toLowerCase().replaceAll('-', '_')
  return { name: `conform-${resources.run}`.padEnd(NAME_MAX, '.'), username: username.padEnd(USERNAME_MAX, '_') }
}

/** Applies for the one bot that a run creates. */
export function applied(run: ProbeContext): Promise<Observed<Bot>> {
  return run.resources.once('application for a bot', () => apply(run, {}))
}

/** Applies for a bot. The run cannot remove this bot and reports it at the end. */
export async function apply(run: ProbeContext, changes: Readonly<Record<string, unknown>>): Promise<Observed<Bot>> {
  const response = await run.call(bots.apply, { ...botInput(run), ...changes })
  if (response.isSuccess) run.resources.leaves('bot', response.data.id)
  return response
}

/** Bot of the run, and whether the platform approved it on submission. */
function ownBot(run: ProbeContext): Promise<Bot> {
  return run.resources.once('bot', async () => {
    const { id } = run.needs(await applied(run), 'a bot')
    return listedBot(run, id)
  })
}

/** Finds a bot in the list of the account. Reading the bot itself would show its token, once. */
export async function listedBot(run: ProbeContext, botId: string): Promise<Bot> {
  const { items } = run.needs(await run.call(bots.list, { limit: 100 }), 'a list of bots')
  return items.find(({ id }) => id === botId) ?? run.notApplicable('Needs a bot of the account.')
}

/** The run's bot; the probe ends if the platform has already decided about it. */
export async function pendingBot(run: ProbeContext): Promise<Bot> {
  const bot = await ownBot(run)
  return bot.review_status === 'pending' ? bot : run.notApplicable('Needs a platform that reviews bots.')
}

/** The run's bot; the probe ends unless the platform has approved it. */
export async function approvedBot(run: ProbeContext): Promise<Bot> {
  const bot = await ownBot(run)
  if (bot.review_status === 'approved') return bot
  return run.notApplicable('Needs a platform that approves a bot when it is submitted.')
}

/** The bot that the user offers. Lists show it; a read of the bot itself could use up the one display of its token. */
export async function userBot(run: ProbeContext): Promise<Bot> {
  const bot = await listedBot(run, run.resources.offer.botId ?? run.resources.lacking('bot id'))
  return bot.has_token ? bot : run.notApplicable('Needs a bot with a token.')
}

/** Reads the run's approved bot for the first time. The calls before must not create its token. */
export function firstToken(run: ProbeContext) {
  return run.resources.once('first token', async () => {
    const { id: botId } = await approvedBot(run)
    const patched = await run.call(bots.update, { botId, name: `conform-${run.resources.run}` })
    const path = bots.get.path.replace(':botId', botId)
    // The encrypted transport does not carry HEAD.
    const head = await run.send({ method: 'HEAD', path, headers: {}, as: 'jwt' }).catch(() => undefined)
    const listed = await listedBot(run, botId)
    const first = await Promise.all([1, 2, 3].map(() => run.call(bots.get, { botId })))
    return { patched, head, listed, first, later: await run.call(bots.get, { botId }) }
  })
}

export async function botToken(run: ProbeContext): Promise<string> {
  const { first } = await firstToken(run)
  const shown = first.map(({ data }) => data.one_time_token).find((token) => token !== undefined)
  return shown ?? run.notApplicable('Needs the token of a bot.')
}

/** The detailed record of the run's bot, before probes change its profile. */
export async function ownDetail(run: ProbeContext): Promise<BotDetail> {
  const { id: botId, review_status } = await ownBot(run)
  const read = () => run.resources.once('record of the bot', () => run.call(bots.get, { botId }))
  return run.needs(review_status === 'approved' ? (await firstToken(run)).later : await read(), 'a record of a bot')
}

/** Id of an approved bot to change: the run's bot, or the user's bot, whose profile is restored at the end. */
export async function editableBot(run: ProbeContext): Promise<string> {
  const own = await ownBot(run)
  if (own.review_status === 'approved') {
    await firstToken(run)
    return own.id
  }
  const { id: botId } = await userBot(run)
  await run.resources.once('profile of the bot', async () => {
    const { name, profile, command_menus } = run.needs(await run.call(bots.get, { botId }), 'a profile')
    const isReadable = profile === membersOrNone(profile) && Array.isArray(command_menus)
    if (!isReadable) run.notApplicable('Needs a profile that can be read, to put it back at the end.')
    const before = { botId, name, ...profile, command_menus }
    run.resources.removes('profile', botId, async () => leftAfter(await run.call(bots.update, before), 'put back'))
  })
  return botId
}

/** Confirms all updates of the user's bot, unless the platform returns confirmed updates again. */
async function drain(run: ProbeContext): Promise<void> {
  for (let offset = 0; ; ) {
    const { items } = run.needs(await poll(run, { limit: 100, ...(offset > 0 ? { offset } : {}) }), 'a bot that polls')
    const last = Math.max(-1, ...items.map(({ update_id }) => update_id))
    if (last < offset) return
    offset = last + 1
  }
}

export const poll = (run: ProbeContext, input: Readonly<Record<string, unknown>> = {}) =>
  run.call(bots.updates, { timeout: 0, ...input })

/** Selects update types of the user's bot; the earlier selection is restored at the end. */
export async function select(run: ProbeContext, types: readonly UpdateType[]): Promise<void> {
  await run.resources.once('selection of updates', async () => {
    const { allowed_updates } = run.needs(await run.call(webhook.info, {}), 'a bot that polls')
    run.resources.removes('selection of updates', 'of the bot', async () =>
      leftAfter(await poll(run, { allowed_updates }), 'put back'),
    )
  })
  run.needs(await poll(run, { allowed_updates: types, limit: 1 }), 'a bot that polls')
}

/** Confirms all updates of the user's bot and selects the update types about vouchers. */
export async function listen(run: ProbeContext, types: readonly UpdateType[] = ['voucher_issued']): Promise<void> {
  await select(run, types)
  await drain(run)
}

/**
 * Sets a webhook (default: on the user's bot), runs calls with its path, and removes it. The receiver refuses all
 * deliveries, so the updates still wait afterwards, although an attempt may end after the removal.
 */
export async function whileWebhook(
  context: ProbeContext,
  run: (path: string) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { receiver, botId } = context.resources.offer
  const path = `/${context.resources.name()}`
  const input = { botId, url: `${receiver?.url}${path}`, ...settings }
  receiver?.respond(path, () => 500)
  context.needs(await context.call(webhook.set, input), 'a webhook')
  try {
    await run(path)
  } finally {
    await context.call(webhook.delete, { botId: input.botId })
  }
}

/** Confirms all updates of the user's bot. The probe ends unless none is left. */
export async function quiet(run: ProbeContext): Promise<void> {
  await listen(run)
  const { items } = run.needs(await poll(run), 'a bot that polls')
  if (items.length > 0) run.notApplicable('Needs a bot without other updates.')
}

/** Returns at least `count` waiting updates of the user's bot; issues vouchers to create missing updates. */
export async function waiting(run: ProbeContext, count: number): Promise<readonly Update[]> {
  await run.resources.once('empty queue', () => listen(run))
  await select(run, ['voucher_issued'])
  let { items } = run.needs(await poll(run), 'a bot that polls')
  for (let missing = count - items.length; missing > 0; missing -= 1) await voucher(run)
  for (let leftMs = ARRIVES_MS; items.length < count; leftMs -= POLL_MS) {
    if (leftMs < ARRIVES_MS) await run.resources.pause(POLL_MS)
    if (leftMs <= 0)
      run.notApplicable(
        'Needs updates about vouchers, which a bot gets that is linked to the application of the token.',
      )
    items = run.needs(await poll(run), 'a bot that polls').items
  }
  return items
}
