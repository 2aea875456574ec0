import type { Application } from '../../../contract/apps.js'
import * as contract from '../../../contract/apps.js'
import { confirmLoss } from '../../command/confirmation.js'
import type { Group, View } from '../../command/leaf.js'
import { leaf } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { usage } from '../../failure.js'
import { defined } from '../../flags/defined.js'
import { choice, list, required, text } from '../../flags/flags.js'

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

interface SettingsGiven {
  readonly description: string | undefined
  readonly 'allowed-origin': readonly string[]
  readonly 'secure-transport': 'optional' | 'required' | undefined
}

function settingsOf(flags: SettingsGiven) {
  return {
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(flags['allowed-origin'].length === 0 ? {} : { allowed_origins: [...flags['allowed-origin']] }),
    ...(flags['secure-transport'] === undefined ? {} : { secure_transport: flags['secure-transport'] }),
  }
}

export const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'Applications of the account',
  commands: [
    leaf({
      name: 'list',
      summary: contract.list.summary,
      answers: contract.list.output,
      flags: pageFlags,
      examples: [{ command: 'voucherctl apps list' }, { command: 'voucherctl apps list --json --fields id,name' }],
      view: { members: ['id', 'name', 'status', 'createdAt'] },
      run: (context, { flags }) =>
        fetchList(context, flags, (paging, options) => context.call(contract.list, paging, options)),
    }),
    leaf({
      name: 'create',
      summary: contract.create.summary,
      answers: contract.create.output,
      flags: { name: required(text('NAME', 'Name, at most 100 characters'), 'Name of the application'), ...settings },
      examples: [{ command: 'voucherctl apps create --name "Corner shop"' }],
      changes: true,
      view: {
        ...view((app) => `Created application ${app.name}.`),
        next: (app) => `Next: voucherctl tokens create --app ${app.id} --save`,
      },
      run: ({ call }, { flags }) =>
        call(contract.create, { name: flags.name, ...settingsOf(flags) }, { check: 'voucherctl apps list' }),
    }),
    leaf({
      name: 'get',
      summary: contract.get.summary,
      answers: contract.get.output,
      positional: appId,
      examples: [{ command: 'voucherctl apps get app_01JC…' }],
      view: view((app) => `Application ${app.name}`),
      run: ({ call }, { positional }) => call(contract.get, { appId: positional }),
    }),
    leaf({
      name: 'update',
      summary: contract.update.summary,
      answers: contract.update.output,
      positional: appId,
      flags: {
        name: text('NAME', 'New name'),
        ...settings,
        status: choice(['active', 'disabled'], 'A disabled application refuses every runtime call'),
      },
      examples: [{ command: 'voucherctl apps update app_01JC… --status disabled' }],
      changes: true,
      view: view((app) => `Updated application ${app.name}.`),
      run: async ({ call }, { positional, flags }) => {
        const { name, status } = flags
        const changes = { ...defined({ name, status }), ...settingsOf(flags) }
        if (Object.keys(changes).length === 0)
          return usage(
            'Nothing to change.',
            'Give --name, --description, --allowed-origin, --secure-transport or --status.',
          )
        return call(contract.update, { appId: positional, ...changes }, { check: `voucherctl apps get ${positional}` })
      },
    }),
    leaf({
      name: 'link-bot',
      summary: contract.linkBot.summary,
      answers: contract.linkBot.output,
      notes: ['The bot must be approved and belong to the same account. It is linked to one application at a time.'],
      positional: appId,
      flags: { bot },
      examples: [{ command: 'voucherctl apps link-bot app_01JC… --bot bot_01JC…' }],
      changes: true,
      view: view((app) => `Linked the bot to ${app.name}.`),
      run: ({ call }, { positional, flags }) =>
        call(contract.linkBot, { appId: positional, botId: flags.bot }, { check: `voucherctl apps get ${positional}` }),
    }),
    leaf({
      name: 'unlink-bot',
      summary: contract.unlinkBot.summary,
      answers: contract.unlinkBot.output,
      positional: appId,
      flags: { bot },
      examples: [{ command: 'voucherctl apps unlink-bot app_01JC… --bot bot_01JC…' }],
      changes: true,
      view: view((app) => `Unlinked the bot from ${app.name}: it delivers no vouchers of it any more.`),
      run: async (context, { positional, flags }) => {
        const refusal = await confirmLoss(context, contract.unlinkBot.id, flags.bot)
        if (refusal !== undefined) return refusal
        return context.call(
          contract.unlinkBot,
          { appId: positional, botId: flags.bot },
          { check: `voucherctl apps get ${positional}` },
        )
      },
    }),
  ],
}
