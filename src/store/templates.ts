import type { InputOf } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { ListedTemplate, platform, Review } from '../contract/platform/platform.js'
import type { Template, TemplateInput, templates } from '../contract/templates.js'
import type { ApplicationRow } from '../domain/application.js'
import {
  decideReview,
  decideSubmit,
  type ReviewDecision,
  type TemplateRow,
  templateRecord,
} from '../domain/template.js'
import { formatInstant } from '../domain/time.js'
import { equals, listPage, type Page, REVIEWS_MAX } from './list-page.js'
import { all, inserting, interleave, type Op, one, run, updating, type Value } from './operation.js'
import { selecting } from './select.js'

const insert = inserting<TemplateRow>('templates')
const write = updating<TemplateRow, keyof TemplateInput | 'account_id' | 'bot_id' | 'issued_count' | 'created_at'>()(
  'templates',
  ['application_id', 'id'],
  ['status', 'rejection_code', 'rejection_reason', 'submitted_at', 'reviewed_at', 'updated_at'],
)

export type TemplateFilter = InputOf<typeof templates.list>

/** Owner of a template: an application, or a bot that is not linked to an application. */
export type TemplateOwner = { readonly applicationId: string } | { readonly botId: string }

/** SQL condition for the templates of an owner. Its constants match the conditions of the partial indexes. */
function ownerCondition(owner: TemplateOwner): [where: string, id: string] {
  return 'applicationId' in owner
    ? [`application_id <> '' and application_id = $1`, owner.applicationId]
    : [`application_id = '' and bot_id = $1`, owner.botId]
}

function ownerOf(row: TemplateRow): TemplateOwner {
  return row.application_id === '' ? { botId: row.bot_id as string } : { applicationId: row.application_id }
}

export function* list(owner: TemplateOwner, filter: TemplateFilter): Op<Page<Template>> {
  const { status, external_template_id: externalId } = filter
  const [where, id] = ownerCondition(owner)
  const match = equals('status', status)
  if (externalId === undefined) {
    return yield* listPage<TemplateRow, Template>(`templates where ${where}`, [id], filter, templateRecord, { match })
  }
  // Find only ids first, without conditions on age or bot: otherwise SQLite reads all templates of the owner.
  const [first, application] = 'applicationId' in owner ? [where, '$1'] : [`coalesce(bot_id, '') = $1`, `''`]
  const from = `templates where ${first} and application_id = ${application} and id in (
    select t.id from templates t where t.application_id = ${application} and t.external_template_id = $2)`
  const options = { isSmall: true, match }
  return yield* listPage<TemplateRow, Template>(from, [id, externalId], filter, templateRecord, options)
}

/** Lists the templates of all owners. */
export function* listAll(filter: InputOf<typeof platform.templates>): Op<Page<ListedTemplate>> {
  const params: Value[] = []
  const { status, application_id: id, sort } = filter
  const from = `templates where ${id === undefined ? 'true' : `application_id = $${params.push(id)}`}`
  const { items, pagination } = yield* listPage<TemplateRow, Template>(from, params, filter, templateRecord, {
    sort,
    match: equals('status', status),
  })
  return { items: yield* listed(items), pagination }
}

export function* show(templateId: string): Op<ListedTemplate | Refusal<'TEMPLATE_NOT_FOUND'>> {
  const row = yield* one<TemplateRow>('select * from templates where id = $1', [templateId])
  return row === undefined
    ? refuse('TEMPLATE_NOT_FOUND')
    : ((yield* listed([templateRecord(row)]))[0] as ListedTemplate)
}

/** Adds the names of their applications to templates. */
function* listed(items: readonly Template[]): Op<ListedTemplate[]> {
  const ids = [...new Set(items.map((it) => it.applicationId))]
  const rows = yield* interleave(
    ...ids.map((id) => one<Pick<ApplicationRow, 'name'>>('select name from applications where id = $1', [id])),
  )
  const names = new Map(ids.map((id, at) => [id, rows[at]?.name]))
  return items.map((it) => ({ ...it, applicationName: names.get(it.applicationId) ?? null }))
}

/** Finds the template that uses an external id: an owner has at most one such template that is not rejected. */
function* holderOf(row: TemplateRow): Op<{ id: string } | undefined> {
  const [where, id] = ownerCondition(ownerOf(row))
  return yield* one<{ id: string }>(
    `select id from templates where ${where} and external_template_id = $2 and status <> 'rejected'`,
    [id, row.external_template_id],
  )
}

export function* create(row: TemplateRow): Op<Template | Refusal<'EXTERNAL_TEMPLATE_ID_EXISTS'>> {
  const holder = yield* holderOf(row)
  if (holder !== undefined) return refuse('EXTERNAL_TEMPLATE_ID_EXISTS', { template_id: holder.id })
  yield* insert(row)
  return templateRecord(row)
}

function* saveState(row: TemplateRow): Op<Template> {
  yield* write(row)
  return templateRecord(row)
}

/** Submits a template for review. @param autoApprove also approves the template; the response still says reviewing */
export function* submit(
  owner: TemplateOwner,
  templateId: string,
  now: number,
  autoApprove: boolean,
): Op<Template | Refusal<'TEMPLATE_NOT_FOUND' | 'TEMPLATE_STATE_CONFLICT' | 'EXTERNAL_TEMPLATE_ID_EXISTS'>> {
  const [where, id] = ownerCondition(owner)
  const row = yield* one<TemplateRow>(`select * from templates where ${where} and id = $2`, [id, templateId], 'row')
  if (row === undefined) return refuse('TEMPLATE_NOT_FOUND')
  const holder = row.status === 'rejected' ? yield* holderOf(row) : undefined
  const submitted = decideSubmit(row, holder, now)
  if ('ok' in submitted) return submitted
  const record = yield* saveState(submitted)
  if (autoApprove) {
    const approved = decideReview(submitted, { approve: true }, now)
    if (!('ok' in approved)) yield* saveState(approved)
  }
  return record
}

export function* review(
  templateId: string,
  decision: ReviewDecision,
  now: number,
): Op<Template | Refusal<'TEMPLATE_NOT_FOUND' | 'TEMPLATE_STATE_CONFLICT'>> {
  const row = yield* one<TemplateRow>('select * from templates where id = $1', [templateId], 'row')
  if (row === undefined) return refuse('TEMPLATE_NOT_FOUND')
  const decided = decideReview(row, decision, now)
  return 'ok' in decided ? decided : yield* saveState(decided)
}

/** Moves the templates of a bot to an application, except those whose external id the application already uses. */
export function* moveToApplication(botId: string, applicationId: string, now: number): Op<void> {
  yield* run(
    `update templates set application_id = $2, updated_at = $3
     where application_id = '' and bot_id = $1 and (status = 'rejected' or not exists (
       select 1 from templates held
       where held.application_id <> '' and held.application_id = $2 and held.status <> 'rejected'
         and held.external_template_id = templates.external_template_id))`,
    [botId, applicationId, now],
  )
}

type WaitingRow = Pick<TemplateRow, 'id' | 'application_id' | 'account_id' | 'name' | 'submitted_at'>

/** Returns the templates that wait for review, oldest first. */
export function* pendingReviews(): Op<Review[]> {
  const rows = yield* all(
    selecting<WaitingRow>()(`select id, application_id, account_id, name, submitted_at from templates
     where status = 'reviewing' order by submitted_at, id limit ${REVIEWS_MAX}`),
  )
  return rows.map((row) => ({
    kind: 'template',
    id: row.id,
    application_id: row.application_id === '' ? null : row.application_id,
    account_id: row.account_id,
    name: row.name,
    submitted_at: formatInstant(row.submitted_at as number),
  }))
}
