import type { Failure } from '../failures/failure.js'
import type { Context } from './context.js'

/**
 * Calls whose effect cannot be undone by another call, by endpoint id (RULES.md#confirmations): what a call does, and
 * what is lost.
 */
const irreversible: Readonly<Partial<Record<string, readonly [action: string, loses: string]>>> = {
  'tokens.revoke': ['Revoking', 'Every client that uses this token is refused from then on, permanently.'],
  'bots.regenerateToken': [
    'Replacing the token of',
    'Every client that uses the current token is refused from then on; the new one is shown once.',
  ],
  'webhook.delete': ['Deleting the webhook of', 'Nothing is delivered any more; its URL and its secret are forgotten.'],
  'platform.reset': [
    'Resetting the server at',
    'Everything that it has stored is lost, except its snapshots and the records of its seed.',
  ],
  'platform.restoreSnapshot': [
    'Returning the server to snapshot',
    'Everything that it has stored since is lost, unless another snapshot holds it.',
  ],
  'platform.saveSnapshot': ['Replacing snapshot', 'The state that it holds is lost.'],
  'platform.removeSnapshot': ['Removing snapshot', 'The state that it holds is lost.'],
  'apps.unlinkBot': [
    'Unlinking',
    'The bot can no longer issue vouchers of the application and gets no updates about them.',
  ],
}

/** Asks before an irreversible call. @param id endpoint id @param subject id of the resource that the call affects */
export async function confirmLoss({ confirm }: Context, id: string, subject: string): Promise<Failure | undefined> {
  const [action, loses] = irreversible[id] ?? []
  return loses === undefined ? undefined : confirm({ action: `${action} ${subject}`, loses, word: subject })
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
