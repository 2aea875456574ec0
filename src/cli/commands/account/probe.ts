import type { CredentialKind } from '../../../contract/endpoint.js'
import type { Context, ContextCallOptions } from '../../command/context.js'
import type { Failure } from '../../failure.js'
import type { Plan, Result } from '../../output/outcome.js'

type Target = NonNullable<ContextCallOptions['target']>
type Answer = Promise<Result<unknown> | Plan | Failure>

/** Refusals that only a known credential gets. */
const known = ['INSUFFICIENT_SCOPE', 'APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'BOT_DISABLED']

/** Asks the server whether it accepts a credential, by reading something that needs one of its kind. */
export async function probe(context: Context, kind: CredentialKind, target: Target): Answer {
  const answer = await read(context, kind, target)
  return !answer.ok && 'code' in answer && known.includes(answer.code) ? { ok: true, data: null } : answer
}

async function read({ call }: Context, kind: CredentialKind, target: Target): Answer {
  switch (kind) {
    case 'jwt':
      return call((await import('../../../contract/apps.js')).list, { limit: 1 }, { target })
    case 'token':
      return call((await import('../../../contract/templates.js')).list, { limit: 1 }, { target })
    case 'bot':
      return call((await import('../../../contract/webhook.js')).info, {}, { target })
    case 'operator':
      return call((await import('../../../contract/platform.js')).reviews, {}, { target })
  }
}
