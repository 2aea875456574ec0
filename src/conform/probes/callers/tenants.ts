// The boundary between two applications (RULES.md#tenants): that of the user's token, and that of the run.
import { credentialTypes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { activeTemplate, createTemplate, credentialOf, issueInput, shared, tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { fullToken } from './shared.js'

const names = ['list', 'list-by-bot', 'submit', 'submit-by-bot', 'issue', 'issue-by-bot', 'redemption', 'reverse']
const probe = probesOf('tenants', {
  needs: ['token', 'jwt'],
  specified: [
    ...names,
    ...credentialTypes.flatMap((type) => [`verify-${type}`, `redeem-${type}`]),
    'replay-of-issue',
    'replay-of-redeem',
    'vouchers-unchanged',
    'templates-unchanged',
  ],
})
const voucherProbe = probe.with({ needs: ['token', 'jwt', 'template'] })
const botProbe = probe.with({ needs: ['jwt', 'bot id'] })
const { bots, templates, vouchers } = contract

/** Returns `data` of a success. Ignores the other members: a record of another form must not hide a leak. */
const made = <Data>(run: ProbeContext, response: Observed<Data>, what: string): Data =>
  response.isSuccess ? response.data : run.needs(response, what)

/** The other application, whose token has every scope and works. */
const stranger = (run: ProbeContext): Promise<Caller> =>
  run.resources.once('tenants: stranger', async () => {
    const as = { credential: (await fullToken(run)).token }
    made(run, await run.call(templates.list, {}, { as }), 'an application that may call')
    return as
  })

/** A draft of the application of the user's token, or of the other one. */
const draftOf = async (run: ProbeContext, owner: 'user' | 'run') => {
  const options = owner === 'user' ? {} : { as: await stranger(run) }
  const response = await shared(run, `tenants: draft of ${owner}`, () => createTemplate(run, {}, options))
  return made(run, response, 'a template')
}

async function newVoucher(run: ProbeContext) {
  const input = await issueInput(run)
  const key = run.resources.name()
  return { input, key, issued: made(run, await run.call(vouchers.issue, input, { key }), 'an issued voucher') }
}

/** A voucher of the user's application that its owner does not redeem. */
const unused = (run: ProbeContext) => run.resources.once('tenants: voucher', () => newVoucher(run))

/** A voucher of the user's application that its owner has redeemed. */
const used = (run: ProbeContext) =>
  run.resources.once('tenants: redeemed voucher', async () => {
    const input = { credential: credentialOf(run, (await newVoucher(run)).issued) }
    const key = run.resources.name()
    const { id: redemptionId } = made(run, await run.call(vouchers.redeem, input, { key }), 'a redemption')
    return { input, key, redemptionId }
  })

/** Requires a refusal of a call that names an object of another application. */
const isHidden = (run: ProbeContext, response: Observed) => run.refuses(response, 404)

/** Requires a list without a template; the list may be refused. */
function lacks(run: ProbeContext, { text }: Observed, id: string): void {
  run.holds(!text.includes(`"${id}"`), 'a list without the template of the other application', `a list with ${id}`)
}

export const tenants = [
  probe('list', 'An application does not list the templates of another one.', async (run) => {
    const { id, externalTemplateId: external_template_id } = await draftOf(run, 'user')
    const as = await stranger(run)
    lacks(run, await run.call(templates.list, {}, { as }), id)
    lacks(run, await run.call(templates.list, { external_template_id }, { as }), id)
  }),
  probe('submit', 'An application that submits a template of another one gets 404.', async (run) => {
    const { id: templateId } = await draftOf(run, 'user')
    isHidden(run, await run.call(templates.submit, { templateId }, { as: await stranger(run), body: '{}' }))
  }),
  voucherProbe('issue', 'An application that issues from a template of another one gets 404.', async (run) => {
    isHidden(run, await tryIssue(run, {}, { as: await stranger(run) }))
  }),
  ...credentialTypes.flatMap((type) =>
    (['verify', 'redeem'] as const).map((name) =>
      voucherProbe(`${name}-${type}`, `To ${name} the ${type} of another application is 404.`, async (run) => {
        const as = await stranger(run)
        const credential = credentialOf(run, (await unused(run)).issued, type)
        isHidden(run, await run.call(vouchers[name], { credential }, { as }))
      }),
    ),
  ),
  voucherProbe('redemption', 'To read a redemption of another application is 404.', async (run) => {
    const { redemptionId } = await used(run)
    isHidden(run, await run.call(vouchers.redemption, { redemptionId }, { as: await stranger(run) }))
  }),
  voucherProbe('reverse', 'To reverse a redemption of another application is 404.', async (run) => {
    const { redemptionId } = await used(run)
    isHidden(run, await run.call(vouchers.reverse, { redemptionId }, { as: await stranger(run), body: '{}' }))
  }),
  voucherProbe('replay-of-issue', 'The key of an issue replays nothing to another application.', async (run) => {
    const { input, key } = await unused(run)
    isHidden(run, await run.call(vouchers.issue, input, { as: await stranger(run), key }))
  }),
  voucherProbe('replay-of-redeem', 'The key of a redemption replays nothing to another application.', async (run) => {
    const { input, key } = await used(run)
    isHidden(run, await run.call(vouchers.redeem, input, { as: await stranger(run), key }))
  }),
  voucherProbe('vouchers-unchanged', 'The calls of another application change no voucher.', async (run) => {
    const as = await stranger(run)
    const { issued } = await newVoucher(run)
    const { redemptionId } = await used(run)
    const credential = credentialOf(run, issued)
    const state = async () => {
      const { redeemable, reason } = made(run, await run.call(vouchers.verify, { credential }), 'a verification')
      const { status } = made(run, await run.call(vouchers.redemption, { redemptionId }), 'a redemption')
      return { redeemable, reason, status }
    }
    const before = await state()
    await run.call(vouchers.verify, { credential }, { as })
    await run.call(vouchers.redeem, { credential }, { as })
    await run.call(vouchers.reverse, { redemptionId }, { as, body: '{}' })
    run.equals('state of the vouchers', await state(), before)
  }),
  probe('templates-unchanged', 'The calls of another application change no template.', async (run) => {
    const as = await stranger(run)
    const { id: templateId } = made(run, await createTemplate(run), 'a template')
    await run.call(templates.submit, { templateId }, { as, body: '{}' })
    const { status } = await run.call(templates.submit, { templateId }, { body: '{}' })
    run.holds(status <= 299, 'a draft that its owner can submit', `status ${status}`)
  }),
  probe('external-id', 'Two applications can use one external_template_id.', async (run) => {
    const { externalTemplateId: external_template_id } = await draftOf(run, 'user')
    run.succeeds(await createTemplate(run, { external_template_id }, { as: await stranger(run) }))
  }),
  botProbe('list-by-bot', 'A bot does not list the templates of another application.', async (run) => {
    const { id, externalTemplateId: external_template_id } = await draftOf(run, 'run')
    const botId = run.resources.offer.botId ?? run.resources.lacking('bot id')
    lacks(run, await run.call(bots.templates, { botId }), id)
    lacks(run, await run.call(bots.templates, { botId, external_template_id }), id)
  }),
  botProbe('submit-by-bot', 'A bot that submits a template of another application gets 404.', async (run) => {
    const { id: templateId } = await draftOf(run, 'run')
    const botId = run.resources.offer.botId ?? run.resources.lacking('bot id')
    isHidden(run, await run.call(bots.submitTemplate, { botId, templateId }, { body: '{}' }))
  }),
  probe.with({ needs: ['jwt', 'bot', 'chat'] })(
    'issue-by-bot',
    'A bot that issues from a template of another application gets 404.',
    async (run) => {
      const as = await stranger(run)
      const template_id = await run.resources.once('tenants: template', () => activeTemplate(run, {}, { as }))
      const { recipient_user_id: _, ...input } = await issueInput(run, { template_id })
      isHidden(run, await run.call(bots.issue, { ...input, chat_id: run.resources.offer.chat }))
    },
  ),
]
