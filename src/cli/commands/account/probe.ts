import type { CredentialKind } from '../../../contract/endpoint.js'
import type { Context, ContextCallOptions } from '../../command/context.js'
import type { Failure } from '../../failures/failure.js'
import type { Plan, Result } from '../../output/outcome.js'

type ProbeTarget = NonNullable<ContextCallOptions['target']>
type ProbeResult = Promise<Result<unknown> | Plan | Failure>

/** Failure codes that a server sends only if it accepts the credential. */
const known = ['INSUFFICIENT_SCOPE', 'APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'BOT_DISABLED']

/** Tests whether the server accepts a credential, with a read that needs a credential of its kind. */
export async function probe(context: Context, kind: CredentialKind, target: ProbeTarget): ProbeResult {
  const result = await read(context, kind, target)
  return !result.ok && 'code' in result && known.includes(result.code) ? { ok: true, data: null } : result
}

async function read({ call }: Context, kind: CredentialKind, target: ProbeTarget): ProbeResult {
  switch (kind) {
    case 'jwt':
      return call((await import('../../../contract/apps.js')).apps.list, { limit: 1 }, { target })
    case 'token':
      return call((await import('../../../contract/templates.js')).templates.list, { limit: 1 }, { target })
    case 'bot':
      return call((await import('../../../contract/webhook.js')).webhook.info, {}, { target })
    case 'operator':
      return call((await import('../../../contract/platform/platform.js')).platform.reviews, {}, { target })
  }
}
