import { contract } from '../../../contract/index.js'
import { listed, templateInput, tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { botIdOf, create, createByBot, draftCall, keep, keptDraft, submit, submitByBot } from './shared.js'

const probe = probesOf('template-states', { kind: 'money', needs: ['token'] })
const issuing = probe.with({ vouchers: 1 })
const { templates } = contract
const botProbe = probe.with({ needs: ['jwt', 'bot id'] })
const POLL_MS = 250

const submission = (run: ProbeContext) =>
  keep(run, 'submission', async () => {
    const template = run.needs(await create(run, templateInput(run)), 'a template')
    return { template, response: await submit(run, template.id) }
  })

const draftByBot = (it: ProbeContext) => keep(it, 'draft by a bot', () => createByBot(it, templateInput(it)))

const submissionByBot = (run: ProbeContext) =>
  keep(run, 'submission by a bot', async () => {
    const { id } = run.needs(await draftByBot(run), 'a template')
    return { id, response: await submitByBot(run, botIdOf(run), id) }
  })

export const templateStates = [
  probe.specified(1, 'draft', 'A created template is a draft.', async (run) => {
    run.equals('status', run.needs((await draftCall(run)).response, 'a template').status, 'draft')
  }),
  botProbe.specified(1, 'draft-by-bot', 'A template that a bot creates is a draft.', async (run) => {
    run.equals('status', run.needs(await draftByBot(run), 'a template').status, 'draft')
  }),
  issuing.partly(2, 'issue-of-a-draft', 'An issue from a draft is 409 TEMPLATE_NOT_ACTIVE.', async (run) => {
    const { id } = await keptDraft(run)
    run.refuses(await tryIssue(run, { template_id: id }), 409, 'TEMPLATE_NOT_ACTIVE')
  }),
  probe.specified(1, 'submit', 'A submitted template is reviewing.', async (run) => {
    run.equals('status', run.succeeds((await submission(run)).response).status, 'reviewing')
  }),
  botProbe.specified(1, 'submit-by-bot', 'A template that a bot submits is reviewing.', async (run) => {
    run.equals('status', run.succeeds((await submissionByBot(run)).response).status, 'reviewing')
  }),
  probe.specified(1, 'approval', 'A template whose review ends is active or rejected.', async (run) => {
    const { template, response } = await submission(run)
    run.needs(response, 'a submitted template')
    for (let leftMs = run.resources.offer.maxWaitMs; ; leftMs -= POLL_MS) {
      const found = (await listed(run, template)) ?? run.notApplicable('Needs a template in the list.')
      if (found.status !== 'reviewing') {
        const isDecided = found.status === 'active' || found.status === 'rejected'
        return run.holds(isDecided, 'status active or rejected', `status ${found.status}`)
      }
      if (leftMs <= 0) run.notApplicable('Needs a platform that reviews a template within --max-wait.')
      await run.resources.pause(Math.min(POLL_MS, leftMs))
    }
  }),
  probe.partly(
    2,
    'submit-again',
    'To submit a template again that is reviewing or active is 409 TEMPLATE_STATE_CONFLICT.',
    async (run) => {
      const { template, response } = await submission(run)
      run.needs(response, 'a submitted template')
      run.refuses(await submit(run, template.id), 409, 'TEMPLATE_STATE_CONFLICT')
    },
  ),
  botProbe.partly(
    1,
    'submit-again-by-bot',
    'A bot that submits a template again, reviewing or active, gets 409 TEMPLATE_STATE_CONFLICT.',
    async (run) => {
      const { id, response } = await submissionByBot(run)
      run.needs(response, 'a submitted template')
      run.refuses(await submitByBot(run, botIdOf(run), id), 409, 'TEMPLATE_STATE_CONFLICT')
    },
  ),
  probe.with({ reads: true })(2, 'rejection', 'A rejected template has a code and a reason.', async (run) => {
    const { items } = run.needs(await run.call(templates.list, { status: 'rejected' }), 'a list of templates')
    const rejected = items.find(({ status }) => status === 'rejected')
    const { rejectionCode, rejectionReason } = rejected ?? run.notApplicable('Needs a rejected template.')
    const isText = (value: unknown) => typeof value === 'string' && value !== ''
    const texts = { rejectionCode, rejectionReason }
    run.holds(isText(rejectionCode) && isText(rejectionReason), 'texts as rejectionCode and rejectionReason', texts)
  }),
]
