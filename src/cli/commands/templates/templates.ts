import { bots as botContract } from '../../../contract/bots.js'
import { templates as contract, type Template, template } from '../../../contract/templates.js'
import { type Group, leaf } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { at, member } from '../../flags/flags.js'
import { apply, diff, init } from './as-code.js'
import { botFlag, create, ownerBotFlag, submitTemplate } from './create.js'
import { findTemplate } from './find.js'

const members = [
  'id',
  'externalTemplateId',
  'name',
  'status',
  'type',
  'issuerName',
  'fulfillerName',
  'fulfillmentCategory',
  'acquisitionSource',
  'validity',
  'issueLimit',
  'issuedCount',
  'rejectionCode',
  'rejectionReason',
  'createdAt',
]

export const templates: Group = {
  name: 'templates',
  alias: 'template',
  summary: 'Voucher templates',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.list,
      alsoCalls: { 'bots.templates': '--bot' },
      flags: {
        status: member('Only these'),
        'external-id': at('external_template_id', member('Only the one with your own id', 'ID')),
        ...botFlag,
        ...pageFlags,
      },
      examples: [
        'voucherctl templates list --status active',
        'voucherctl templates list --all -o csv',
        {
          command: 'voucherctl templates list --bot bot_01JC…',
          comment: 'Those that a bot can issue, with the account JWT',
        },
      ],
      view: { members: ['id', 'name', 'status', 'issuedCount', 'issueLimit'] },
      run: (context, { flags, input }) =>
        flags.bot === undefined
          ? fetchList(context, flags, contract.list, input)
          : fetchList(context, flags, botContract.templates, { botId: flags.bot, ...input }),
    }),
    leaf({
      name: 'get',
      summary: 'One template, by its id or your own id',
      positional: {
        name: 'TEMPLATE_ID',
        summary: 'Id of the template, tpl_…, or your own id',
        ask: 'Template id',
        member: 'templateId',
      },
      flags: ownerBotFlag,
      output: template,
      examples: ['voucherctl templates get tpl_01JC…', 'voucherctl templates get coffee-1 --jq .status'],
      view: { members: [...members, 'description', 'metadata'] },
      run: (context, { positional, flags }) => findTemplate(context, positional, flags.bot),
    }),
    create,
    leaf({
      name: 'submit',
      endpoint: contract.submit,
      alsoCalls: { 'bots.submitTemplate': '--bot' },
      flags: ownerBotFlag,
      examples: ['voucherctl templates submit tpl_01JC…', 'voucherctl templates submit tpl_01JC… --bot bot_01JC…'],
      view: {
        headline: (it: Template) => `Submitted template ${it.name}: ${it.status}.`,
        members,
        next: (template) =>
          template.status === 'reviewing'
            ? `On a local server you decide: ${suggested`platform templates approve ${template.id}`}`
            : undefined,
      },
      run: (context, { positional, flags }) => submitTemplate(context, positional, flags.bot),
    }),
    apply,
    diff,
    init,
  ],
}
