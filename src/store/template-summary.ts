import type { TemplateSummary } from '../domain/rows.js'
import { type Op, one } from './operation.js'

/**
 * Template summaries by template id, which a server keeps between calls. They never change, so that no write of any
 * process makes one stale. Without the join, verify reads in two thirds of the time.
 */
export type TemplateSummaries = Map<string, TemplateSummary>

const KEPT_MAX = 10_000

/** The summary of a template that a voucher of the application has. */
export function* templateSummary(
  summaries: TemplateSummaries,
  applicationId: string,
  templateId: string,
): Op<TemplateSummary> {
  const kept = summaries.get(templateId)
  if (kept !== undefined) return kept
  const summary = (yield* one<TemplateSummary>(
    `select external_template_id, name, type, issuer_name, fulfiller_name, fulfillment_category from templates
     where application_id = $1 and id = $2`,
    [applicationId, templateId],
  )) as TemplateSummary
  if (summaries.size >= KEPT_MAX) summaries.clear()
  summaries.set(templateId, summary)
  return summary
}
