import { type Bot, type BotDetail, type BotProfile, bots as contract } from '../../../contract/bots.js'
import { botScopes } from '../../../contract/endpoint.js'
import { redact } from '../../../contract/secrets.js'
import { confirmLoss } from '../../command/confirmation.js'
import type { Context } from '../../command/context.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { checkCanStore, storeCredential } from '../../command/store-credential.js'
import { type Failure, suggested, usage } from '../../failures/failure.js'
import { defined } from '../../flags/defined.js'
import { choice, list, matching, pairs, required, text, toggle, type ValuesOf } from '../../flags/flags.js'
import { metrics } from './metrics.js'
import { updates } from './updates.js'

const botId = { name: 'BOT_ID', summary: 'Id of the bot, bot_…', ask: 'Bot id' }
const trusted = 'Bot tokens are kept on trusted servers only. A token is shown once.'
const save = toggle('Put the token into the profile instead of showing it, in every format')

const members = [
  'id',
  'name',
  'username',
  'review_status',
  'review_note',
  'status',
  'scopes',
  'token_prefix',
  'delivery_mode',
  'application_id',
  'created_at',
]
const profileMembers = [
  ...members,
  'profile.description',
  'profile.short_description',
  'profile.about',
  'profile.avatar',
  'profile.cover_url',
  'profile.links',
  'profile.contact',
  'profile.supports_inline_queries',
  'profile.friend_request_mode',
  'profile.group_privacy',
  'command_menus',
  'webhook.url',
  'webhook.allowed_updates',
  'webhook.max_connections',
]

/** Stores the bot token in the profile and removes it from the output; fails if the response lacks it. */
async function storeToken<Data extends { one_time_token?: string }>(
  context: Context,
  botId: string,
  data: Data,
): Promise<{ ok: true; data: Omit<Data, 'one_time_token'> } | Failure> {
  const { one_time_token: token, ...others } = data
  if (typeof token !== 'string') return { ok: true, data: others }
  const problem = await storeCredential(context, 'bot', token)
  if (problem === undefined) return { ok: true, data: others }
  const hint = `The token of ${botId} is lost. ${another(botId)}`
  return { ...problem, hint, details: { ...problem.details, bot_id: botId } }
}

const another = (botId: string) => `Make another: voucherctl bots regenerate-token ${botId} --save`

const oneTimeToken = (botId: string) => ({ member: 'one_time_token', otherwise: another(botId) })

/** Warns that `--save` stored no token, unless the profile already has it. */
function warnOfMissingToken({ output, settings }: Context, botId: string, bot: Partial<Bot> | null): void {
  const prefix = bot?.token_prefix
  if (typeof prefix === 'string' && settings.profile.credentials?.bot?.value.startsWith(prefix)) return
  const why = bot?.has_token === true ? `it was shown before. ${another(botId)}` : 'it comes with the approval.'
  output.notice(`warning: no token was stored: ${why}`)
}

const NAME_RULE = 'must have at most 100 characters'
/** Counts code points, as the interface does (rules/calls.md#text). */
const isName = (it: string) => it !== '' && [...it].length <= 100
const USERNAME = /^[a-z][a-z0-9_]{2,63}$/
const USERNAME_RULE = '3 to 64 of a-z 0-9 _, starting with a letter'

const onOff = (summary: string) => choice(['on', 'off'], summary)

const profileFlags = {
  name: text('NAME', 'New name, at most 100 characters'),
  description: text('TEXT', 'At most 512 characters'),
  'short-description': text('TEXT', 'At most 120 characters'),
  about: text('TEXT', 'At most 1000 characters'),
  avatar: text('URL', 'https URL of a picture'),
  'cover-url': text('URL', 'https URL of a wide picture'),
  link: pairs('A link of the profile; replaces the links that are there', 'TITLE=URL'),
  'contact-email': text('ADDRESS', 'E-mail; the contact flags together replace the contact'),
  'contact-phone': text('NUMBER', 'A telephone number'),
  'contact-url': text('URL', 'An https page'),
  'inline-queries': onOff('Whether the bot responds to inline queries'),
  'friend-requests': choice(['auto_accept', 'manual', 'disabled'], 'What happens to friend requests'),
  'group-privacy': onOff('Whether the bot sees only what is meant for it in groups'),
  command: pairs('An entry of the menu; replaces the menu that is there', 'COMMAND=DESCRIPTION'),
}

function profileOf(flags: ValuesOf<typeof profileFlags>) {
  const { 'contact-email': email, 'contact-phone': phone, 'contact-url': url } = flags
  const contact = defined({ email, phone, url })
  const isOn = (flag: 'on' | 'off' | undefined) => (flag === undefined ? undefined : flag === 'on')
  const links = flags.link && Object.entries(flags.link).map(([title, url]) => ({ title, url }))
  const menu =
    flags.command && Object.entries(flags.command).map(([command, description]) => ({ command, description }))
  return defined({
    name: flags.name,
    description: flags.description,
    short_description: flags['short-description'],
    about: flags.about,
    avatar: flags.avatar,
    cover_url: flags['cover-url'],
    links,
    contact: Object.keys(contact).length === 0 ? undefined : (contact as BotProfile['contact']),
    supports_inline_queries: isOn(flags['inline-queries']),
    friend_request_mode: flags['friend-requests'],
    group_privacy: isOn(flags['group-privacy']),
    command_menus: menu,
  })
}

export const bots: Group = {
  name: 'bots',
  alias: 'bot',
  summary: 'Bots of the account, and what they do with their token',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.list,
      flags: pageFlags,
      examples: ['voucherctl bots list'],
      view: { members: ['id', 'name', 'username', 'review_status', 'status'] },
      run: (context, { flags }) => fetchList(context, flags, contract.list, {}),
    }),
    callLeaf({
      name: 'apply',
      endpoint: contract.apply,
      notes: ['A bot that was rejected is applied for again under its username.'],
      flags: {
        name: required(matching('NAME', 'Name, at most 100 characters', isName, NAME_RULE), 'Name of the bot'),
        username: required(
          matching('USERNAME', `${USERNAME_RULE}; unique`, (it) => USERNAME.test(it), `must be ${USERNAME_RULE}`),
          'Username',
        ),
        description: text('TEXT', 'At most 512 characters'),
        avatar: text('URL', 'https URL of a picture'),
        scope: list('SCOPE', `One of ${botScopes.join(', ')}; default the two of messages`, botScopes),
      },
      examples: [
        'voucherctl bots apply --name "Coffee bot" --username coffee_bot',
        {
          command:
            'voucherctl bots apply --name "Coffee bot" --username coffee_bot --scope messages:send --scope messages:receive --scope vouchers:issue',
          comment: 'One that issues vouchers in chats',
        },
      ],
      view: {
        headline: (bot) => `Applied for bot ${bot.username}: ${bot.review_status}.`,
        members,
        next: (bot) => `On a local server you decide: ${suggested`platform bots approve ${bot.id}`}`,
      },
      input: ({ flags: { scope, ...flags } }) => ({
        name: flags.name,
        username: flags.username,
        ...defined({ ...flags, scopes: scope.length === 0 ? undefined : [...scope] }),
      }),
      check: () => '`voucherctl bots list`',
    }),
    leaf({
      name: 'get',
      endpoint: contract.get,
      notes: [trusted],
      positional: botId,
      flags: { save },
      examples: [
        'voucherctl bots get bot_01JC…',
        { command: 'voucherctl bots get bot_01JC… --save', comment: 'Commands that follow use its token' },
      ],
      run: async (context, { positional, flags }) => {
        const unwritable = await checkCanStore(context, flags.save)
        if (unwritable !== undefined) return unwritable
        const got = await context.call(contract.get, { botId: positional })
        if (!got.ok) return got
        const fresh = typeof got.data?.one_time_token === 'string'
        const stored = flags.save && fresh ? await storeToken(context, positional, got.data) : got
        if (!stored.ok) return stored
        const { profileName, profile } = context.settings
        // Do not ask here: the call has already read the token, which the server shows only once.
        const before = profile.credentials?.bot
        if (flags.save && fresh && before !== undefined)
          context.output.notice(`warning: it replaces ${redact(before.value)} in profile ${profileName.value}.`)
        if (flags.save && !fresh) warnOfMissingToken(context, positional, got.data)
        await context.output.print(stored.data as BotDetail, {
          headline: (bot) =>
            `Bot ${bot.name}${fresh ? (flags.save ? `: its token is kept in profile ${profileName.value}.` : '. Keep its token now: it is not shown again.') : ''}`,
          members: fresh && !flags.save ? [...profileMembers, 'one_time_token'] : profileMembers,
          shownOnce: oneTimeToken(positional),
        })
        return { ok: true, printed: true }
      },
    }),
    leaf({
      name: 'update',
      endpoint: contract.update,
      positional: botId,
      flags: profileFlags,
      members: {
        'inline-queries': 'supports_inline_queries',
        'friend-requests': 'friend_request_mode',
        command: 'command_menus',
        'contact-email': 'contact/email',
        'contact-phone': 'contact/phone',
        'contact-url': 'contact/url',
      },
      examples: ['voucherctl bots update bot_01JC… --description "Brings you coffee" --command start="Begin"'],
      view: { headline: (bot: BotDetail) => `Updated bot ${bot.name}.`, members: profileMembers },
      run: async ({ call }, { positional, flags }) => {
        const changes = profileOf(flags)
        if (Object.keys(changes).length === 0)
          return usage('Nothing to change.', 'Give a flag such as --name, --description, --avatar or --command.')
        return call(contract.update, { botId: positional, ...changes }, { check: suggested`bots get ${positional}` })
      },
    }),
    leaf({
      name: 'regenerate-token',
      endpoint: contract.regenerateToken,
      notes: [trusted],
      positional: botId,
      flags: { save },
      examples: ['voucherctl bots regenerate-token bot_01JC… --save'],
      run: async (context, { positional, flags }) => {
        const refusal = await confirmLoss(context, contract.regenerateToken, positional)
        if (refusal !== undefined) return refusal
        const unwritable = await checkCanStore(context, flags.save)
        if (unwritable !== undefined) return unwritable
        const check = suggested`bots get ${positional}`
        const made = await context.call(contract.regenerateToken, { botId: positional }, { check })
        if (!made.ok) return made
        const stored = flags.save ? await storeToken(context, positional, made.data) : made
        if (!stored.ok) return stored
        const { profileName } = context.settings
        await context.output.print(stored.data, {
          headline: () =>
            `The old token stopped working. ${flags.save ? `The new one is kept in profile ${profileName.value}.` : 'Keep the new one now: it is not shown again.'}`,
          shownOnce: oneTimeToken(positional),
        })
        return { ok: true, printed: true }
      },
    }),
    metrics,
    callLeaf({
      name: 'send',
      endpoint: contract.send,
      flags: {
        chat: required(text('ID', 'Chat, chat_…'), 'Chat id'),
        text: required(text('TEXT', 'At most 4096 characters; may have several lines'), 'Text'),
      },
      examples: ['voucherctl bots send --chat chat_01JC… --text "Your coffee is ready"'],
      view: {
        headline: (it) => `Sent message ${it.message_id} to ${it.chat.id}.`,
        members: [],
      },
      input: ({ flags }) => ({ chat_id: flags.chat, text: flags.text }),
    }),
    updates,
  ],
}
