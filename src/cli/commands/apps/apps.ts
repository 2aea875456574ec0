import { type Application, apps as contract } from '../../../contract/apps.js'
import { callLeaf, type Group } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { member, ownerFlag, required } from '../../flags/flags.js'
import type { View } from '../../output/outcome.js'

const view = (done: (app: Application) => string): View<Application> => ({
  headline: done,
  members: [
    'id',
    'name',
    'description',
    'status',
    'features',
    'allowedOrigins',
    'secureTransport',
    'linkedBots',
    'createdAt',
  ],
})

const settings = {
  description: member('What it is for, at most 500 characters', 'TEXT'),
  'allowed-origin': member('Origin that the encrypted transport accepts, or *', 'ORIGIN'),
  'secure-transport': member('Whether calls must be encrypted'),
}

export const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'Applications of the account',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.list,
      examples: ['voucherctl apps list', 'voucherctl apps list --json --fields id,name'],
      view: { members: ['id', 'name', 'status', 'createdAt'] },
    }),
    callLeaf({
      name: 'create',
      endpoint: contract.create,
      flags: { name: required(member('Name, at most 100 characters', 'NAME'), 'Name of the application'), ...settings },
      examples: ['voucherctl apps create --name "Corner shop"'],
      view: {
        ...view((app) => `Created application ${app.name}.`),
        next: (app) => `Next: ${suggested`tokens create --app ${app.id} --save`}`,
      },
      check: () => '`voucherctl apps list`',
    }),
    callLeaf({
      name: 'get',
      endpoint: contract.get,
      examples: ['voucherctl apps get app_01JC…'],
      view: view((app) => `Application ${app.name}`),
    }),
    callLeaf({
      name: 'update',
      endpoint: contract.update,
      flags: {
        name: member('New name', 'NAME'),
        ...settings,
        status: member('A disabled application refuses every runtime call'),
      },
      examples: ['voucherctl apps update app_01JC… --status disabled'],
      view: view((app) => `Updated application ${app.name}.`),
      check: ({ positional }) => suggested`apps get ${positional}`,
    }),
    callLeaf({
      name: 'link-bot',
      endpoint: contract.linkBot,
      notes: ['The bot must be approved and belong to the same account. It is linked to one application at a time.'],
      flags: { bot: required(member('Bot, bot_…', 'ID'), 'Bot id') },
      examples: ['voucherctl apps link-bot app_01JC… --bot bot_01JC…'],
      view: view((app) => `Linked the bot to ${app.name}.`),
      check: ({ positional }) => suggested`apps get ${positional}`,
    }),
    callLeaf({
      name: 'unlink-bot',
      endpoint: contract.unlinkBot,
      flags: {
        bot: ownerFlag('linkedBots', member('Bot, bot_…; default: the only one that is linked', 'ID'), 'Bot id'),
      },
      examples: ['voucherctl apps unlink-bot app_01JC…'],
      view: view((app) => `Unlinked the bot from ${app.name}: it delivers no vouchers of it any more.`),
      check: ({ positional }) => suggested`apps get ${positional}`,
    }),
  ],
}
