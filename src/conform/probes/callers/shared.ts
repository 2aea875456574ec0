import { type Scope, scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import type { CreatedToken } from '../../../contract/tokens.js'
import { activeTemplate, application, applicationToken, createToken, issueInput } from '../../fixtures.js'
import type { Caller, ProbeContext } from '../../probe-context.js'

const { tokens, vouchers } = contract

/** A code without a voucher and ids without an object, so that permitted calls change nothing. */
export const unknownCredential = { type: 'redeem_code', value: '0000-0000-0000-0000' }
export const unknownIssue = {
  template_id: 'tpl_conform',
  external_issue_id: 'conform',
  recipient_user_id: 'conform',
}

/** Token of the run's application with every scope, shared by all probes. */
export function fullToken(run: ProbeContext): Promise<CreatedToken> {
  return run.resources.once('token with every scope', async () =>
    applicationToken(run, (await application(run)).id, scopes),
  )
}

export async function createOwnToken(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  return createToken(run, (await application(run)).id, { scopes: ['vouchers:read'], ...changes })
}

/** Revokes tokens that no other probe uses, because an application has at most 20 active tokens. */
export async function revokeAll(run: ProbeContext, made: readonly CreatedToken[]): Promise<void> {
  const { id: appId } = await application(run)
  for (const { id: tokenId } of made) await run.call(tokens.revoke, { appId, tokenId })
}

/** Runs calls with a token of the run's application that has the given scopes; then revokes the token. */
export async function withToken<T>(
  context: ProbeContext,
  granted: readonly Scope[],
  run: (as: Caller) => Promise<T>,
): Promise<T> {
  const token = context.needs(await createOwnToken(context, { scopes: granted }), 'a token')
  try {
    return await run({ credential: token.token })
  } finally {
    await revokeAll(context, [token])
  }
}

/** Issues a voucher of the run's application, from a template that the platform approves; returns it with the call. */
export function applicationVoucher(run: ProbeContext) {
  return run.resources.once('voucher of the application', async () => {
    const as = { credential: (await fullToken(run)).token }
    const input = await issueInput(run, { template_id: await applicationTemplate(run, as) })
    const key = run.resources.name()
    return {
      as,
      input,
      key,
      issued: run.needs(await run.call(vouchers.issue, input, { as, key }), 'an issued voucher'),
    }
  })
}

function applicationTemplate(run: ProbeContext, as: Caller): Promise<string> {
  return run.resources.once('template of the application', () => activeTemplate(run, {}, { as }))
}
