// The boundary between two applications (RULES.md#tenants): that of the user's token, and that of the run.
import { credentialTypes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { activeTemplate, createTemplate, credentialOf, issueInput, made, shared, tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { botIdOf } from '../vouchers/shared.js'
import { fullToken } from './shared.js'

const ofVouchers = credentialTypes.flatMap((type) => [`verify-${type}`, `redeem-${type}`])
const ofKeys = ['replay-of-issue', 'replay-of-redeem', 'unchanged']
const ofCalls = ['list', 'list-by-bot', 'submit', 'submit-by-bot', 'issue', 'issue-by-bot', 'redemption', 'reverse']
const probe = probesOf('tenants', { needs: ['token', 'jwt'], specified: [...ofVouchers, ...ofKeys, ...ofCalls] })
const voucherProbe = probe.with({ needs: ['token', 'jwt', 'template'] })
const botProbe = probe.with({ needs: ['jwt', 'bot id'] })
const { bots, templates, vouchers } = contract

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
    run.refuses(await run.call(templates.submit, { templateId }, { as: await stranger(run), body: '{}' }), 404)
  }),
  voucherProbe('issue', 'An application that issues from a template of another one gets 404.', async (run) => {
    run.refuses(await tryIssue(run, {}, { as: await stranger(run) }), 404)
  }),
  ...credentialTypes.flatMap((type) =>
    (['verify', 'redeem'] as const).map((name) =>
      voucherProbe(`${name}-${type}`, `To ${name} the ${type} of another application is 404.`, async (run) => {
        const as = await stranger(run)
        const credential = credentialOf(run, (await unused(run)).issued, type)
        run.refuses(await run.call(vouchers[name], { credential }, { as }), 404)
      }),
    ),
  ),
  voucherProbe('redemption', 'To read a redemption of another application is 404.', async (run) => {
    const { redemptionId } = await used(run)
    run.refuses(await run.call(vouchers.redemption, { redemptionId }, { as: await stranger(run) }), 404)
  }),
  voucherProbe('reverse', 'To reverse a redemption of another application is 404.', async (run) => {
    const { redemptionId } = await used(run)
    run.refuses(await run.call(vouchers.reverse, { redemptionId }, { as: await stranger(run), body: '{}' }), 404)
  }),
  voucherProbe('replay-of-issue', 'The key of an issue replays nothing to another application.', async (run) => {
    const { input, key } = await unused(run)
    run.refuses(await run.call(vouchers.issue, input, { as: await stranger(run), key }), 404)
  }),
  voucherProbe('replay-of-redeem', 'The key of a redemption replays nothing to another application.', async (run) => {
    const { input, key } = await used(run)
    run.refuses(await run.call(vouchers.redeem, input, { as: await stranger(run), key }), 404)
  }),
  voucherProbe('unchanged', 'The calls of another application change no voucher.', async (run) => {
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
  botProbe('list-by-bot', 'A bot does not list the templates of another application.', async (run) => {
    const { id, externalTemplateId: external_template_id } = await draftOf(run, 'run')
    lacks(run, await run.call(bots.templates, { botId: botIdOf(run) }), id)
    lacks(run, await run.call(bots.templates, { botId: botIdOf(run), external_template_id }), id)
  }),
  botProbe('submit-by-bot', 'A bot that submits a template of another application gets 404.', async (run) => {
    const { id: templateId } = await draftOf(run, 'run')
    run.refuses(await run.call(bots.submitTemplate, { botId: botIdOf(run), templateId }, { body: '{}' }), 404)
  }),
  probe.with({ needs: ['jwt', 'bot', 'chat'] })(
    'issue-by-bot',
    'A bot that issues from a template of another application gets 404.',
    async (run) => {
      const as = await stranger(run)
      const template_id = await run.resources.once('tenants: template', () => activeTemplate(run, {}, { as }))
      const { recipient_user_id: _, ...input } = await issueInput(run, { template_id })
      run.refuses(await run.call(bots.issue, { ...input, chat_id: run.resources.offer.chat }), 404)
    },
  ),
]
