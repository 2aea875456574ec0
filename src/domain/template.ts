import { type Refusal, refuse } from '../contract/errors.js'
import type { Template, TemplateInput, Validity } from '../contract/templates.js'
import { formatInstant, instantOrNull } from './time.js'

export interface TemplateRow {
  /** Empty for a template without an application. */
  application_id: string
  id: string
  account_id: string
  bot_id: string | null
  external_template_id: string
  name: string
  type: string
  issuer_name: string
  fulfiller_name: string
  fulfillment_category: string
  acquisition_source: string
  validity: string
  issue_limit: number
  issued_count: number
  status: 'draft' | 'reviewing' | 'active' | 'rejected'
  rejection_code: string | null
  rejection_reason: string | null
  submitted_at: number | null
  reviewed_at: number | null
  description: string | null
  metadata: string
  created_at: number
  updated_at: number
}

/** Template fields shown in a voucher. They never change. */
export type TemplateSummary = Pick<
  TemplateRow,
  'external_template_id' | 'name' | 'type' | 'issuer_name' | 'fulfiller_name' | 'fulfillment_category'
>

export function templateRecord(row: TemplateRow): Template {
  return {
    id: row.id,
    externalTemplateId: row.external_template_id,
    name: row.name,
    type: row.type,
    issuerName: row.issuer_name,
    fulfillerName: row.fulfiller_name,
    fulfillmentCategory: row.fulfillment_category as Template['fulfillmentCategory'],
    acquisitionSource: row.acquisition_source,
    validity: JSON.parse(row.validity),
    issueLimit: row.issue_limit,
    issuedCount: row.issued_count,
    status: row.status,
    rejectionCode: row.rejection_code,
    rejectionReason: row.rejection_reason,
    submittedAt: instantOrNull(row.submitted_at),
    reviewedAt: instantOrNull(row.reviewed_at),
    applicationId: row.application_id === '' ? null : row.application_id,
    botId: row.bot_id,
    description: row.description,
    metadata: JSON.parse(row.metadata),
    createdAt: formatInstant(row.created_at),
    updatedAt: formatInstant(row.updated_at),
  }
}

/** A new template before its owner is set. */
export type TemplateDraft = Omit<TemplateRow, 'application_id' | 'account_id' | 'bot_id'>

/** Creates a draft. @param validity validity of the input, converted to the form of records */
export function draftTemplate(input: TemplateInput, validity: Validity, id: string, now: number): TemplateDraft {
  return {
    id,
    external_template_id: input.external_template_id,
    name: input.name,
    type: input.type,
    issuer_name: input.issuer_name,
    fulfiller_name: input.fulfiller_name,
    fulfillment_category: input.fulfillment_category,
    acquisition_source: input.acquisition_source,
    validity: JSON.stringify(validity),
    issue_limit: input.issue_limit,
    issued_count: 0,
    status: 'draft',
    rejection_code: null,
    rejection_reason: null,
    submitted_at: null,
    reviewed_at: null,
    description: input.description ?? null,
    metadata: JSON.stringify(input.metadata ?? {}),
    created_at: now,
    updated_at: now,
  }
}

/**
 * Submits a template: draft or rejected -> reviewing (rules/vouchers.md#template-states).
 * @param holder another template with the same external_template_id that is not rejected
 */
export function decideSubmit(
  row: TemplateRow,
  holder: { id: string } | undefined,
  now: number,
): TemplateRow | Refusal<'TEMPLATE_STATE_CONFLICT' | 'EXTERNAL_TEMPLATE_ID_EXISTS'> {
  if (row.status !== 'draft' && row.status !== 'rejected')
    return refuse('TEMPLATE_STATE_CONFLICT', { status: row.status })
  if (holder !== undefined) return refuse('EXTERNAL_TEMPLATE_ID_EXISTS', { template_id: holder.id })
  return {
    ...row,
    status: 'reviewing',
    rejection_code: null,
    rejection_reason: null,
    submitted_at: now,
    reviewed_at: null,
    updated_at: now,
  }
}

export type ReviewDecision = { approve: true } | { approve: false; code: string; reason: string }

/** Reviews a template: reviewing -> active or rejected. */
export function decideReview(
  row: TemplateRow,
  decision: ReviewDecision,
  now: number,
): TemplateRow | Refusal<'TEMPLATE_STATE_CONFLICT'> {
  if (row.status !== 'reviewing') return refuse('TEMPLATE_STATE_CONFLICT', { status: row.status })
  return {
    ...row,
    status: decision.approve ? 'active' : 'rejected',
    rejection_code: decision.approve ? null : decision.code,
    rejection_reason: decision.approve ? null : decision.reason,
    reviewed_at: now,
    updated_at: now,
  }
}
