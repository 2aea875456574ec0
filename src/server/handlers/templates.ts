import type { ValidationIssue } from '../../contract/envelope.js'
import type { Refusal } from '../../contract/errors.js'
import type { TemplateInput } from '../../contract/templates.js'
import { draftTemplate, type TemplateDraft } from '../../domain/template.js'
import { readValidity } from '../../domain/validity.js'
import * as templates from '../../store/templates.js'
import { invalid, type MakeHandlers, replyOf } from '../handler.js'

export function validityIssues(body: TemplateInput): ValidationIssue[] {
  const validity = readValidity(body.validity)
  return validity.ok ? [] : [validity.issue]
}

/** The draft that an input asks for. */
export function draftOf(input: TemplateInput, id: string, now: number): TemplateDraft | Refusal<'VALIDATION_FAILED'> {
  const validity = readValidity(input.validity)
  return validity.ok ? draftTemplate(input, validity.validity, id, now) : invalid(validity.issue)
}

export const templateHandlers: MakeHandlers<'templates'> = ({ store, clock, newId, autoApprove }) => ({
  list: async (input, { caller: { applicationId } }) =>
    replyOf(await store.read(() => templates.list({ applicationId }, input))),

  create: {
    check: validityIssues,
    handle: async (input, { caller }) => {
      const draft = draftOf(input, newId('tpl'), clock.now())
      if ('ok' in draft) return draft
      const row = { ...draft, application_id: caller.applicationId, account_id: caller.accountId, bot_id: null }
      return replyOf(await store.write(() => templates.create(row)))
    },
  },

  submit: async ({ templateId }, { caller: { applicationId } }) =>
    replyOf(await store.write(() => templates.submit({ applicationId }, templateId, clock.now(), autoApprove))),
})
