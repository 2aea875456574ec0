import type { ValidationIssue } from '../../contract/envelope.js'
import type { Refusal } from '../../contract/errors.js'
import type { TemplateInput } from '../../contract/templates.js'
import { draftTemplate, type TemplateDraft } from '../../domain/template.js'
import { readValidity } from '../../domain/validity.js'
import * as templates from '../../store/templates.js'
import { invalid, type MakeHandlers } from '../handler.js'

export function validityIssues(body: TemplateInput): ValidationIssue[] {
  const validity = readValidity(body.validity)
  return validity.ok ? [] : [validity.issue]
}

export function draftOf(input: TemplateInput, id: string, now: number): TemplateDraft | Refusal<'VALIDATION_FAILED'> {
  const validity = readValidity(input.validity)
  return validity.ok ? draftTemplate(input, validity.validity, id, now) : invalid(validity.issue)
}

export const templateHandlers: MakeHandlers<'templates'> = ({ clock, newId, autoApprove }, { read, write }) => ({
  list: (input, { caller: { applicationId } }) => read(() => templates.list({ applicationId }, input)),

  create: {
    check: validityIssues,
    handle: async (input, { caller }) => {
      const draft = draftOf(input, newId('tpl'), clock.now())
      if ('ok' in draft) return draft
      const row = { application_id: caller.applicationId, account_id: caller.accountId, bot_id: null, ...draft }
      return write(() => templates.create(row))
    },
  },

  submit: ({ templateId }, { caller: { applicationId } }) =>
    write(() => templates.submit({ applicationId }, templateId, clock.now(), autoApprove)),
})
