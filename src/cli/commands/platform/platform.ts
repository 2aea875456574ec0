import { durationMs } from '../../../contract/duration.js'
import * as contract from '../../../contract/platform.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { usage } from '../../failure.js'
import { defined } from '../../flags/defined.js'
import { choice, integer, list, one, required, text } from '../../flags/flags.js'
import { parseTime, TIME_RULE } from '../../flags/time.js'
import { platformBots } from './bots.js'
import { platformChats, platformUsers } from './chats.js'
import { operatorNotes as notes } from './operator-notes.js'
import { reset, snapshots } from './snapshots.js'
import { platformVouchers } from './vouchers.js'

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
    callLeaf({
      name: 'approve',
      endpoint: contract.approveTemplate,
      notes,
      positional: templateId,
      examples: [{ command: 'voucherctl platform templates approve tpl_01JC…' }],
      view: { headline: (it) => `Approved template ${it.name}: it can be issued.`, members: templateMembers },
      input: ({ positional }) => ({ templateId: positional }),
    }),
    callLeaf({
      name: 'reject',
      endpoint: contract.rejectTemplate,
      notes,
      positional: templateId,
      flags: {
        code: required(text('CODE', 'A word for the reason, such as NAME_UNCLEAR'), 'Code of the reason'),
        reason: required(text('TEXT', 'The reason, at most 200 characters'), 'Reason'),
      },
      examples: [
        { command: 'voucherctl platform templates reject tpl_01JC… --code NAME_UNCLEAR --reason "Say what it is"' },
      ],
      view: { headline: (it) => `Rejected template ${it.name}.`, members: templateMembers },
      input: ({ positional, flags }) => ({ templateId: positional, ...flags }),
    }),
  ],
}

const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'Suspend applications and set their features',
  commands: [
    callLeaf({
      name: 'suspend',
      endpoint: contract.suspendApp,
      notes,
      positional: appId,
      examples: [{ command: 'voucherctl platform apps suspend app_01JC…' }],
      view: {
        headline: (it) => `Suspended ${it.name}: every runtime call is refused.`,
        members: appMembers,
      },
      input: ({ positional }) => ({ appId: positional }),
    }),
    callLeaf({
      name: 'reinstate',
      endpoint: contract.reinstateApp,
      notes,
      positional: appId,
      examples: [{ command: 'voucherctl platform apps reinstate app_01JC…' }],
      view: { headline: (it) => `Reinstated ${it.name}: ${it.status}.`, members: appMembers },
      input: ({ positional }) => ({ appId: positional }),
    }),
    callLeaf({
      name: 'features',
      endpoint: contract.setAppFeatures,
      notes: ['Without --feature the application has none.', ...notes],
      positional: appId,
      flags: { feature: list('NAME', `One of ${features.join(', ')}`, features) },
      examples: [
        { command: 'voucherctl platform apps features app_01JC… --feature vouchers' },
        { command: 'voucherctl platform apps features app_01JC…', comment: 'Takes every feature away' },
      ],
      view: {
        headline: (it) => `${it.name} has ${it.features.length === 0 ? 'no feature' : it.features.join(', ')}.`,
        members: appMembers,
      },
      input: ({ positional, flags }) => ({ appId: positional, features: [...flags.feature] }),
    }),
  ],
}

const clockView = { headline: (it: { now: string }) => `The test clock says ${it.now}.`, members: [] }

const clock: Group = {
  name: 'clock',
  summary: 'The test clock of a server started with --test-clock',
  commands: [
    callLeaf({
      name: 'show',
      endpoint: contract.getClock,
      notes,
      examples: [{ command: 'voucherctl platform clock show' }],
      view: clockView,
      input: () => ({}),
    }),
    leaf({
      name: 'set',
      endpoint: contract.setClock,
      notes,
      positional: { name: 'TIME', summary: 'Date or time, such as 2027-01-31 (UTC)', ask: 'Time', member: 'now' },
      examples: [{ command: 'voucherctl platform clock set 2027-01-31' }],
      view: clockView,
      run: async ({ call }, { positional }) => {
        const time = parseTime(positional)
        return time === undefined ? usage(`TIME ${TIME_RULE}.`) : call(contract.setClock, { now: time.instant })
      },
    }),
    callLeaf({
      name: 'advance',
      endpoint: contract.advanceClock,
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
      view: clockView,
      input: ({ flags }) => ({ seconds: flags.seconds }),
    }),
  ],
}

const faults: Group = {
  name: 'faults',
  alias: 'fault',
  summary: 'Failures on purpose, to test what your application does',
  commands: [
    callLeaf({
      name: 'add',
      endpoint: contract.addFault,
      notes,
      flags: {
        endpoint: required(
          text('ID', 'Endpoint such as vouchers.redeem; `voucherctl server openapi` names them'),
          'Endpoint',
        ),
        kind: required(
          choice(
            contract.faultKinds,
            'error responds 503; drop_response closes the connection after the work was done',
          ),
          'Kind',
        ),
        times: integer('N', 'Number of calls, default 1', 1, 1_000_000),
        'delay-ms': integer('MS', 'With --kind delay: milliseconds', 0, 60_000),
      },
      examples: [{ command: 'voucherctl platform faults add --endpoint vouchers.redeem --kind drop_response' }],
      view: {
        headline: (it) => `The next ${it.times === 1 ? 'call' : `${it.times} calls`} of ${it.endpoint}: ${it.kind}.`,
        members: [],
      },
      input: ({ flags: { endpoint, kind, times = 1, 'delay-ms': delay_ms } }) => ({
        endpoint,
        kind,
        times,
        ...defined({ delay_ms }),
      }),
    }),
    callLeaf({
      name: 'clear',
      endpoint: contract.clearFaults,
      notes,
      examples: [{ command: 'voucherctl platform faults clear' }],
      view: {
        headline: (it) => `Removed ${it.removed} ${it.removed === 1 ? 'fault' : 'faults'}.`,
        members: [],
      },
      input: () => ({}),
    }),
  ],
}

export const platform: Group = {
  name: 'platform',
  summary: "The operator's side of a local server",
  commands: [
    callLeaf({
      name: 'reviews',
      endpoint: contract.reviews,
      notes,
      flags: { kind: choice(['template', 'bot'], 'Only these') },
      examples: [{ command: 'voucherctl platform reviews' }],
      view: { members: ['kind', 'id', 'name', 'account_id', 'submitted_at'], empty: 'Nothing waits for review.' },
      input: ({ flags }) => defined(flags),
    }),
    templates,
    platformBots,
    apps,
    platformUsers,
    platformChats,
    platformVouchers,
    clock,
    faults,
    snapshots,
    reset,
  ],
}
