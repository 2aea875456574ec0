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
/** Milliseconds between two calls whose stored times must differ. */
export const CLOCK_STEP_MS = 20

/** Returns `data` of a success. Ignores its other members: a record of another form must not hide a wrong success. */
export const made = <Data>(run: ProbeContext, response: Observed<Data>, what: string): Data =>
  response.isSuccess ? response.data : run.needs(response, what)

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

/** Why a removed object is still there; undefined if it is gone. */
export const leftAfter = ({ isSuccess, status }: Observed, what: string): string | undefined =>
  isSuccess || status === 404 ? undefined : `It could not be ${what}: status ${status}.`

/** Registers the template that a call created for removal; does nothing after a refusal. */
export function registered(run: ProbeContext, response: Observed<Template>): Observed<Template> {
  if (response.isSuccess) run.resources.leaves('template', String(response.data.id))
  return response
}

/** Sends a create call of a template, which the platform may refuse. */
export async function createTemplate(
  run: ProbeContext,
  changes: Readonly<Record<string, unknown>> = {},
  options: CallOptions = {},
): Promise<Observed<Template>> {
  return registered(run, await run.call(templates.create, { ...templateInput(run), ...changes }, options))
}

/** Creates a template for a call that names it. */
export async function draft(run: ProbeContext, changes: Partial<TemplateInput> = {}, options: CallOptions = {}) {
  const made = run.needs(await createTemplate(run, changes, options), 'a template')
  return typeof made.id === 'string' ? made : run.notApplicable('Needs the id of a new template.')
}

/** Creates and submits a template, and waits until it is active. Resolves to its id. */
export async function activeTemplate(
  run: ProbeContext,
  changes: Partial<TemplateInput> = {},
  options: CallOptions = {},
): Promise<string> {
  return activate(run, await draft(run, changes, options), options)
}

/** Finds a template in the list: without a filter, which the interface does not have, or else with one. */
export async function listed(
  run: ProbeContext,
  { id, externalTemplateId }: Pick<Template, 'id' | 'externalTemplateId'>,
  options: CallOptions = {},
): Promise<Template | undefined> {
  const find = async (query: Readonly<Record<string, unknown>>) =>
    made(run, await run.call(templates.list, query, options), 'a list of templates').items.find((it) => it.id === id)
  return (await find({})) ?? find({ external_template_id: externalTemplateId })
}

/** Submits a draft, and waits until it is active. Resolves to its id. */
export async function activate(
  run: ProbeContext,
  template: Pick<Template, 'id' | 'externalTemplateId'>,
  options: CallOptions = {},
): Promise<string> {
  run.needs(await run.call(templates.submit, { templateId: template.id }, options), 'a submitted template')
  for (let leftMs = run.resources.offer.maxWaitMs; ; leftMs -= POLL_MS) {
    const found = await listed(run, template, options)
    if (found?.status === 'active') return template.id
    if (leftMs <= 0) run.resources.lacking('template')
    await run.resources.pause(Math.min(POLL_MS, leftMs))
  }
}

/** Id of the template to issue from: the user's template, or a new one that the platform approves. */
export async function template(run: ProbeContext): Promise<string> {
  return run.resources.offer.template ?? run.resources.once('template', () => activeTemplate(run))
}

/** Members of a valid issue call. Counts the voucher against the quota. */
export async function issueInput(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  run.resources.takeQuota()
  const external_issue_id = run.resources.name()
  run.resources.leaves('voucher', external_issue_id)
  const template_id = changes.template_id ?? (await template(run))
  return { template_id, external_issue_id, recipient_user_id: `conform-${run.resources.run}`, ...changes }
}

/**
 * Sends an issue call that the platform may refuse. An issued voucher counts against the quota. Omits undefined
 * members.
 */
export async function tryIssue(
  run: ProbeContext,
  changes: Readonly<Record<string, unknown>>,
  options: CallOptions = {},
) {
  if (run.resources.quotaLeft < 1) run.notApplicable('Needs a greater --quota.')
  const template_id = 'template_id' in changes ? changes.template_id : await template(run)
  const recipient_user_id = `conform-${run.resources.run}`
  const input = { external_issue_id: run.resources.name(), recipient_user_id, ...changes, template_id }
  const response = await run.call(vouchers.issue, input, options)
  if (response.status <= 299) {
    run.resources.takeQuota()
    run.resources.leaves('voucher', String(input.external_issue_id))
  }
  return response
}

/** Issues a voucher to a recipient of this run. */
export async function voucher(
  run: ProbeContext,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<IssuedVoucher> {
  return run.needs(await run.call(vouchers.issue, await issueInput(run, changes)), 'an issued voucher')
}

export function credentialOf(
  run: ProbeContext,
  issued: IssuedVoucher,
  type: 'redeem_code' | 'qr_token' = 'redeem_code',
) {
  const { value } = issued.credentials?.find((one) => one.type === type) ?? run.notApplicable(`Needs a ${type}.`)
  return { type, value }
}

/** Returns one response to all probes that examine it; the first probe sends the call. */
export async function shared<R>(run: ProbeContext, name: string, call: () => Promise<R>): Promise<R> {
  const { response, request } = await run.resources.once(name, async () => {
    const received = await call()
    return { response: received, request: run.wire.last }
  })
  run.wire.last = request
  return response
}

/** Creates the application of the run, which is disabled at the end, and returns the response. */
export const createdApplication = (run: ProbeContext): Promise<Observed<Application>> =>
  shared(run, 'application', async () => {
    const created = await run.call(apps.create, { name: `conform-${run.resources.run}` })
    if (!created.isSuccess) return created
    const { id: appId } = created.data
    run.resources.removes('application', appId, async () => {
      const { isSuccess, data } = await run.call(apps.update, { appId, status: 'disabled' })
      const isDisabled = isSuccess && data.status === 'disabled'
      return `The interface has no call that removes it${isDisabled ? '; it is disabled.' : '.'}`
    })
    return created
  })

/** The application of the run, created with the account JWT. */
export const application = async (run: ProbeContext): Promise<Application> =>
  run.needs(await createdApplication(run), 'an application')

/** Sends a call that creates an application token. The token is revoked at the end. */
export async function createToken(
  run: ProbeContext,
  appId: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<Observed<CreatedToken>> {
  const created = await run.call(tokens.create, {
    appId,
    name: `conform-${run.resources.run}`,
    expires_in_days: 1,
    ...changes,
  })
  if (!created.isSuccess) return created
  const { id: tokenId } = created.data
  run.resources.removes('token', tokenId, async () =>
    leftAfter(await run.call(tokens.revoke, { appId, tokenId }), 'revoked'),
  )
  return created
}

/** Creates an application token of the account, which is revoked at the end. */
export async function applicationToken(
  run: ProbeContext,
  appId: string,
  scopes: readonly Scope[],
): Promise<CreatedToken> {
  return run.needs(await createToken(run, appId, { scopes }), 'an application token')
}
