import type { Application } from '../contract/apps.js'
import type { Scope } from '../contract/endpoint.js'
import { contract } from '../contract/index.js'
import { templateBody } from '../contract/openapi/template-body.js'
import type { Template, TemplateInput } from '../contract/templates.js'
import type { CreatedToken } from '../contract/tokens.js'
import type { IssuedVoucher } from '../contract/vouchers.js'
import type { CallOptions, Observed, ProbeContext } from './probe-context.js'

const { apps, templates, tokens, vouchers } = contract
const POLL_MS = 500

/** Members of a valid create call for a template. */
export function templateInput({ resources }: ProbeContext, changes: Partial<TemplateInput> = {}): TemplateInput {
  return {
    ...templateBody,
    external_template_id: resources.name(),
    name: `conform-${resources.run}`,
    issuer_name: 'conform',
    fulfiller_name: 'conform',
    validity: { type: 'relative', duration_days: 1 },
    ...changes,
  }
}

/** Why an object is left over after the call that removes it; undefined if it is gone. */
export const leftAfter = ({ isSuccess, status }: Observed, what: string): string | undefined =>
  isSuccess || status === 404 ? undefined : `It could not be ${what}: status ${status}.`

/** Registers the template that a call created, if it created one. */
export function registered(it: ProbeContext, response: Observed<Template>): Observed<Template> {
  if (response.isSuccess) it.resources.leaves('template', String(response.data.id))
  return response
}

/** Sends a create call of a template, which the platform may refuse. */
export async function createTemplate(
  it: ProbeContext,
  changes: Readonly<Record<string, unknown>> = {},
  options: CallOptions = {},
): Promise<Observed<Template>> {
  return registered(it, await it.call(templates.create, { ...templateInput(it), ...changes }, options))
}

/** Creates a draft, with the application token unless the options name another. */
async function draft(it: ProbeContext, changes: Partial<TemplateInput> = {}, options: CallOptions = {}) {
  return it.needs(await createTemplate(it, changes, options), 'a template')
}

/** Creates and submits a template, and waits until it is active. Resolves to its id. */
export async function activeTemplate(
  it: ProbeContext,
  changes: Partial<TemplateInput> = {},
  options: CallOptions = {},
): Promise<string> {
  return activate(it, await draft(it, changes, options), options)
}

/** Submits a draft, and waits until it is active. Resolves to its id. */
export async function activate(
  it: ProbeContext,
  { id, externalTemplateId }: Template,
  options: CallOptions = {},
): Promise<string> {
  it.needs(await it.call(templates.submit, { templateId: id }, options), 'a submitted template')
  for (let leftMs = it.resources.offer.maxWaitMs; ; leftMs -= POLL_MS) {
    const query = { external_template_id: externalTemplateId }
    const list = it.needs(await it.call(templates.list, query, options), 'a template')
    if (list.items.some((item) => item.id === id && item.status === 'active')) return id
    if (leftMs <= 0) it.resources.lacking('template')
    await it.resources.pause(Math.min(POLL_MS, leftMs))
  }
}

/** Id of the template to issue from: the user's, or one that the platform approves. */
export async function template(it: ProbeContext): Promise<string> {
  return it.resources.offer.template ?? it.resources.once('template', () => activeTemplate(it))
}

/** Members of a valid issue call, which counts against the quota. */
export async function issueInput(it: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  it.resources.takeQuota()
  const external_issue_id = it.resources.name()
  it.resources.leaves('voucher', external_issue_id)
  const template_id = changes.template_id ?? (await template(it))
  return { template_id, external_issue_id, recipient_user_id: `conform-${it.resources.run}`, ...changes }
}

/**
 * Sends an issue call that the platform may refuse. A voucher that it issues counts against the quota. A member that is
 * undefined is not sent.
 */
export async function tryIssue(
  it: ProbeContext,
  changes: Readonly<Record<string, unknown>>,
  options: CallOptions = {},
) {
  if (it.resources.quotaLeft < 1) it.notApplicable('Needs a greater --quota.')
  const template_id = 'template_id' in changes ? changes.template_id : await template(it)
  const recipient_user_id = `conform-${it.resources.run}`
  const input = { external_issue_id: it.resources.name(), recipient_user_id, ...changes, template_id }
  const response = await it.call(vouchers.issue, input, options)
  if (response.status <= 299) {
    it.resources.takeQuota()
    it.resources.leaves('voucher', String(input.external_issue_id))
  }
  return response
}

/** Issues a voucher to a recipient of this run. */
export async function voucher(
  it: ProbeContext,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<IssuedVoucher> {
  return it.needs(await it.call(vouchers.issue, await issueInput(it, changes)), 'an issued voucher')
}

/** The credential of a type that an issue returned. */
export function credentialOf(
  it: ProbeContext,
  issued: IssuedVoucher,
  type: 'redeem_code' | 'qr_token' = 'redeem_code',
) {
  const { value } = issued.credentials.find((one) => one.type === type) ?? it.notApplicable(`Needs a ${type}.`)
  return { type, value }
}

/** Returns the response to a call that several probes look at. The first of them sends it. */
export async function shared<R>(it: ProbeContext, name: string, call: () => Promise<R>): Promise<R> {
  const { response, request } = await it.resources.once(name, async () => {
    const received = await call()
    return { response: received, request: it.wire.last }
  })
  it.wire.last = request
  return response
}

/** The response to the creation of the application of this run, which is disabled at the end. */
export const createdApplication = (it: ProbeContext): Promise<Observed<Application>> =>
  shared(it, 'application', async () => {
    const created = await it.call(apps.create, { name: `conform-${it.resources.run}` })
    if (!created.isSuccess) return created
    const { id: appId } = created.data
    it.resources.removes('application', appId, async () => {
      const { isSuccess, data } = await it.call(apps.update, { appId, status: 'disabled' })
      const isDisabled = isSuccess && data.status === 'disabled'
      return `The interface has no call that removes it${isDisabled ? '; it is disabled.' : '.'}`
    })
    return created
  })

/** The application that this run creates with the account JWT. */
export const application = async (it: ProbeContext): Promise<Application> =>
  it.needs(await createdApplication(it), 'an application')

/** Sends the create call of a token of an application of the account. The token is revoked at the end. */
export async function createToken(
  it: ProbeContext,
  appId: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<Observed<CreatedToken>> {
  const created = await it.call(tokens.create, {
    appId,
    name: `conform-${it.resources.run}`,
    expires_in_days: 1,
    ...changes,
  })
  if (!created.isSuccess) return created
  const { id: tokenId } = created.data
  it.resources.removes('token', tokenId, async () =>
    leftAfter(await it.call(tokens.revoke, { appId, tokenId }), 'revoked'),
  )
  return created
}

/** Creates a token of an application of the account, which is revoked at the end. */
export async function applicationToken(
  it: ProbeContext,
  appId: string,
  scopes: readonly Scope[],
): Promise<CreatedToken> {
  return it.needs(await createToken(it, appId, { scopes }), 'an application token')
}
