import type { Template } from '../../../contract/templates.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { initLeaf } from '../../command/new-file.js'
import { type Failure, suggested } from '../../failures/failure.js'
import { required, text, withLetter } from '../../flags/flags.js'
import type { Outcome, Plan, Result } from '../../output/outcome.js'
import { botFlag, createTemplate, submitTemplate } from './create.js'
import {
  type Comparison,
  compareTemplates,
  type DefinedTemplate,
  readTemplateFile,
  type TemplateState,
} from './file.js'
import { findByExternalId } from './find.js'

const fileFlags = {
  file: withLetter('f', required(text('FILE|-', 'Template file, in YAML or JSON'), 'Template file')),
  ...botFlag,
}

type Action = 'created' | 'submitted' | 'unchanged' | 'differs' | 'rejected'

interface TemplateLine {
  readonly external_template_id: string
  readonly id: string | null
  readonly status: string | null
  readonly differences: Comparison['differences']
  readonly rejection_reason?: string | null
}

interface DiffLine extends TemplateLine {
  readonly state: TemplateState
}

interface ApplyLine extends TemplateLine {
  readonly action: Action
}

const lineOf = (defined: DefinedTemplate, stored: Template | undefined, differences: Comparison['differences']) => ({
  external_template_id: defined.external_template_id,
  id: stored?.id ?? null,
  status: stored?.status ?? null,
  differences,
  ...(stored?.status === 'rejected' ? { rejection_reason: stored.rejectionReason } : {}),
})

const shape = (member: string) => {
  const names = ['external_template_id', 'id', member, 'status', 'differences', 'rejection_reason']
  return { properties: { items: { items: { properties: Object.fromEntries(names.map((name) => [name, {}])) } } } }
}

export const diff = leaf({
  name: 'diff',
  summary: 'Compare a template file with the templates of the server',
  notes: [
    'Changes nothing. Exit code 0 if the server has every template as the file has it, submitted and not rejected; 1 if not.',
    'Templates of the server that the file does not name are left out.',
  ],
  flags: fileFlags,
  output: shape('state'),
  examples: ['voucherctl templates diff -f templates.yaml'],
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const read = await readTemplateFile(context, flags.file)
    if (!read.ok) return read
    const items: DiffLine[] = []
    for (const defined of read.value) {
      const found = await findByExternalId(context, defined.external_template_id, flags.bot)
      if (!found.ok) {
        if ('plan' in found) continue
        return found
      }
      const { state, differences } = compareTemplates(defined, found.data)
      items.push({ ...lineOf(defined, found.data, differences), state })
    }
    if (context.dryRun) return context.plan(`compare them with ${flags.file}`)
    const isSame = items.every(({ state }) => state === 'same')
    const changeable = items.some(({ state }) => state === 'missing' || state === 'draft')
    await context.output.print(
      { items },
      {
        body: () => linesOf(items.map((it) => ({ ...it, word: it.state }))),
        next: () => (changeable ? `Next: ${suggested`templates apply -f ${flags.file}`}` : undefined),
      },
    )
    return { ok: true, printed: true, exit: isSame ? 0 : 1 }
  },
})

export const apply = leaf({
  name: 'apply',
  summary: 'Create and submit the templates of a file that the server lacks',
  notes: [
    'Templates are found by external_template_id. A missing one is created and submitted, a draft is submitted, one that is equal stays. Apply again after a failure: what is done is not done twice.',
    'No call changes a template. Where file and server differ, the command says in what, changes nothing and exits with 6: give the new version another external_template_id. A rejected template that you have corrected in the file is created anew.',
  ],
  flags: fileFlags,
  output: shape('action'),
  changes: true,
  examples: [
    'voucherctl templates apply -f templates.yaml',
    {
      command: 'voucherctl templates apply -f templates.yaml --json',
      comment: 'In CI: exits with 6 if file and server differ',
    },
  ],
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const read = await readTemplateFile(context, flags.file)
    if (!read.ok) return read
    const items: ApplyLine[] = []
    for (const defined of read.value) {
      const applied = await applyTemplate(context, defined, flags.bot)
      if (applied.ok) items.push(applied.data)
      else if (!('plan' in applied)) return withProgress(applied, defined, items)
    }
    if (context.dryRun) return context.plan(`create and submit what is missing of ${flags.file}`)
    const refused = items.filter(({ action }) => action === 'differs' || action === 'rejected')
    await context.output.print(
      { items },
      { body: () => [linesOf(items.map((it) => ({ ...it, word: it.action }))), ...advice(items)].join('\n') },
    )
    return { ok: true, printed: true, exit: refused.length === 0 ? 0 : 6 }
  },
})

type ApplyResult = Result<ApplyLine> | Plan | Failure

async function applyTemplate(
  context: Context,
  defined: DefinedTemplate,
  bot: string | undefined,
): Promise<ApplyResult> {
  const found = await findByExternalId(context, defined.external_template_id, bot)
  if (!found.ok) return found
  const { state, differences } = compareTemplates(defined, found.data)
  const stays = (action: Action): ApplyResult => ({
    ok: true,
    data: { ...lineOf(defined, found.data, differences), action },
  })
  if (state === 'same') return stays('unchanged')
  if (state === 'rejected') return stays('rejected')
  if (found.data !== undefined && state === 'draft') return submit(context, defined, found.data, bot, 'submitted')
  if (state === 'differs' && found.data?.status !== 'rejected') return stays('differs')
  const created = await createTemplate(context, defined, bot)
  return created.ok ? submit(context, defined, created.data, bot, 'created') : created
}

async function submit(
  context: Context,
  defined: DefinedTemplate,
  { id }: Template,
  bot: string | undefined,
  action: Action,
): Promise<ApplyResult> {
  const submitted = await submitTemplate(context, id, bot)
  return submitted.ok ? { ok: true, data: { ...lineOf(defined, submitted.data, []), action } } : submitted
}

/** Adds to a failure which template failed and what the command had already done. */
function withProgress(failure: Failure, { external_template_id: id }: DefinedTemplate, items: readonly ApplyLine[]) {
  const changed = items.filter(({ action }) => action === 'created' || action === 'submitted')
  const done = changed.length === 0 ? '' : ` Done before: ${changed.map((it) => it.external_template_id).join(', ')}.`
  const hint = `It was template ${id}.${done} The same command goes on from there. ${failure.hint ?? ''}`
  return { ...failure, hint: hint.trim(), details: { ...failure.details, external_template_id: id } }
}

function linesOf(items: readonly (TemplateLine & { readonly word: string })[]): string {
  const widthOf = (text: (item: (typeof items)[number]) => string) => Math.max(0, ...items.map((it) => text(it).length))
  const [idWidth, wordWidth] = [widthOf((it) => it.external_template_id), widthOf((it) => it.word)]
  return items
    .flatMap(({ external_template_id, word, status, id, differences, rejection_reason }) => [
      `${external_template_id.padEnd(idWidth)}  ${word.padEnd(wordWidth)}  ${(status ?? '').padEnd(9)}  ${id ?? ''}`.trimEnd(),
      ...differences.map(
        ({ member, file, server }) =>
          `    ${member}: ${JSON.stringify(file)} in the file, ${JSON.stringify(server)} on the server`,
      ),
      ...(typeof rejection_reason === 'string' ? [`    Rejected: ${rejection_reason}`] : []),
    ])
    .join('\n')
}

const advices = {
  differs: 'A template cannot be changed: give the new version another external_template_id.',
  rejected: 'A rejected template is not submitted again automatically: correct it in the file, or submit it as it is.',
}

const advice = (items: readonly ApplyLine[]): string[] =>
  (['differs', 'rejected'] as const).flatMap((action) =>
    items.some((it) => it.action === action) ? ['', advices[action]] : [],
  )

const example = `# Templates of an application, applied with: voucherctl templates apply -f FILE
templates:
  - external_template_id: coffee-1 # your own id; a new version needs a new one
    name: One free coffee
    type: gift
    issuer_name: Coffee shop
    fulfiller_name: Coffee shop
    fulfillment_category: offline_service # or physical_goods, ecommerce_discount
    acquisition_source: free_claim
    validity: { type: relative, duration_days: 30 }
    # validity: { type: fixed, starts_at: "2027-01-01T00:00:00Z", ends_at: "2027-12-31T00:00:00Z" }
    issue_limit: 1000
`

export const init = initLeaf({
  schema: 'templates',
  what: 'a template file',
  defaultFile: 'templates.yaml',
  example,
  examples: ['voucherctl templates init', 'voucherctl templates init shop/templates.yaml'],
  next: (file) => suggested`templates diff -f ${file}`,
})
