import type { Bot } from '../../../contract/bots.js'
import * as contract from '../../../contract/platform.js'
import type { Update } from '../../../contract/updates.js'
import type { Group, View } from '../../command/leaf.js'
import { leaf } from '../../command/leaf.js'
import { defined } from '../../flags/defined.js'
import { choice, required, text } from '../../flags/flags.js'
import { updateShape } from '../bots/update-shape.js'
import { operatorNotes as notes } from './operator-notes.js'

const botId = { name: 'BOT_ID', summary: 'Id of the bot, bot_…', ask: 'Bot id' }
const view = (done: (bot: Bot) => string): View<Bot> => ({
  headline: done,
  members: ['id', 'name', 'username', 'review_status', 'review_note', 'status'],
})

export const platformBots: Group = {
  name: 'bots',
  alias: 'bot',
  summary: 'Decide on bots, disable them, make updates for them',
  commands: [
    leaf({
      name: 'approve',
      summary: contract.approveBot.summary,
      answers: contract.approveBot.output,
      notes,
      positional: botId,
      examples: [{ command: 'voucherctl platform bots approve bot_01JC…' }],
      changes: true,
      view: {
        ...view((bot) => `Approved bot ${bot.username}: it is ${bot.status}.`),
        next: (bot) => `Its owner gets the token once: voucherctl bots get ${bot.id} --save`,
      },
      run: ({ call }, { positional }) => call(contract.approveBot, { botId: positional }),
    }),
    leaf({
      name: 'reject',
      summary: contract.rejectBot.summary,
      answers: contract.rejectBot.output,
      notes,
      positional: botId,
      flags: { note: required(text('TEXT', 'Why, at most 200 characters'), 'Note') },
      examples: [{ command: 'voucherctl platform bots reject bot_01JC… --note "The name is taken by a brand"' }],
      changes: true,
      view: view((bot) => `Rejected bot ${bot.username}.`),
      run: ({ call }, { positional, flags }) => call(contract.rejectBot, { botId: positional, note: flags.note }),
    }),
    leaf({
      name: 'disable',
      summary: contract.disableBot.summary,
      answers: contract.disableBot.output,
      notes,
      positional: botId,
      examples: [{ command: 'voucherctl platform bots disable bot_01JC…' }],
      changes: true,
      view: view((bot) => `Disabled bot ${bot.username}: its token is refused, its deliveries wait.`),
      run: ({ call }, { positional }) => call(contract.disableBot, { botId: positional }),
    }),
    leaf({
      name: 'enable',
      summary: contract.enableBot.summary,
      answers: contract.enableBot.output,
      notes,
      positional: botId,
      examples: [{ command: 'voucherctl platform bots enable bot_01JC…' }],
      changes: true,
      view: view((bot) => `Enabled bot ${bot.username}.`),
      run: ({ call }, { positional }) => call(contract.enableBot, { botId: positional }),
    }),
    leaf({
      name: 'add-update',
      summary: contract.addUpdate.summary,
      answers: updateShape,
      notes,
      positional: botId,
      flags: {
        kind: required(choice(contract.platformUpdateTypes, 'Type of the update'), 'Type of the update'),
        user: text('ID', 'Whom a friend_request or an inline_query comes from'),
        text: text('TEXT', 'The query of an inline_query'),
      },
      examples: [
        { command: 'voucherctl platform bots add-update bot_01JC… --kind ping' },
        { command: 'voucherctl platform bots add-update bot_01JC… --kind inline_query --user user-42 --text coffee' },
      ],
      changes: true,
      view: { headline: (it: Update) => `Made update ${it.update_id}: ${it.type}.`, members: [] },
      run: ({ call }, { positional, flags: { kind, user, text: query } }) => {
        const payload = defined({ from: user === undefined ? undefined : { id: user }, query })
        return call(contract.addUpdate, {
          botId: positional,
          type: kind,
          ...(Object.keys(payload).length === 0 ? {} : { payload }),
        })
      },
    }),
  ],
}
