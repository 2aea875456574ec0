import { type Application, apps as contract } from '../../../contract/apps.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { suggested, usage } from '../../failures/failure.js'
import { defined } from '../../flags/defined.js'
import { choice, list, ownerFlag, required, text, type ValuesOf } from '../../flags/flags.js'
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

const appId = { name: 'APP_ID', summary: 'Id of the application, app_…', ask: 'Application id' }

const bot = required(text('ID', 'Bot, bot_…'), 'Bot id')

const settings = {
  description: text('TEXT', 'What it is for, at most 500 characters'),
  'allowed-origin': list('ORIGIN', 'Origin that the encrypted transport accepts, or *'),
  'secure-transport': choice(['optional', 'required'], 'Whether calls must be encrypted'),
}

function settingsOf(flags: ValuesOf<typeof settings>) {
  const { description, 'allowed-origin': origins, 'secure-transport': secure_transport } = flags
  return defined({ description, allowed_origins: origins.length === 0 ? undefined : [...origins], secure_transport })
}

export const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'Applications of the account',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.list,
      flags: pageFlags,
      examples: ['voucherctl apps list', 'voucherctl apps list --json --fields id,name'],
      view: { members: ['id', 'name', 'status', 'createdAt'] },
      run: (context, { flags }) => fetchList(context, flags, contract.list, {}),
    }),
    callLeaf({
      name: 'create',
      endpoint: contract.create,
      flags: { name: required(text('NAME', 'Name, at most 100 characters'), 'Name of the application'), ...settings },
      examples: ['voucherctl apps create --name "Corner shop"'],
      view: {
        ...view((app) => `Created application ${app.name}.`),
        next: (app) => `Next: ${suggested`tokens create --app ${app.id} --save`}`,
      },
      input: ({ flags }) => ({ name: flags.name, ...settingsOf(flags) }),
      check: () => '`voucherctl apps list`',
    }),
    callLeaf({
      name: 'get',
      endpoint: contract.get,
      positional: appId,
      examples: ['voucherctl apps get app_01JC…'],
      view: view((app) => `Application ${app.name}`),
    }),
    leaf({
      name: 'update',
      endpoint: contract.update,
      positional: appId,
      flags: {
        name: text('NAME', 'New name'),
        ...settings,
        status: choice(['active', 'disabled'], 'A disabled application refuses every runtime call'),
      },
      examples: ['voucherctl apps update app_01JC… --status disabled'],
      view: view((app) => `Updated application ${app.name}.`),
      run: async ({ call }, { positional, flags }) => {
        const { name, status } = flags
        const changes = { ...defined({ name, status }), ...settingsOf(flags) }
        if (Object.keys(changes).length === 0)
          return usage(
            'Nothing to change.',
            'Give --name, --description, --allowed-origin, --secure-transport or --status.',
          )
        return call(contract.update, { appId: positional, ...changes }, { check: suggested`apps get ${positional}` })
      },
    }),
    callLeaf({
      name: 'link-bot',
      endpoint: contract.linkBot,
      notes: ['The bot must be approved and belong to the same account. It is linked to one application at a time.'],
      positional: appId,
      flags: { bot },
      examples: ['voucherctl apps link-bot app_01JC… --bot bot_01JC…'],
      view: view((app) => `Linked the bot to ${app.name}.`),
      input: ({ positional, flags }) => ({ appId: positional, botId: flags.bot }),
      check: ({ positional }) => suggested`apps get ${positional}`,
    }),
    callLeaf({
      name: 'unlink-bot',
      endpoint: contract.unlinkBot,
      positional: appId,
      flags: { bot: ownerFlag('linkedBots', text('ID', 'Bot, bot_…; default: the only one that is linked'), 'Bot id') },
      examples: ['voucherctl apps unlink-bot app_01JC…'],
      view: view((app) => `Unlinked the bot from ${app.name}: it delivers no vouchers of it any more.`),
      loses: ({ flags }) => flags.bot,
      input: ({ positional, flags }) => ({ appId: positional, botId: flags.bot }),
      check: ({ positional }) => suggested`apps get ${positional}`,
    }),
  ],
}
