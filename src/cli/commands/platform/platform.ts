import { platformActing } from '../../../contract/platform/acting.js'
import { platform as contract } from '../../../contract/platform/platform.js'
import { callLeaf, type Group } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { at, member, required } from '../../flags/flags.js'
import { activity } from './activity.js'
import { platformBots } from './bots.js'
import { platformChats, platformUsers } from './chats.js'
import { clock, faults } from './controls.js'
import { platformDeliveries } from './deliveries.js'
import { reset, snapshots } from './snapshots.js'
import { totals } from './totals.js'
import { platformVouchers } from './vouchers.js'

const templateMembers = ['id', 'name', 'status', 'rejectionCode', 'rejectionReason', 'reviewedAt']
const appMembers = ['id', 'name', 'status', 'features']

const templates: Group = {
  name: 'templates',
  alias: 'template',
  summary: 'List templates with their quota, and decide on them',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.templates,
      flags: {
        app: at('application_id', member('Only templates of this application, app_…', 'ID')),
        status: member('Only these'),
        sort: member('By created_at or external_template_id; highest first with -, as in --sort=-created_at', 'COLUMN'),
      },
      examples: ['voucherctl platform templates list --status active'],
      view: { members: ['id', 'name', 'applicationName', 'status', 'issuedCount', 'issueLimit'] },
    }),
    callLeaf({
      name: 'show',
      endpoint: contract.template,
      examples: ['voucherctl platform templates show tpl_01JC…'],
      view: {
        headline: (it) => `Template ${it.name} is ${it.status}.`,
        members: ['id', 'applicationName', 'type', 'validity', 'issuedCount', 'issueLimit', 'rejectionReason'],
      },
    }),
    callLeaf({
      name: 'approve',
      endpoint: contract.approveTemplate,
      examples: ['voucherctl platform templates approve tpl_01JC…'],
      view: { headline: (it) => `Approved template ${it.name}: it can be issued.`, members: templateMembers },
    }),
    callLeaf({
      name: 'reject',
      endpoint: contract.rejectTemplate,
      flags: {
        code: required(member('Code of the reason, such as NAME_UNCLEAR', 'CODE'), 'Code of the reason'),
        reason: required(member('The reason, at most 200 characters', 'TEXT'), 'Reason'),
      },
      examples: ['voucherctl platform templates reject tpl_01JC… --code NAME_UNCLEAR --reason "Say what it is"'],
      view: { headline: (it) => `Rejected template ${it.name}.`, members: templateMembers },
    }),
  ],
}

const apps: Group = {
  name: 'apps',
  alias: 'app',
  summary: 'List applications, suspend them and set their features',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.applications,
      examples: ['voucherctl platform apps list'],
      view: { members: ['id', 'name', 'status', 'features', 'createdAt'] },
    }),
    callLeaf({
      name: 'suspend',
      endpoint: contract.suspendApp,
      examples: ['voucherctl platform apps suspend app_01JC…'],
      view: {
        headline: (it) => `Suspended ${it.name}: every runtime call is refused.`,
        members: appMembers,
      },
    }),
    callLeaf({
      name: 'reinstate',
      endpoint: contract.reinstateApp,
      examples: ['voucherctl platform apps reinstate app_01JC…'],
      view: { headline: (it) => `Reinstated ${it.name}: ${it.status}.`, members: appMembers },
    }),
    callLeaf({
      name: 'features',
      endpoint: contract.setAppFeatures,
      notes: ['Without --feature the application has none.'],
      flags: { feature: member('One of vouchers', 'NAME') },
      examples: [
        'voucherctl platform apps features app_01JC… --feature vouchers',
        { command: 'voucherctl platform apps features app_01JC…', comment: 'Remove every feature' },
      ],
      view: {
        headline: (it) => `${it.name} has ${it.features.length === 0 ? 'no feature' : it.features.join(', ')}.`,
        members: appMembers,
      },
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
      flags: { kind: member('Only these') },
      examples: ['voucherctl platform reviews'],
      view: { members: ['kind', 'id', 'name', 'account_id', 'submitted_at'], empty: 'Nothing waits for review.' },
    }),
    callLeaf({
      name: 'find',
      endpoint: platformActing.find,
      notes: ['Names and update ids are looked for in the newest 1,000 records, everything else in all.'],
      positional: { name: 'TEXT', summary: 'Code, id, own id, user, username or word of a name', ask: 'What to find' },
      examples: ['voucherctl platform find user-42'],
      view: {
        headline: ({ items, note }) => (items.length > 0 ? (note ?? undefined) : undefined),
        members: ['kind', 'id', 'name', 'detail'],
        body: ({ items, note }) => (items.length > 0 ? undefined : `Nothing was found.\n${note ?? ''}`),
      },
    }),
    templates,
    platformBots,
    apps,
    platformUsers,
    platformChats,
    platformVouchers,
    platformDeliveries,
    totals,
    clock,
    faults,
    activity,
    snapshots,
    reset,
  ],
}
