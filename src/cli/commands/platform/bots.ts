import type { Bot } from '../../../contract/bots.js'
import { platform as contract } from '../../../contract/platform/platform.js'
import { callLeaf, type Group } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { at, member, required, text } from '../../flags/flags.js'
import type { View } from '../../output/outcome.js'
import { updateShape } from '../bots/updates.js'

const view = (done: (bot: Bot) => string): View<Bot> => ({
  headline: done,
  members: ['id', 'name', 'username', 'review_status', 'review_note', 'status'],
})

export const platformBots: Group = {
  name: 'bots',
  alias: 'bot',
  summary: 'List bots, decide on them, disable them, make updates for them',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.bots,
      flags: { app: at('application_id', member('Only bots of this application, app_…', 'ID')) },
      examples: ['voucherctl platform bots list'],
      view: { members: ['id', 'name', 'username', 'review_status', 'status', 'application_id'] },
    }),
    callLeaf({
      name: 'approve',
      endpoint: contract.approveBot,
      examples: ['voucherctl platform bots approve bot_01JC…'],
      view: {
        ...view((bot) => `Approved bot ${bot.username}: it is ${bot.status}.`),
        next: (bot) => `Its owner gets the token once: ${suggested`bots get ${bot.id} --save`}`,
      },
    }),
    callLeaf({
      name: 'reject',
      endpoint: contract.rejectBot,
      flags: { note: required(member('Why, at most 200 characters', 'TEXT'), 'Note') },
      examples: ['voucherctl platform bots reject bot_01JC… --note "The name is taken by a brand"'],
      view: view((bot) => `Rejected bot ${bot.username}.`),
    }),
    callLeaf({
      name: 'disable',
      endpoint: contract.disableBot,
      examples: ['voucherctl platform bots disable bot_01JC…'],
      view: view((bot) => `Disabled bot ${bot.username}: its token is refused, its deliveries wait.`),
    }),
    callLeaf({
      name: 'enable',
      endpoint: contract.enableBot,
      examples: ['voucherctl platform bots enable bot_01JC…'],
      view: view((bot) => `Enabled bot ${bot.username}.`),
    }),
    callLeaf({
      name: 'add-update',
      endpoint: contract.addUpdate,
      output: updateShape,
      flags: {
        kind: required(at('type', member('Type of the update')), 'Type of the update'),
        user: at('payload/from/id', text('ID', 'Whom a friend_request or an inline_query comes from')),
        text: at('payload/query', text('TEXT', 'The query of an inline_query')),
      },
      examples: [
        'voucherctl platform bots add-update bot_01JC… --kind ping',
        'voucherctl platform bots add-update bot_01JC… --kind inline_query --user user-42 --text coffee',
      ],
      view: { headline: (it) => `Made update ${it.update_id}: ${it.type}.`, members: [] },
    }),
  ],
}
