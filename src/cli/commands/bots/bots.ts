import { type Bot, type BotDetail, bots as contract } from '../../../contract/bots.js'
import { botScopes } from '../../../contract/endpoint.js'
import { redact } from '../../../contract/secrets.js'
import { confirmLoss } from '../../command/confirmation.js'
import type { Context } from '../../command/context.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { checkCanStore, storeCredential } from '../../command/store-credential.js'
import { type Failure, suggested } from '../../failures/failure.js'
import { at, matching, member, required, toggle } from '../../flags/flags.js'
import { metrics } from './metrics.js'
import { updates } from './updates.js'

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

const another = (botId: string) => `Make another: ${suggested`bots regenerate-token ${botId} --save`}.`

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

const profileFlags = {
  name: member('New name, at most 100 characters', 'NAME'),
  description: member('At most 512 characters', 'TEXT'),
  'short-description': member('At most 120 characters', 'TEXT'),
  about: member('At most 1000 characters', 'TEXT'),
  avatar: member('https URL of a picture', 'URL'),
  'cover-url': member('https URL of a wide picture', 'URL'),
  link: member('A link of the profile; replaces the links that are there'),
  'contact-email': at('contact/email', member('E-mail; the contact flags together replace the contact', 'ADDRESS')),
  'contact-phone': at('contact/phone', member('A telephone number', 'NUMBER')),
  'contact-url': at('contact/url', member('An https page', 'URL')),
  'inline-queries': at('supports_inline_queries', member('Whether the bot responds to inline queries')),
  'friend-requests': at('friend_request_mode', member('What happens to friend requests')),
  'group-privacy': member('Whether the bot sees only what is meant for it in groups'),
  command: at('command_menus', member('An entry of the menu; replaces the menu that is there')),
}

export const bots: Group = {
  name: 'bots',
  alias: 'bot',
  summary: 'Bots of the account, and what they do with their token',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.list,
      examples: ['voucherctl bots list'],
      view: { members: ['id', 'name', 'username', 'review_status', 'status'] },
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
        description: member('At most 512 characters', 'TEXT'),
        avatar: member('https URL of a picture', 'URL'),
        scope: member(`One of ${botScopes.join(', ')}; default the two of messages`, 'SCOPE'),
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
      check: () => '`voucherctl bots list`',
    }),
    leaf({
      name: 'get',
      endpoint: contract.get,
      notes: [trusted],
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
    callLeaf({
      name: 'update',
      endpoint: contract.update,
      flags: profileFlags,
      examples: ['voucherctl bots update bot_01JC… --description "Brings you coffee" --command start="Begin"'],
      view: { headline: (bot) => `Updated bot ${bot.name}.`, members: profileMembers },
      typical: ['name', 'description', 'avatar', 'command'],
      check: ({ positional }) => suggested`bots get ${positional}`,
    }),
    leaf({
      name: 'regenerate-token',
      endpoint: contract.regenerateToken,
      notes: [trusted],
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
        chat: required(member('Chat, chat_…', 'ID'), 'Chat id'),
        text: required(member('At most 4096 characters; may have several lines', 'TEXT'), 'Text'),
      },
      examples: ['voucherctl bots send --chat chat_01JC… --text "Your coffee is ready"'],
      view: {
        headline: (it) => `Sent message ${it.message_id} to ${it.chat.id}.`,
        members: [],
      },
    }),
    updates,
  ],
}
