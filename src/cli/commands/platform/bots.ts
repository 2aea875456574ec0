import type { Bot } from '../../../contract/bots.js'
import { platform as contract, platformUpdateTypes } from '../../../contract/platform/platform.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { defined } from '../../flags/defined.js'
import { choice, required, text } from '../../flags/flags.js'
import type { View } from '../../output/outcome.js'
import { updateShape } from '../bots/update-shape.js'

const botId = { name: 'BOT_ID', summary: 'Id of the bot, bot_…', ask: 'Bot id' }
const view = (done: (bot: Bot) => string): View<Bot> => ({
  headline: done,
  members: ['id', 'name', 'username', 'review_status', 'review_note', 'status'],
})

export const platformBots: Group = {
  name: 'bots',
  alias: 'bot',
  summary: 'List bots, decide on them, disable them, make updates for them',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.bots,
      flags: { app: text('ID', 'Only those of this application, app_…'), ...pageFlags },
      members: { app: 'application_id' },
      examples: ['voucherctl platform bots list'],
      view: { members: ['id', 'name', 'username', 'review_status', 'status', 'application_id'] },
      run: (context, { flags }) => fetchList(context, flags, contract.bots, defined({ application_id: flags.app })),
    }),
    callLeaf({
      name: 'approve',
      endpoint: contract.approveBot,
      positional: botId,
      examples: ['voucherctl platform bots approve bot_01JC…'],
      view: {
        ...view((bot) => `Approved bot ${bot.username}: it is ${bot.status}.`),
        next: (bot) => `Its owner gets the token once: ${suggested`bots get ${bot.id} --save`}`,
      },
    }),
    callLeaf({
      name: 'reject',
      endpoint: contract.rejectBot,
      positional: botId,
      flags: { note: required(text('TEXT', 'Why, at most 200 characters'), 'Note') },
      examples: ['voucherctl platform bots reject bot_01JC… --note "The name is taken by a brand"'],
      view: view((bot) => `Rejected bot ${bot.username}.`),
      input: ({ positional, flags }) => ({ botId: positional, note: flags.note }),
    }),
    callLeaf({
      name: 'disable',
      endpoint: contract.disableBot,
      positional: botId,
      examples: ['voucherctl platform bots disable bot_01JC…'],
      view: view((bot) => `Disabled bot ${bot.username}: its token is refused, its deliveries wait.`),
    }),
    callLeaf({
      name: 'enable',
      endpoint: contract.enableBot,
      positional: botId,
      examples: ['voucherctl platform bots enable bot_01JC…'],
      view: view((bot) => `Enabled bot ${bot.username}.`),
    }),
    callLeaf({
      name: 'add-update',
      endpoint: contract.addUpdate,
      output: updateShape,
      positional: botId,
      flags: {
        kind: required(choice(platformUpdateTypes, 'Type of the update'), 'Type of the update'),
        user: text('ID', 'Whom a friend_request or an inline_query comes from'),
        text: text('TEXT', 'The query of an inline_query'),
      },
      members: { kind: 'type', user: 'payload/from/id', text: 'payload/query' },
      examples: [
        'voucherctl platform bots add-update bot_01JC… --kind ping',
        'voucherctl platform bots add-update bot_01JC… --kind inline_query --user user-42 --text coffee',
      ],
      view: { headline: (it) => `Made update ${it.update_id}: ${it.type}.`, members: [] },
      input: ({ positional, flags: { kind, user, text: query } }) => {
        const payload = defined({ from: user === undefined ? undefined : { id: user }, query })
        return { botId: positional, type: kind, ...(Object.keys(payload).length === 0 ? {} : { payload }) }
      },
    }),
  ],
}
