import { contract } from '../../../contract/index.js'
import { templateInput, tryIssue } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { botIdOf, create, createByBot, draftCall, keep, keptDraft, submit, submitByBot } from './shared.js'

const probe = probesOf('template-states', {
  needs: ['token'],
  specified: ['draft', 'draft-by-bot', 'submit', 'submit-by-bot', 'approval'],
  partly: ['issue-of-a-draft', 'submit-again', 'submit-again-by-bot'],
})
const { templates } = contract
const byBot: readonly Need[] = ['jwt', 'bot id']
const POLL_MS = 250

/** A draft that is submitted, and the response. */
const submission = (it: ProbeContext) =>
  keep(it, 'submission', async () => {
    const template = it.needs(await create(it, templateInput(it)), 'a template')
    return { template, response: await submit(it, template.id) }
  })

const draftByBot = (it: ProbeContext) => keep(it, 'draft by a bot', () => createByBot(it, templateInput(it)))

const submissionByBot = (it: ProbeContext) =>
  keep(it, 'submission by a bot', async () => {
    const { id } = it.needs(await draftByBot(it), 'a template')
    return { id, response: await submitByBot(it, botIdOf(it), id) }
  })

export const templateStates = [
  probe('draft', 'A created template is a draft.', async (it) => {
    it.equals('status', it.needs((await draftCall(it)).response, 'a template').status, 'draft')
  }),
  probe('draft-by-bot', 'A template that a bot creates is a draft.', { needs: byBot }, async (it) => {
    it.equals('status', it.needs(await draftByBot(it), 'a template').status, 'draft')
  }),
  probe(
    'issue-of-a-draft',
    'An issue from a draft is refused with 409 TEMPLATE_NOT_ACTIVE.',
    { vouchers: 1 },
    async (it) => {
      const { id } = await keptDraft(it)
      it.refuses(await tryIssue(it, { template_id: id }), 409, 'TEMPLATE_NOT_ACTIVE')
    },
  ),
  probe('submit', 'A submitted template is reviewing.', async (it) => {
    it.equals('status', it.succeeds((await submission(it)).response).status, 'reviewing')
  }),
  probe('submit-by-bot', 'A template that a bot submits is reviewing.', { needs: byBot }, async (it) => {
    it.equals('status', it.succeeds((await submissionByBot(it)).response).status, 'reviewing')
  }),
  probe('approval', 'A template whose review ends is active or rejected.', async (it) => {
    const { template, response } = await submission(it)
    it.needs(response, 'a submitted template')
    const filter = { external_template_id: template.externalTemplateId }
    for (let leftMs = it.resources.offer.maxWaitMs; ; leftMs -= POLL_MS) {
      const { items } = it.needs(await it.call(templates.list, filter), 'a list of templates')
      const found = items.find(({ id }) => id === template.id) ?? it.notApplicable('Needs a template in the list.')
      if (found.status !== 'reviewing') {
        const isDecided = found.status === 'active' || found.status === 'rejected'
        return it.holds(isDecided, 'status active or rejected', `status ${found.status}`)
      }
      if (leftMs <= 0) it.notApplicable('Needs a platform that reviews a template within --max-wait.')
      await it.resources.pause(Math.min(POLL_MS, leftMs))
    }
  }),
  probe(
    'submit-again',
    'To submit a template again that is reviewing or active is 409 TEMPLATE_STATE_CONFLICT.',
    async (it) => {
      const { template, response } = await submission(it)
      it.needs(response, 'a submitted template')
      it.refuses(await submit(it, template.id), 409, 'TEMPLATE_STATE_CONFLICT')
    },
  ),
  probe(
    'submit-again-by-bot',
    'A bot that submits a template again, reviewing or active, gets 409 TEMPLATE_STATE_CONFLICT.',
    { needs: byBot },
    async (it) => {
      const { id, response } = await submissionByBot(it)
      it.needs(response, 'a submitted template')
      it.refuses(await submitByBot(it, botIdOf(it), id), 409, 'TEMPLATE_STATE_CONFLICT')
    },
  ),
  probe('rejection', 'A rejected template has a code and a reason.', { reads: true }, async (it) => {
    const { items } = it.needs(await it.call(templates.list, { status: 'rejected' }), 'a list of templates')
    const rejected = items.find(({ status }) => status === 'rejected')
    const { rejectionCode, rejectionReason } = rejected ?? it.notApplicable('Needs a rejected template.')
    const isText = (value: unknown) => typeof value === 'string' && value !== ''
    const texts = { rejectionCode, rejectionReason }
    it.holds(isText(rejectionCode) && isText(rejectionReason), 'texts as rejectionCode and rejectionReason', texts)
  }),
]
