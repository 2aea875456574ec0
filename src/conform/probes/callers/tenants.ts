// The boundary between two applications (rules/callers.md#tenants): the user's, and one that the run creates.
import { credentialTypes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { activeTemplate, createTemplate, credentialOf, issueInput, made, shared, tryIssue } from '../../fixtures.js'
import { type DefineProbe, probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { botIdOf } from '../vouchers/shared.js'
import { fullToken } from './shared.js'

const probe = probesOf('tenants', {
  kind: 'tenant',
  // A success is a leak; another refusal than 404 is none.
  basis: 'partly_specified',
  needs: ['token', 'jwt'],
})
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

/** Two vouchers of the user's application; the second one is redeemed. */
const owned = (run: ProbeContext) =>
  run.resources.once('tenants: vouchers', async () => {
    const issue = async (input: Readonly<Record<string, unknown>>, key: string) =>
      made(run, await run.call(vouchers.issue, input, { key }), 'an issued voucher')
    const [input, key, redeemKey] = [await issueInput(run), run.resources.name(), run.resources.name()]
    const unused = await issue(input, key)
    const redeemInput = { credential: credentialOf(run, await issue(await issueInput(run), run.resources.name())) }
    const redeemed = await run.call(vouchers.redeem, redeemInput, { key: redeemKey })
    const { id: redemptionId } = made(run, redeemed, 'a redemption')
    const credential = credentialOf(run, unused)
    const state = async () => {
      const { redeemable } = made(run, await run.call(vouchers.verify, { credential }), 'a verification')
      return { redeemable, ...made(run, await run.call(vouchers.redemption, { redemptionId }), 'a redemption') }
    }
    // A verification that changes the voucher is no leak: another rule reports it.
    await state()
    return { unused, input, key, redeemInput, redeemKey, redemptionId, state, before: await state() }
  })

/** Redemption of a voucher of the user's application, for one reversal. */
async function reversible(run: ProbeContext): Promise<string> {
  const voucher = made(run, await run.call(vouchers.issue, await issueInput(run)), 'an issued voucher')
  const redeemed = await run.call(vouchers.redeem, { credential: credentialOf(run, voucher) })
  return made(run, redeemed, 'a redemption').id
}

/** Defines a probe of a call of the other application that must be refused. */
const isHidden = (
  define: DefineProbe,
  name: string,
  what: string,
  call: (run: ProbeContext, as: Caller) => Promise<Observed>,
) =>
  define(1, name, `${what} of another application is 404.`, async (run) =>
    run.refuses(await call(run, await stranger(run)), 404),
  )

/** Defines a probe of a list, with and without a filter, that must lack a draft of another application. */
const isUnlisted = (
  define: DefineProbe,
  name: string,
  who: string,
  owner: 'user' | 'run',
  call: (run: ProbeContext, filter: Readonly<Record<string, unknown>>) => Promise<Observed>,
) =>
  define(1, name, `${who} does not list the templates of another application.`, async (run) => {
    const { id, externalTemplateId: external_template_id } = await draftOf(run, owner)
    for (const filter of [{}, { external_template_id }]) {
      const { text } = await call(run, filter)
      run.holds(!text.includes(`"${id}"`), 'a list without the template of the other application', `a list with ${id}`)
    }
  })

export const tenants = [
  isUnlisted(probe, 'list', 'An application', 'user', async (run, filter) =>
    run.call(templates.list, filter, { as: await stranger(run) }),
  ),
  isUnlisted(botProbe, 'list-by-bot', 'A bot', 'run', (run, filter) =>
    run.call(bots.templates, { botId: botIdOf(run), ...filter }),
  ),
  isHidden(probe, 'submit', 'To submit a template', async (run, as) =>
    run.call(templates.submit, { templateId: (await draftOf(run, 'user')).id }, { as, body: '{}' }),
  ),
  isHidden(botProbe, 'submit-by-bot', 'To submit by a bot a template', async (run) => {
    const { id: templateId } = await draftOf(run, 'run')
    return run.call(bots.submitTemplate, { botId: botIdOf(run), templateId }, { body: '{}' })
  }),
  isHidden(voucherProbe, 'issue', 'To issue from a template', (run, as) => tryIssue(run, {}, { as })),
  isHidden(
    probe.with({ needs: ['jwt', 'bot', 'chat'] }),
    'issue-by-bot',
    'To issue by a bot from a template',
    async (run, as) => {
      const template_id = await run.resources.once('tenants: template', () => activeTemplate(run, {}, { as }))
      const { recipient_user_id: _, ...input } = await issueInput(run, { template_id })
      return run.call(bots.issue, { ...input, chat_id: run.resources.offer.chat })
    },
  ),
  ...credentialTypes.flatMap((type) =>
    (['verify', 'redeem'] as const).map((name) =>
      isHidden(voucherProbe, `${name}-${type}`, `To ${name} the ${type}`, async (run, as) =>
        run.call(vouchers[name], { credential: credentialOf(run, (await owned(run)).unused, type) }, { as }),
      ),
    ),
  ),
  isHidden(voucherProbe, 'redemption', 'To read a redemption', async (run, as) =>
    run.call(vouchers.redemption, { redemptionId: (await owned(run)).redemptionId }, { as }),
  ),
  isHidden(voucherProbe, 'reverse', 'To reverse a redemption', async (run, as) =>
    run.call(vouchers.reverse, { redemptionId: (await owned(run)).redemptionId }, { as, body: '{}' }),
  ),
  isHidden(voucherProbe, 'replay-of-issue', 'The issue under the key', async (run, as) => {
    const { input, key } = await owned(run)
    return run.call(vouchers.issue, input, { as, key })
  }),
  isHidden(voucherProbe, 'replay-of-redeem', 'The redemption under the key', async (run, as) => {
    const { redeemInput, redeemKey: key } = await owned(run)
    return run.call(vouchers.redeem, redeemInput, { as, key })
  }),
  isHidden(voucherProbe, 'replay-of-reverse', 'The reversal under the key', async (run, as) => {
    const [input, key] = [{ redemptionId: await reversible(run) }, run.resources.name()]
    made(run, await run.call(vouchers.reverse, input, { key, body: '{}' }), 'a reversal')
    return run.call(vouchers.reverse, input, { as, key, body: '{}' })
  }),
  voucherProbe(1, 'unchanged', 'The refused calls of another application change no voucher.', async (run) => {
    const as = await stranger(run)
    const { unused, redemptionId, state, before } = await owned(run)
    await run.call(vouchers.redeem, { credential: credentialOf(run, unused) }, { as })
    await run.call(vouchers.reverse, { redemptionId }, { as, body: '{}' })
    run.equals('redeemable, and the redemption', await state(), before)
  }),
]
