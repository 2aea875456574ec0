import type { ValidationIssue } from '../../contract/envelope.js'
import type { TemplateInput, Validity } from '../../contract/templates.js'
import type { TemplateRow } from '../../domain/rows.js'
import { readValidity } from '../../domain/validity.js'
import * as templates from '../../store/templates.js'
import { type Checks, type MakeHandlers, answer, invalid } from '../handler.js'

export const templateChecks: Checks = {
  'templates.create': (body: TemplateInput): ValidationIssue[] => {
    const validity = readValidity(body.validity)
    return validity.ok ? [] : [validity.issue]
  },
}

export const templateHandlers: MakeHandlers<'templates'> = ({ store, clock, newId, autoApprove }) => ({
  list: async (input, { caller: { applicationId } }) =>
    answer(await store.read(() => templates.list({ applicationId }, input))),

  create: async (input, { caller }) => {
    const validity = readValidity(input.validity)
    if (!validity.ok) return invalid(validity.issue)
    const row = draftRow(input, validity.validity, newId('tpl'), clock.now())
    return answer(
      await store.write(() =>
        templates.create({ ...row, application_id: caller.applicationId, account_id: caller.accountId }),
      ),
    )
  },

  submit: async ({ templateId }, { caller: { applicationId } }) =>
    answer(await store.write(() => templates.submit({ applicationId }, templateId, clock.now(), autoApprove))),
})

function draftRow(
  input: TemplateInput,
  validity: Validity,
  id: string,
  now: number,
): Omit<TemplateRow, 'application_id' | 'account_id'> {
  return {
    id,
    bot_id: null,
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
