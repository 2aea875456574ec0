import type { Application } from '../../../contract/apps.js'
import * as contract from '../../../contract/platform.js'
import type { Template } from '../../../contract/templates.js'
import type { Group } from '../../command/leaf.js'
import { leaf } from '../../command/leaf.js'
import { defined } from '../../flags/defined.js'
import { choice, durationMs, integer, list, one, required, text } from '../../flags/flags.js'
import { platformBots } from './bots.js'
import { platformChats, platformUsers } from './chats.js'
import { operatorNotes as notes } from './operator-notes.js'

const templateId = { name: 'TEMPLATE_ID', summary: 'Id of the template, tpl_…', ask: 'Template id' }
const appId = { name: 'APP_ID', summary: 'Id of the application, app_…', ask: 'Application id' }
const templateMembers = ['id', 'name', 'status', 'rejectionCode', 'rejectionReason', 'reviewedAt']
const appMembers = ['id', 'name', 'status', 'features']
const features = ['vouchers'] as const

const templates: Group = {
  name: 'templates',
  alias: 'template',
  summary: 'Decide on templates',
  commands: [
    leaf({
      name: 'approve',
      summary: contract.approveTemplate.summary,
      answers: contract.approveTemplate.output,
      notes,
      positional: templateId,
      examples: [{ command: 'voucherctl platform templates approve tpl_01JC…' }],
      changes: true,
      view: { headline: (it: Template) => `Approved template ${it.name}: it can be issued.`, members: templateMembers },
      run: ({ call }, { positional }) => call(contract.approveTemplate, { templateId: positional }),
    }),
    leaf({
      name: 'reject',
      summary: contract.rejectTemplate.summary,
      answers: contract.rejectTemplate.output,
      notes,
      positional: templateId,
      flags: {
        code: required(text('CODE', 'A word for the reason, such as NAME_UNCLEAR'), 'Code of the reason'),
        reason: required(text('TEXT', 'The reason, at most 200 characters'), 'Reason'),
      },
      examples: [
        { command: 'voucherctl platform templates reject tpl_01JC… --code NAME_UNCLEAR --reason "Say what it is"' },
      ],
      changes: true,
      view: { headline: (it: Template) => `Rejected template ${it.name}.`, members: templateMembers },
      run: ({ call }, { positional, flags }) => call(contract.rejectTemplate, { templateId: positional, ...flags }),
    }),
  ],
}

const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'Suspend applications and set their features',
  commands: [
    leaf({
      name: 'suspend',
      summary: contract.suspendApp.summary,
      answers: contract.suspendApp.output,
      notes,
      positional: appId,
      examples: [{ command: 'voucherctl platform apps suspend app_01JC…' }],
      changes: true,
      view: {
        headline: (it: Application) => `Suspended ${it.name}: every runtime call is refused.`,
        members: appMembers,
      },
      run: ({ call }, { positional }) => call(contract.suspendApp, { appId: positional }),
    }),
    leaf({
      name: 'reinstate',
      summary: contract.reinstateApp.summary,
      answers: contract.reinstateApp.output,
      notes,
      positional: appId,
      examples: [{ command: 'voucherctl platform apps reinstate app_01JC…' }],
      changes: true,
      view: { headline: (it: Application) => `Reinstated ${it.name}: ${it.status}.`, members: appMembers },
      run: ({ call }, { positional }) => call(contract.reinstateApp, { appId: positional }),
    }),
    leaf({
      name: 'features',
      summary: contract.setAppFeatures.summary,
      answers: contract.setAppFeatures.output,
      notes: ['Without --feature the application has none.', ...notes],
      positional: appId,
      flags: { feature: list('NAME', `One of ${features.join(', ')}`, features) },
      examples: [
        { command: 'voucherctl platform apps features app_01JC… --feature vouchers' },
        { command: 'voucherctl platform apps features app_01JC…', comment: 'Takes every feature away' },
      ],
      changes: true,
      view: {
        headline: (it: Application) =>
          `${it.name} has ${it.features.length === 0 ? 'no feature' : it.features.join(', ')}.`,
        members: appMembers,
      },
      run: ({ call }, { positional, flags }) =>
        call(contract.setAppFeatures, { appId: positional, features: [...flags.feature] }),
    }),
  ],
}

const clockView = { headline: (it: { now: string }) => `The test clock says ${it.now}.`, members: [] }

const clock: Group = {
  name: 'clock',
  summary: 'The test clock of a server started with --test-clock',
  commands: [
    leaf({
      name: 'show',
      summary: contract.getClock.summary,
      answers: contract.getClock.output,
      notes,
      examples: [{ command: 'voucherctl platform clock show' }],
      view: clockView,
      run: ({ call }) => call(contract.getClock, {}),
    }),
    leaf({
      name: 'set',
      summary: contract.setClock.summary,
      answers: contract.setClock.output,
      notes,
      positional: { name: 'TIME', summary: 'As 2027-01-31T00:00:00Z', ask: 'Time' },
      examples: [{ command: 'voucherctl platform clock set 2027-01-31T00:00:00Z' }],
      changes: true,
      view: clockView,
      run: ({ call }, { positional }) => call(contract.setClock, { now: positional }),
    }),
    leaf({
      name: 'advance',
      summary: contract.advanceClock.summary,
      answers: contract.advanceClock.output,
      notes,
      flags: {
        seconds: required(
          one('DURATION', 'How far: seconds, or 30m, 2h, 5d', (it) => {
            const ms = durationMs(it)
            return ms === undefined
              ? { ok: false, message: 'must be seconds, or a duration such as 2h' }
              : { ok: true, value: ms / 1000 }
          }),
          'How far, such as 2h',
        ),
      },
      examples: [{ command: 'voucherctl platform clock advance --seconds 30d' }],
      changes: true,
      view: clockView,
      run: ({ call }, { flags }) => call(contract.advanceClock, { seconds: flags.seconds }),
    }),
  ],
}

const faults: Group = {
  name: 'faults',
  alias: 'fault',
  summary: 'Failures on purpose, to test what your application does',
  commands: [
    leaf({
      name: 'add',
      summary: contract.addFault.summary,
      answers: contract.addFault.output,
      notes,
      flags: {
        endpoint: required(
          text('ID', 'Endpoint such as vouchers.redeem; `voucherctl server openapi` names them'),
          'Endpoint',
        ),
        kind: required(
          choice(contract.faultKinds, 'error answers 503; drop_response closes the connection after the work was done'),
          'Kind',
        ),
        times: integer('N', 'For so many calls, default 1', 1, 1_000_000),
        'delay-ms': integer('MS', 'With --kind delay: milliseconds', 0, 60_000),
      },
      examples: [{ command: 'voucherctl platform faults add --endpoint vouchers.redeem --kind drop_response' }],
      changes: true,
      view: {
        headline: (it: { endpoint: string; kind: string; times: number }) =>
          `The next ${it.times === 1 ? 'call' : `${it.times} calls`} of ${it.endpoint}: ${it.kind}.`,
        members: [],
      },
      run: ({ call }, { flags: { endpoint, kind, times = 1, 'delay-ms': delay_ms } }) =>
        call(contract.addFault, { endpoint, kind, times, ...defined({ delay_ms }) }),
    }),
    leaf({
      name: 'clear',
      summary: contract.clearFaults.summary,
      answers: contract.clearFaults.output,
      notes,
      examples: [{ command: 'voucherctl platform faults clear' }],
      changes: true,
      view: {
        headline: (it: { removed: number }) => `Removed ${it.removed} ${it.removed === 1 ? 'fault' : 'faults'}.`,
        members: [],
      },
      run: ({ call }) => call(contract.clearFaults, {}),
    }),
  ],
}

export const platform: Group = {
  name: 'platform',
  summary: "The operator's side of a local server",
  commands: [
    leaf({
      name: 'reviews',
      summary: contract.reviews.summary,
      answers: contract.reviews.output,
      notes,
      flags: { kind: choice(['template', 'bot'], 'Only these') },
      examples: [{ command: 'voucherctl platform reviews' }],
      view: { members: ['kind', 'id', 'name', 'account_id', 'submitted_at'] },
      run: ({ call }, { flags }) => call(contract.reviews, defined(flags)),
    }),
    templates,
    platformBots,
    apps,
    platformUsers,
    platformChats,
    clock,
    faults,
  ],
}
