import { contract } from '../../../contract/index.js'
import type { Template } from '../../../contract/templates.js'
import type { CreatedToken } from '../../../contract/tokens.js'
import type { IssuedVoucher } from '../../../contract/vouchers.js'
import {
  application,
  applicationToken,
  createTemplate,
  createToken,
  credentialOf,
  issueInput,
  shared,
  voucher,
} from '../../fixtures.js'
import type { Observed, ProbeContext } from '../../probe-context.js'

const { bots, templates, tokens, vouchers } = contract

export const UNKNOWN_REDEMPTION = 'rdm_00000000000000000000000000'
export const UNKNOWN_TEMPLATE = 'tpl_00000000000000000000000000'

export const jsonType = { 'content-type': 'application/json' } as const

export function needsSuccess<Data>(run: ProbeContext, response: Observed<Data>): Observed<Data> {
  const { status, code = '' } = response
  if (status < 200 || status > 299) run.notApplicable(`Needs a success: ${`status ${status} ${code}`.trimEnd()}.`)
  return response
}

/** Response that created the group's draft template. */
export const createdTemplate = (run: ProbeContext): Promise<Observed<Template>> =>
  shared(run, 'calls template', () => createTemplate(run))

/** Idempotency key of the group's first issue. */
export const issueKey = ({ resources }: ProbeContext): string => `conform-${resources.run}-issue`

/** Response to the group's first issue. */
export const issued = (run: ProbeContext): Promise<Observed<IssuedVoucher>> =>
  shared(run, 'calls issue', async () => run.call(vouchers.issue, await issueInput(run), { key: issueKey(run) }))

/** A voucher that no probe of the group redeems. */
export const unredeemed = async (run: ProbeContext): Promise<IssuedVoucher> =>
  run.needs(await issued(run), 'an issued voucher')

/** A redeemed voucher of the group, with the response to its redemption. */
export async function redeemed(run: ProbeContext) {
  const one = await run.resources.once('calls redeemed', () => voucher(run))
  const credential = credentialOf(run, one)
  return { voucher: one, response: await shared(run, 'calls redeem', () => run.call(vouchers.redeem, { credential })) }
}

/** Response that created a token of the run's application. */
export const createdToken = (run: ProbeContext): Promise<Observed<CreatedToken>> =>
  shared(run, 'calls token', async () => createToken(run, (await application(run)).id, { scopes: ['vouchers:verify'] }))

/** Response to an issue by the user's bot into the user's chat. */
export const botIssued = (run: ProbeContext) =>
  shared(run, 'calls bot issue', async () => {
    const { recipient_user_id: _, ...input } = await issueInput(run)
    return run.call(bots.issue, { ...input, chat_id: run.resources.offer.chat })
  })

/** A token with only the scope vouchers:verify, of the application that issues. */
export const verifyToken = (run: ProbeContext) =>
  run.resources.once('calls verify token', async () => {
    const { applicationId } = await unredeemed(run)
    return { credential: (await applicationToken(run, applicationId, ['vouchers:verify'])).token }
  })

/** Tokens of the run's application: one for templates, one without that scope, and a revoked one. */
export const tokensOfRun = (run: ProbeContext) =>
  run.resources.once('calls tokens', async () => {
    const { id: appId } = await application(run)
    const reading = await applicationToken(run, appId, ['vouchers:read', 'vouchers:templates:write'])
    const narrow = await applicationToken(run, appId, ['vouchers:verify'])
    const revoked = await applicationToken(run, appId, ['vouchers:read'])
    run.needs(await run.call(tokens.revoke, { appId, tokenId: revoked.id }), 'a revoked token')
    return { reading: reading.token, narrow: narrow.token, revoked: revoked.token }
  })

/** JSON of a valid verify call for an unredeemed voucher, with changed members. */
export async function verifyJson(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return JSON.stringify({ credential: credentialOf(run, await unredeemed(run)), ...changes })
}

export const verifyWith = (run: ProbeContext, body: string, headers: Readonly<Record<string, string>> = jsonType) =>
  run.send({ method: 'POST', path: vouchers.verify.path, as: 'token', headers, body })

export const anonymousRead = (it: ProbeContext) => it.send({ method: 'GET', path: templates.list.path, headers: {} })

export const listAs = (it: ProbeContext, credential: string) => it.call(templates.list, {}, { as: { credential } })

export const verification = async (run: ProbeContext) =>
  run.call(vouchers.verify, { credential: credentialOf(run, await unredeemed(run)) })
