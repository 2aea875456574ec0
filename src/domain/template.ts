import { type Refusal, refuse } from '../contract/errors.js'
import type { Template } from '../contract/templates.js'
import type { TemplateRow } from './rows.js'
import { formatInstant } from './time.js'

const instantOrNull = (ms: number | null): string | null => (ms === null ? null : formatInstant(ms))

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

/**
 * draft or rejected -> reviewing (interface.md, States; decisions.md 3).
 * @param holder another template that is not rejected and has the same external_template_id
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

/** reviewing -> active or rejected. */
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
