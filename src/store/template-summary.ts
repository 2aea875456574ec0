import type { TemplateSummary } from '../domain/template.js'
import { type Op, one } from './operation.js'
import { selecting } from './select.js'

/**
 * Cache of template summaries by template id. Summaries never change, so the cache is never stale, even with several
 * processes. Verifying a voucher then needs no join, which would take a third of its read time.
 */
export type TemplateSummaries = Map<string, TemplateSummary>

const KEPT_MAX = 10_000

const SUMMARY = selecting<TemplateSummary>()(
  `select external_template_id, name, type, issuer_name, fulfiller_name, fulfillment_category from templates
   where application_id = $1 and id = $2`,
)

/** Template fields shown in a voucher. */
export function* templateSummary(
  summaries: TemplateSummaries,
  applicationId: string,
  templateId: string,
): Op<TemplateSummary> {
  const cached = summaries.get(templateId)
  if (cached !== undefined) return cached
  const summary = (yield* one(SUMMARY, [applicationId, templateId])) as TemplateSummary
  if (summaries.size >= KEPT_MAX) summaries.clear()
  summaries.set(templateId, summary)
  return summary
}
