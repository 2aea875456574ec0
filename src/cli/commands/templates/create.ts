import { bots as botContract } from '../../../contract/bots.js'
import {
  templates as contract,
  suggestedSources,
  suggestedTypes,
  type Template,
  type TemplateInput,
  templateInput,
} from '../../../contract/templates.js'
import type { Context, Ok } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { bindFlags } from '../../command/member-flags.js'
import { type Failure, fail, suggested, usage } from '../../failures/failure.js'
import { at, excluding, type Flag, integer, member, needing, text, toggle, type ValuesOf } from '../../flags/flags.js'
import { instant } from '../../flags/time.js'
import { askFor, questionOfFlag } from '../../prompts/prompts.js'
import { required } from '../../prompts/required.js'
import { readDefinitionFile } from './file.js'

/** Flag that creates the template through the bot endpoints, called with the account JWT. */
export const botFlag = { bot: at('botId', text('ID', 'Through this bot, bot_…, with the account JWT')) }
/** The same flag for commands with a template id: without an application token they look up the bot. */
export const ownerBotFlag = { bot: { ...botFlag.bot, ownerOf: 'templates' } } as const
/** Command that shows whether a change took place. */
const CHECK = { check: suggested`templates list` }

/** Creates a template. @param definition members of the call; the server checks their values */
export const createTemplate = ({ call }: Context, definition: object, bot: string | undefined) =>
  bot === undefined
    ? call(contract.create, definition as TemplateInput, CHECK)
    : call(botContract.createTemplate, { botId: bot, ...(definition as TemplateInput) }, CHECK)

export const submitTemplate = ({ call }: Context, templateId: string, bot: string | undefined) =>
  bot === undefined
    ? call(contract.submit, { templateId }, CHECK)
    : call(botContract.submitTemplate, { botId: bot, templateId }, CHECK)

/** Marks a flag as required in help: --file can also supply the value, and the command asks for it last. */
const inFile = <T>(flag: Flag<T>, question = flag.summary, mark = 'required'): Flag<T> => ({
  ...flag,
  needed: { mark, unless: 'file', question },
})

const flags = {
  'external-id': inFile(at('external_template_id', member('Your own id of the template', 'ID'))),
  name: inFile(member('Name, at most 100 characters', 'NAME'), 'Name of the template'),
  type: inFile(member(`${suggestedTypes.join(', ')} …`, 'TYPE'), 'Type'),
  'issuer-name': inFile(member('Who issues it', 'NAME')),
  'fulfiller-name': inFile(member('Who fulfils it', 'NAME')),
  'fulfillment-category': inFile(member('How it is fulfilled')),
  'acquisition-source': inFile(member(`${suggestedSources.join(', ')} …`, 'SOURCE'), 'Acquisition source'),
  'issue-limit': inFile(member('How many can be issued', 'N')),
  'valid-days': inFile(
    at('validity/duration_days', integer('N', 'Valid for N days from its issue', 1, 1_000_000)),
    'Valid for how many days from its issue',
    'required, or --valid-from with --valid-to',
  ),
  'delay-days': at('validity/delay_days', needing(integer('N', 'Usable N days later', 0, 1_000_000), 'valid-days')),
  'not-after': at('validity/not_after', needing(instant('Never valid after this time'), 'valid-days')),
  'valid-from': at(
    'validity/starts_at',
    excluding(instant('Valid from this date or time, such as 2027-01-31 (UTC)'), 'valid-days'),
  ),
  'valid-to': at(
    'validity/ends_at',
    excluding(instant('Valid until this time, or to the end of this date', true), 'valid-days'),
  ),
  description: member('Description, at most 500 characters', 'TEXT'),
  metadata: member('Your own data'),
  ...botFlag,
  file: text('FILE|-', 'JSON with these values; flags win over it'),
  submit: toggle('Submit it for review immediately'),
}

type CreateFlags = ValuesOf<typeof flags, TemplateInput>

const bound = Object.entries(bindFlags(contract.create, flags))
/** Required members of a template, each with the flag that the command asks for. */
const needed = (templateInput.required ?? []).flatMap((name) =>
  bound.flatMap(([flagName, flag]) =>
    flag.needed !== undefined && String(flag.member).split('/')[0] === name ? [{ name, flagName, flag }] : [],
  ),
)

const suggestions: Readonly<Record<string, readonly string[]>> = {
  type: suggestedTypes,
  'acquisition-source': suggestedSources,
}

export const create = leaf({
  name: 'create',
  endpoint: contract.create,
  alsoCalls: { 'bots.createTemplate': '--bot' },
  notes: [
    'Required values may stand in --file instead, with the names of the interface; on a terminal the command asks for missing ones. A template starts as a draft. Submit it for review; only an approved (active) one can be issued.',
  ],
  flags,
  examples: [
    'voucherctl templates create --external-id coffee-1 --name "Free coffee" --type exchange --issuer-name "Corner shop" --fulfiller-name "Corner shop" --fulfillment-category offline_service --acquisition-source free_claim --valid-days 30 --issue-limit 500 --submit',
    'voucherctl templates create --file template.json --issue-limit 100',
  ],
  view: {
    headline: (template: Template) =>
      `${template.status === 'draft' ? 'Created' : 'Created and submitted'} template ${template.name}: ${template.status}.`,
    members: ['id', 'externalTemplateId', 'name', 'status', 'type', 'validity', 'issueLimit'],
    next: (template) =>
      template.status === 'draft'
        ? `Next: ${suggested`templates submit ${template.id}`}`
        : `On a local server you decide: ${suggested`platform templates approve ${template.id}`}`,
  },
  run: async (context, { flags: given, input }) => {
    const definition = await readDefinition(context, given, input)
    if (!definition.ok) return definition
    const { bot } = given
    const created = await createTemplate(context, definition.value, bot)
    if (!given.submit) return created
    // In a dry run there is no id yet, so plan the second call with a placeholder.
    if (!created.ok) return 'plan' in created ? submitTemplate(context, 'tpl_NEW', bot) : created
    const { id } = created.data
    const submitted = await submitTemplate(context, id, bot)
    if (submitted.ok || 'plan' in submitted) return submitted
    const hint = `The template was created as ${id}: repeat with ${suggested`templates submit ${id}`}. ${submitted.hint ?? ''}`
    return { ...submitted, hint: hint.trim(), details: { ...submitted.details, template_id: id } }
  },
})

type DefinitionResult = Ok<Record<string, unknown>> | Failure

/** @param input members that flags have set */
async function readDefinition(
  context: Context,
  given: CreateFlags,
  { validity: period, ...input }: Partial<TemplateInput>,
): Promise<DefinitionResult> {
  const conflict = conflictOf(given)
  if (conflict !== undefined) return conflict
  const file = given.file === undefined ? undefined : await readDefinitionFile(context, given.file)
  if (file?.ok === false) return file
  if (given['valid-from'] !== undefined && !context.output.isJson)
    context.output.notice(`Valid from ${given['valid-from']} until ${given['valid-to']}.`)
  const type = given['valid-days'] === undefined ? 'fixed' : 'relative'
  const validity = period && { validity: { ...period, type } }
  const value: Record<string, unknown> = { ...file?.value, ...validity, ...input }
  const missing = needed.filter(({ name }) => value[name] === undefined)
  const names = missing.map(({ name, flagName }) =>
    name === 'validity' ? '(--valid-days, or --valid-from with --valid-to)' : `--${flagName}`,
  )
  for (const { name, flagName, flag } of missing) {
    const question = questionOfFlag(flagName, flag, context.host)
    const message = flag.needed?.question ?? ''
    const asked = await askFor(context, { ...question, message, suggestions: suggestions[flagName] }, () =>
      required(names),
    )
    if (!asked.ok) return asked
    const read = flag.read(asked.value)
    if (!read.ok) return usage(`--${flagName} ${read.message}.`)
    value[name] = name === 'validity' ? { type: 'relative', duration_days: read.value } : read.value
  }
  return { ok: true, value }
}

function conflictOf({ 'valid-from': from, 'valid-to': to }: CreateFlags): Failure | undefined {
  if ((from === undefined) === (to === undefined)) return undefined
  const missing = from === undefined ? '--valid-from' : '--valid-to'
  return fail('INPUT_REQUIRED', `Missing: ${missing}.`, 'A fixed validity has a start and an end.')
}
