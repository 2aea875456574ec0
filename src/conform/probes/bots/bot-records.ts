import type { Bot } from '../../../contract/bots.js'
import { contract } from '../../../contract/index.js'
import {
  applied,
  apply,
  approvedBot,
  editableBot,
  firstToken,
  listedBot,
  ownDetail,
  pendingBot,
  userBot,
  whileWebhook,
} from '../../bot-fixtures.js'
import { CLOCK_STEP_MS } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'

const probe = probesOf('bot-records', { needs: ['jwt'] })
const webhookProbe = probe.with({ needs: ['jwt', 'webhook'] })
const userBotProbe = probe.with({ needs: ['jwt', 'bot id', 'bot'] })
const { bots, webhook } = contract
const URL_MAX = 2_048
const HELD_S = 2
const STARTED_MS = 200

const urlOf = (length: number) => 'https://example.com/'.padEnd(length, 'x')

/** Values other than the default for each member that a PATCH changes. */
const profile = {
  avatar: 'https://example.com/conform.png',
  description: 'conform: description',
  short_description: 'conform: short',
  about: 'conform: about',
  cover_url: 'https://example.com/cover.png',
  links: [{ title: 'conform', url: 'https://example.com/conform' }],
  contact: { email: 'conform@example.com', phone: '+1 555 0100', url: 'https://example.com/contact' },
  supports_inline_queries: true,
  friend_request_mode: 'disabled',
  group_privacy: false,
}

const usernames = [
  ['of-2', 'A username of 2 characters is refused with 400.', 'ab'],
  ['of-65', 'A username of 65 characters is refused with 400.', 'a'.repeat(65)],
  ['with-a-digit-first', 'A username that starts with a digit is refused with 400.', '1conform_bot'],
  ['with-upper-case', 'A username with an upper-case letter is refused with 400.', 'Conform_bot'],
  ['with-an-underscore-first', 'A username that starts with an underscore is refused with 400.', '_conform_bot'],
  ['with-a-dot', 'A username with a dot is refused with 400.', 'conform.bot'],
  ['with-a-hyphen', 'A username with a hyphen is refused with 400.', 'conform-bot'],
] as const

/** Regenerates the token of the run's bot while the old token holds a poll; returns what happened to the old token. */
function regenerated(run: ProbeContext) {
  return run.resources.once('regenerated token', async () => {
    const { id: botId } = await approvedBot(run)
    const { first } = await firstToken(run)
    const old = first.map(({ data }) => data.one_time_token).find((token) => token !== undefined)
    const as = { credential: old ?? run.notApplicable('Needs the token of a bot.') }
    run.needs(await run.call(webhook.info, {}, { as }), 'a bot token that works')
    const poll = run.call(bots.updates, { timeout: HELD_S }, { as })
    poll.catch(() => {})
    await run.resources.pause(STARTED_MS)
    const response = await run.call(bots.regenerateToken, { botId })
    const request = run.wire.last
    return { as, botId, response, request, held: await poll }
  })
}

/** Reads the time of the last change, which tells whether a PATCH changed the record. */
async function updatedAt(run: ProbeContext, botId: string): Promise<string> {
  return (await listedBot(run, botId)).updated_at
}

const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'

function checkRecord(run: ProbeContext, bot: Bot): void {
  const { id, name, username, review_status, status, has_token, token_prefix } = bot
  const areTexts = [id, name, username].every((value) => typeof value === 'string')
  run.holds(areTexts, 'texts in id, name and username', bot)
  run.holds(['pending', 'approved', 'rejected'].includes(review_status), 'a state of the review', review_status)
  run.holds(['inactive', 'active', 'disabled'].includes(status), 'a status', status)
  run.holds(typeof has_token === 'boolean' && isTextOrNull(token_prefix), 'has_token and token_prefix', bot)
}

export const botRecords = [
  probe.specified(1, 'greatest-lengths', 'A bot may have a name of 100, a username of 64 characters.', async (run) => {
    const response = await applied(run)
    if (response.status !== 400) run.needs(response, 'a bot')
    run.accepts(response)
  }),
  probe.partly(1, 'name-of-101', 'A bot with a name of 101 characters is refused with 400.', async (run) => {
    run.refuses(await apply(run, { name: 'x'.repeat(101) }), 400)
  }),
  ...usernames.map(([name, title, username]) =>
    probe.partly(1, `username-${name}`, title, async (it) => it.refuses(await apply(it, { username }), 400)),
  ),
  probe.partly(1, 'username-taken', 'A second bot with the same username is refused with 409.', async (run) => {
    const { username } = run.needs(await applied(run), 'a bot')
    const response = await apply(run, { username })
    if (response.code === 'BOT_LIMIT_REACHED') run.notApplicable('Needs an account with fewer bots.')
    run.refuses(response, 409)
  }),
  probe.partly(1, 'avatar-without-https', 'A bot with an avatar other than https is refused with 400.', async (run) => {
    run.refuses(await apply(run, { avatar: 'http://example.com/a.png' }), 400)
  }),
  probe.specified(2, 'listed', 'The list of bots has the seven named members.', async (run) => {
    const { id } = run.needs(await applied(run), 'a bot')
    checkRecord(run, await listedBot(run, id))
  }),
  probe.specified(2, 'detail', 'The record of one bot adds profile, webhook and command_menus.', async (run) => {
    const { profile, webhook: settings, command_menus } = await ownDetail(run)
    run.holds(typeof profile === 'object' && profile !== null, 'an object in profile', profile)
    run.equals('webhook without settings', settings, null)
    run.holds(Array.isArray(command_menus), 'a list in command_menus', command_menus)
  }),
  probe(3, 'profile-defaults', 'Members of a profile that were never set have their defaults.', async (run) => {
    const defaults = {
      avatar: null,
      description: null,
      short_description: null,
      about: null,
      cover_url: null,
      links: [],
      contact: {},
      supports_inline_queries: false,
      friend_request_mode: 'manual',
      group_privacy: true,
    }
    const own = new Map(Object.entries((await ownDetail(run)).profile))
    const observed = Object.fromEntries(Object.keys(defaults).map((name) => [name, own.get(name)]))
    run.equals('profile', observed, defaults)
  }),
  probe.partly(1, 'patch-before-approval', 'A PATCH before the approval is 409.', async (run) => {
    const { id: botId } = await pendingBot(run)
    run.refuses(await run.call(bots.update, { botId, about: 'conform' }), 409)
  }),
  probe.specified(1, 'patch', 'A PATCH changes each member of the profile and the name.', async (run) => {
    const botId = await editableBot(run)
    const name = `conform-${run.resources.run} patched`
    run.accepts(await run.call(bots.update, { botId, name, ...profile }))
    const after = run.needs(await run.call(bots.get, { botId }), 'a record of a bot')
    const observed = Object.fromEntries(Object.keys(profile).map((key) => [key, Reflect.get(after.profile, key)]))
    run.equals('name and profile', [after.name, observed], [name, profile])
  }),
  probe.partly(4, 'patch-of-the-username', 'A PATCH with the username is 400, even with the same one.', async (run) => {
    const botId = await editableBot(run)
    const { username } = await listedBot(run, botId)
    run.refuses(await run.call(bots.update, { botId, username }), 400)
  }),
  probe(4, 'patch-without-a-change', 'A PATCH that changes nothing keeps updated_at.', async (run) => {
    const botId = await editableBot(run)
    const { name } = await listedBot(run, botId)
    const before = await updatedAt(run, botId)
    await run.resources.pause(CLOCK_STEP_MS)
    run.needs(await run.call(bots.update, { botId, name }), 'a PATCH')
    run.equals('updated_at', await updatedAt(run, botId), before)
  }),
  ...(
    [
      ['url-without-https', 'An http URL in a profile is refused with 400.', 'http://example.com/a.png'],
      ['url-of-2049', 'A URL of 2,049 characters in a profile is refused with 400.', urlOf(URL_MAX + 1)],
      ['url-that-does-not-parse', 'A URL that does not parse is refused with 400.', 'https://[conform'],
    ] as const
  ).map(([name, title, url]) =>
    probe(3, name, title, async (run) => {
      const botId = await editableBot(run)
      run.refuses(await run.call(bots.update, { botId, cover_url: url }), 400)
    }),
  ),
  probe(3, 'url-of-2048', 'A URL in a profile may have 2,048 characters.', async (run) => {
    const botId = await editableBot(run)
    run.accepts(await run.call(bots.update, { botId, cover_url: urlOf(URL_MAX) }))
  }),
  probe(3, 'menu-commands', 'A menu command is stored as sent, with or without a slash.', async (run) => {
    const botId = await editableBot(run)
    const command_menus = [
      { command: '/start', description: 'conform: with a slash' },
      { command: 'help', description: 'conform: without a slash' },
    ]
    run.accepts(await run.call(bots.update, { botId, command_menus }))
    const after = run.needs(await run.call(bots.get, { botId }), 'a record of a bot')
    run.equals('command_menus', after.command_menus, command_menus)
  }),
  webhookProbe.specified(2, 'webhook-without-secret', 'The record of a bot hides the webhook secret.', async (run) => {
    const botId = await editableBot(run)
    const secret_token = `secret-${run.resources.name()}`
    const read = async () => {
      const response = await run.call(bots.get, { botId })
      const { webhook: settings } = run.needs(response, 'a record of a bot')
      run.holds(settings !== null, 'the settings of the webhook', settings)
      run.holds(!response.text.includes(secret_token), 'a record without the secret', 'the secret')
    }
    await whileWebhook(run, read, { botId, secret_token })
  }),
  probe(5, 'token-only-by-get', 'HEAD, PATCH and lists do not create the token of a bot.', async (run) => {
    const { patched, listed } = await firstToken(run)
    run.holds(!patched.text.includes('one_time_token'), 'a PATCH without a token', 'one_time_token')
    run.equals('has_token', listed.has_token, false)
  }),
  probe.specified(2, 'first-get', 'The first GET after the approval returns one_time_token.', async (run) => {
    const { first } = await firstToken(run)
    const shown = first.filter(({ data }) => typeof data.one_time_token === 'string')
    run.holds(shown.length > 0, 'one_time_token in a record', 'none')
  }),
  probe.specified(2, 'concurrent-gets', 'Of several concurrent GETs only one gets the token.', async (run) => {
    const { first } = await firstToken(run)
    const shown = first.filter(({ data }) => typeof data.one_time_token === 'string')
    if (shown.length === 0) run.notApplicable('Needs the token of a bot.')
    run.equals('records with a token', shown.length, 1)
  }),
  probe.specified(2, 'later-get', 'A later GET does not return the token, but that there is one.', async (run) => {
    const { later } = await firstToken(run)
    const { one_time_token, has_token } = run.needs(later, 'a record of a bot')
    run.equals('one_time_token and has_token', [typeof one_time_token, has_token], ['undefined', true])
  }),
  userBotProbe.specified(2, 'user-bot-get', 'The record of a bot does not repeat a shown token.', async (run) => {
    const { id: botId } = await userBot(run)
    const { one_time_token } = run.needs(await run.call(bots.get, { botId }), 'a record of a bot')
    run.equals('one_time_token', typeof one_time_token, 'undefined')
  }),
]

const holding = probe.with({ waitsMs: HELD_S * 1000 })

/** These probes revoke the token of the run's bot, so they run last. */
export const regeneratedTokens = [
  probe.specified(1, 'regenerate', 'A regeneration returns bot_id, one_time_token and token_prefix.', async (run) => {
    const { response, request, botId } = await regenerated(run)
    run.wire.last = request
    const { bot_id, one_time_token, token_prefix } = run.accepts(response)
    run.equals('bot_id', bot_id, botId)
    run.holds(one_time_token.startsWith(token_prefix) && token_prefix !== '', 'the start of the token', token_prefix)
  }),
  probe.specified(1, 'regenerated-token', 'The token that a regeneration returns works.', async (run) => {
    const { response } = await regenerated(run)
    const { one_time_token } = run.needs(response, 'a new token')
    run.accepts(await run.call(webhook.info, {}, { as: { credential: one_time_token } }))
  }),
  probe.specified(1, 'old-token', 'After a regeneration the old token is 401 immediately.', async (run) => {
    const { response, as } = await regenerated(run)
    run.needs(response, 'a new token')
    run.refuses(await run.call(webhook.info, {}, { as }), 401)
  }),
  holding(5, 'held-poll', 'After a regeneration a held poll with the old token gets 401.', async (run) => {
    const { response, held } = await regenerated(run)
    run.needs(response, 'a new token')
    run.refuses(held, 401)
  }),
]
