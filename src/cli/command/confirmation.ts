import type { Failure } from '../failures/failure.js'
import type { Context } from './context.js'

interface Loss {
  readonly action: string
  readonly loses: string
}

/** Calls whose effect cannot be undone by another call, by endpoint id (DECISIONS.md#confirmations). */
const irreversible: Readonly<Partial<Record<string, Loss>>> = {
  'tokens.revoke': {
    action: 'Revoking',
    loses: 'Every client that uses this token is refused from then on, permanently.',
  },
  'bots.regenerateToken': {
    action: 'Replacing the token of',
    loses: 'Every client that uses the current token is refused from then on; the new one is shown once.',
  },
  'webhook.delete': {
    action: 'Deleting the webhook of',
    loses: 'Nothing is delivered any more; its URL and its secret are forgotten.',
  },
  'platform.reset': {
    action: 'Resetting the server at',
    loses: 'Everything that it has stored is lost, except its snapshots and the records of its seed.',
  },
  'platform.restoreSnapshot': {
    action: 'Returning the server to snapshot',
    loses: 'Everything that it has stored since is lost, unless another snapshot holds it.',
  },
  'platform.saveSnapshot': { action: 'Replacing snapshot', loses: 'The state that it holds is lost.' },
  'platform.removeSnapshot': { action: 'Removing snapshot', loses: 'The state that it holds is lost.' },
  'apps.unlinkBot': {
    action: 'Unlinking',
    loses: 'The bot can no longer issue vouchers of the application and gets no updates about them.',
  },
}

/** Asks before an irreversible call. @param id endpoint id @param subject id of the affected resource */
export async function confirmLoss({ confirm }: Context, id: string, subject: string): Promise<Failure | undefined> {
  const known = irreversible[id]
  return known && confirm({ action: `${known.action} ${subject}`, loses: known.loses, word: subject })
}

/** Asks for confirmation of a call by `api` or `secure call`, as the dedicated command of that call does. */
export async function confirmCall(
  context: Context,
  route: { readonly id: string; readonly path: string } | undefined,
  path: string,
): Promise<Failure | undefined> {
  if (route === undefined) return undefined
  const last = route.path.split('/').findLastIndex((it) => it.startsWith(':'))
  const server = context.baseUrl()
  return confirmLoss(context, route.id, path.split(/[/?]/)[last] ?? (server.ok ? server.value : path))
}
